//! A join leaves the thread of its scope.

use millpond::{Runtime, Spawn};

// Not std's, whose lines the compiler shows where its source is installed.
fn on_another_thread(body: impl FnOnce() + Send) {
    body();
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        let join = s.spawn((), |()| 1);
        on_another_thread(move || drop(join));
    })?;
    Ok(())
}
