//! A value is used after its handle is gone.

use millpond::Handle;

fn main() -> Result<(), millpond::Error> {
    let a = Handle::new(1);
    let value = a.get()?;
    drop(a);
    println!("{}", *value);
    Ok(())
}
