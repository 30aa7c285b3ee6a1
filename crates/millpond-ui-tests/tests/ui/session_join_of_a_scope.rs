//! A scope's join is awaited in a future that may move to another thread.

use millpond::{Runtime, Spawn};

fn must_be_send(_future: impl Future + Send) {}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        let join = s.spawn((), |()| 1);
        must_be_send(async move { join.await });
    })?;
    Ok(())
}
