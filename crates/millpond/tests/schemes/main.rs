//! What every dependence scheme must do beyond the right order: hold very many tasks, hand all that a release makes ready
//! to all workers, leave handles as others can use them, and take part in all that the runtime offers.

#[path = "../common/mod.rs"]
mod common;

mod behaviour;
mod gate;
mod many;
mod meeting;
mod moving;

use millpond::DefaultScheme;
use millpond::catalogue::SCHEMES;
use millpond::depend::Scheme;

use common::limit;

/// Runs a test under every scheme, each within the limit; one that fails or hangs says which it was.
fn under_every_scheme(seconds: u64, test: &str, run: impl Fn(&'static str)) {
    for row in SCHEMES {
        // What the harness shows of a test that fails.
        eprintln!("{test} under {}", row.name);
        let name = format!("{test} under {}", row.name);
        limit(seconds, name, || run(row.name));
    }
}

/// Runs an expression under every scheme, on a runtime that a builder makes.
macro_rules! on_every_scheme {
    ($seconds:expr, $test:expr, $builder:expr, $rt:ident => $body:expr) => {
        $crate::under_every_scheme($seconds, $test, |scheme| {
            let any = millpond::catalogue::AnyRuntime::build($builder, scheme).expect("the choices are in range");
            millpond::on_runtime!(&any, $rt => $body)
        })
    };
}
use on_every_scheme;

/// Else a build that tests another scheme as the default one (CONTRIBUTING.md) would test the usual one again.
#[test]
fn the_default_scheme_is_the_one_that_the_build_names() {
    let flags = option_env!("RUSTFLAGS").unwrap_or_default();
    let named = flags.split_once("millpond_scheme=\"").and_then(|(_, rest)| rest.split('"').next());
    assert_eq!(DefaultScheme::NAME, named.unwrap_or(SCHEMES[0].name));
}
