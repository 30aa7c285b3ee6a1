//! A task must declare that it accumulates. It cannot capture its parent's accumulator.
use millpond::{Handle, Runtime, Spawn, Sum};

fn main() {
    let rt = Runtime::new().unwrap();
    let total = Handle::new(0);
    rt.scope(|s| {
        s.nest(total.accumulate(Sum), |s, total| {
            s.spawn((), move |()| total.add(1));
        });
    })
    .unwrap();
}
