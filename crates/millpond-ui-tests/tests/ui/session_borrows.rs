//! A session's task borrows what may be gone before the session.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let local = 1;
    let a = Handle::new(0);
    let session = rt.session();
    session.spawn(a.inout(), |a| *a += local);
    session.close().wait()?;
    Ok(())
}
