//! A program that registers two tasks under one name gets an error before anything runs.
//!
//! A separate binary: the linker collects the names of a whole binary, so these two would fail the
//! tests of `it`.

#[path = "../../millpond/src/limit.rs"]
mod limit;

use limit::limit;
use millpond::Out;
use millpond_dist::{Portable, W, portable};
use serde::{Deserialize, Serialize};

mod one {
    use super::*;

    #[derive(Serialize, Deserialize)]
    pub struct Set;
    impl Portable for Set {
        type Access = W<u64>;
        fn run(self, out: Out<'_, u64>) {
            out.set(1);
        }
    }
    pub const LINE: u32 = line!() + 1;
    portable!(Set, "set");
}

mod other {
    use super::*;

    #[derive(Serialize, Deserialize)]
    pub struct Set(u64);
    impl Portable for Set {
        type Access = W<u64>;
        fn run(self, out: Out<'_, u64>) {
            out.set(self.0);
        }
    }
    pub const LINE: u32 = line!() + 1;
    portable!(Set, "set");
}

#[test]
fn both_places_are_told() {
    limit(60, "both places", || {
        let error = portable::check().unwrap_err();
        let (one, other, file) = (one::LINE, other::LINE, file!());
        assert_eq!(
            error.to_string(),
            format!(
                "portable task `set` is registered 2 times, at {file}:{one} and {file}:{other}: register each under a \
                 name of its own"
            )
        );
        assert!(matches!(portable::registry(), Err(again) if again == error), "and so is the caller of a task");
        assert!(matches!(error, portable::Error::Twice { name: "set", .. }));
    });
}
