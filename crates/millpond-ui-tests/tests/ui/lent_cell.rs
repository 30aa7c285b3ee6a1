//! Two threads may borrow a value from one shared handle.

use millpond::Handle;
use std::cell::Cell;

fn main() -> Result<(), millpond::Error> {
    let a = Handle::new(Cell::new(1));
    a.get()?.set(2);
    Ok(())
}
