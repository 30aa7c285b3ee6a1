//! A parent that accumulates cannot see the total.
use millpond::{Handle, Runtime, Spawn, Sum};

fn main() {
    let rt = Runtime::new().unwrap();
    let total = Handle::new(0);
    rt.scope(|s| {
        s.nest(total.accumulate(Sum), |s, total| {
            s.spawn(total.read(), |total| assert_eq!(*total, 0));
        });
    })
    .unwrap();
}
