//! An accumulator serves only the body that got it, and the tasks of its scope.
use millpond::{Handle, Runtime, Spawn, Sum};

fn main() {
    let rt = Runtime::new().unwrap();
    let total = Handle::new(0);
    let mut kept = None;
    rt.scope(|s| {
        s.nest(total.accumulate(Sum), |_, total| kept = Some(total));
    })
    .unwrap();
    drop(kept);
}
