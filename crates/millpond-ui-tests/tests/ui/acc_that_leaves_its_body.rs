//! What a leaf adds to cannot leave its body.
use millpond::{Acc, Handle, Runtime, Spawn, Sum};

fn main() {
    let rt = Runtime::new().unwrap();
    let total = Handle::new(0);
    rt.scope(|s| {
        let join = s.spawn(total.accumulate(Sum), |total: Acc<'_, i32, Sum>| total);
        s.wait(join).unwrap().add(1);
    })
    .unwrap();
}
