//! A session is closed that others may still use.

use std::sync::Arc;

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let session = Arc::new(rt.session());
    let theirs = session.clone();
    std::thread::spawn(move || drop(theirs.spawn((), |()| ())));
    session.close().wait()?;
    Ok(())
}
