//! What every exchangeable part must do beyond the right order. It holds very many tasks. It hands all tasks that a release
//! makes ready to all workers. It leaves handles so that other runtimes can use them. It takes part in everything that the
//! runtime offers.

mod behaviour;
mod each_once;
mod gate;
mod many;
mod meeting;
mod moving;

use millpond::catalogue::{Names, SCHEMES};

use crate::common::limit;

/// Runs a test with each member of each family, each within the limit; one that fails or hangs says which it was.
pub fn with_every_row(seconds: u64, test: &str, run: impl Fn(Names<'static>)) {
    for names in Names::star() {
        // What the harness shows of a test that fails.
        eprintln!("{test}, {names}");
        limit(seconds, format!("{test}, {names}"), || run(names));
    }
}

/// Runs an expression with each member of each family, on a runtime that a builder makes.
macro_rules! on_every_row {
    ($seconds:expr, $test:expr, $builder:expr, $rt:ident => $body:expr) => {
        $crate::conformance::on_every_row!($seconds, $test, $builder, $rt, _names => $body)
    };
    ($seconds:expr, $test:expr, $builder:expr, $rt:ident, $names:ident => $body:expr) => {
        $crate::conformance::with_every_row($seconds, $test, |names| {
            let $names = names;
            let any = millpond::catalogue::AnyRuntime::build($builder, names).expect("the choices are in range");
            millpond::on_runtime!(&any, $rt => $body)
        })
    };
}
pub(crate) use on_every_row;

/// Else a build that tests another scheme as the default one (CONTRIBUTING.md) would test the usual one again.
#[test]
fn the_default_scheme_is_the_one_that_the_build_names() {
    let flags = option_env!("RUSTFLAGS").unwrap_or_default();
    let named = flags.split_once("millpond_scheme=\"").and_then(|(_, rest)| rest.split('"').next());
    assert_eq!(Names::default().scheme, named.unwrap_or(SCHEMES[0].name));
}
