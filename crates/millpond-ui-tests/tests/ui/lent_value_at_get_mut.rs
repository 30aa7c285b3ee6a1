//! A value is changed in place while it is lent.

use millpond::Handle;

fn main() -> Result<(), millpond::Error> {
    let mut a = Handle::new(1);
    let value = a.get()?;
    *a.get_mut()? += 1;
    println!("{}", *value);
    Ok(())
}
