//! Scopes whose closure may fail.

use super::Runtime;
use super::scope::Scope;
use crate::error::Error;
use crate::handle::access::Root;
use crate::runtime::engine::Engine;

/// Runs a scope. The closure's own error ranks after the failures of its tasks, and before their
/// consequences.
#[track_caller]
pub(super) fn run<'env, E: Engine, F, R, X>(runtime: &Runtime<E>, f: F) -> Result<R, X>
where
    F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, E>) -> Result<R, X>,
    X: From<Error>,
{
    let mut own = None;
    let ended = runtime.scope(|s| f(s).map_err(|error| own = Some(error)));
    match (ended, own) {
        (Err(error), Some(own)) if error.is_consequence() => Err(own),
        (Err(error), _) => Err(error.into()),
        (Ok(Ok(value)), _) => Ok(value),
        (Ok(Err(())), own) => Err(own.expect("set by the closure")),
    }
}
