//! Portable tasks give what closures give.

use millpond::{Handle, Out, Runtime};
use millpond_dist::portable;
use millpond_dist::{Handles, ParentScope, Portable, PortableParent, R, SpawnPortable, W};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Sum {
    scale: u64,
}
impl Portable for Sum {
    type Access = (R<u64>, R<u64>, W<u64>);
    fn run(self, (a, b, r): (&u64, &u64, Out<u64>)) {
        r.set((a + b) * self.scale);
    }
}
portable!(Sum, "fib.sum");

#[derive(Serialize, Deserialize)]
struct Fib {
    n: u64,
}
impl PortableParent for Fib {
    type Access = W<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, r: Handles<'t, Self>) {
        if self.n < 2 {
            return s.set(&r, self.n);
        }
        let (a, b) = (s.unset(), s.unset());
        s.nest_portable(a.write(), Fib { n: self.n - 1 });
        s.nest_portable(b.write(), Fib { n: self.n - 2 });
        s.spawn_portable((a.read(), b.read(), r.write()), Sum { scale: 1 });
    }
}
portable!(Fib, "fib");

#[test]
fn fib() {
    let rt = Runtime::new().unwrap();
    let (a, b, r) = (Handle::new(1), Handle::new(2), Handle::unset());
    rt.scope(|s| {
        s.nest_portable(a.write(), Fib { n: 10 });
        s.spawn_portable((a.read(), b.read(), r.write()), Sum { scale: 2 });
    })
    .unwrap();
    assert_eq!(r.into_inner().unwrap(), 114);
}
