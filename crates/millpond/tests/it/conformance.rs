//! What every exchangeable part must do, apart from the order of tasks. It holds very many tasks.
//! All workers find the tasks that one release makes ready. Its handles work on other runtimes. It
//! supports every feature of the runtime.

mod behaviour;
mod each_once;
mod latch;
mod many;
mod meeting;
mod moving;

use millpond::catalogue::{Names, SCHEMES};

use crate::common::limit;

/// Runs a test with each member of each family, within the time limit. A failure or a hang names
/// the member.
pub fn with_every_row(seconds: u64, test: &str, run: impl Fn(Names<'static>)) {
    for names in Names::star() {
        // The harness shows this text for a test that fails.
        eprintln!("{test}, {names}");
        limit(seconds, format!("{test}, {names}"), || run(names));
    }
}

/// Evaluates an expression with each member of each family, on a runtime from a builder.
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

/// Otherwise a build with another default scheme (CONTRIBUTING.md) would test the usual default
/// again.
#[test]
fn the_default_scheme_is_the_one_that_the_build_names() {
    let flags = option_env!("RUSTFLAGS").unwrap_or_default();
    let named = flags.split_once("millpond_scheme=\"").and_then(|(_, rest)| rest.split('"').next());
    assert_eq!(Names::default().scheme, named.unwrap_or(SCHEMES[0].name));
}
