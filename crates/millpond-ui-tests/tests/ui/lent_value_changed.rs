//! A value that is lent through a shared handle is changed.

use millpond::Handle;

fn main() -> Result<(), millpond::Error> {
    let a = Handle::new(1);
    let mut value = a.get()?;
    *value += 1;
    Ok(())
}
