//! A helper for root scopes only is called in a body.

use millpond::{Handle, Runtime, Scope, Spawn};

fn helper(s: &Scope<'_, '_>, a: &Handle<u32>) {
    s.spawn(a.inout(), |a| *a += 1);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, a) = (Runtime::new()?, Handle::new(1));
    rt.scope(|s| {
        s.nest(a.inout(), |s, a| helper(s, &a));
    })?;
    Ok(())
}
