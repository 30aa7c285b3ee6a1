//! Like `captured_handle_in_nest`, with another handle that was declared.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, b) = (Handle::new(1), Handle::new(2));
    rt.scope(|s| {
        s.nest(a.inout(), |s, a| {
            s.spawn((b.read(), a.inout()), |(b, a)| *a += *b);
        });
    })?;
    Ok(())
}
