//! Names of task types with the runtime's required lifetime, `'static`.

use super::machine::Task;
use super::program::{Program, Type};
use millpond::Spawn;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A `'static` name. Each name is stored once, even if several grammars have it.
pub fn name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}

/// A task builder with its type's name and its arguments. The label has up to four arguments,
/// unless one is negative or needs more than 32 bits.
pub fn labelled<'a, 's, S: Spawn<'s>>(s: &'a S, program: &Program, task: &Task) -> millpond::Task<'a, S> {
    let kind = &program.types[task.kind];
    let named = s.task(kind.name);
    match indices(kind, task).as_deref() {
        Some(&[i]) => named.index([i]),
        Some(&[i, j]) => named.index([i, j]),
        Some(&[i, j, k]) => named.index([i, j, k]),
        Some(&[i, j, k, l]) => named.index([i, j, k, l]),
        _ => named,
    }
}

/// A task's arguments as indices.
fn indices(kind: &Type, task: &Task) -> Option<Vec<usize>> {
    let index = |argument: &i64| u32::try_from(*argument).ok().map(|index| index as usize);
    (kind.arity <= 4).then(|| task.arguments[..kind.arity].iter().map(index).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_name_is_kept_once() {
        // At another address.
        let again = String::from("visit");
        let (one, same, other) = (name("visit"), name(&again), name("noise"));
        assert_eq!((one, one.as_ptr(), other), ("visit", same.as_ptr(), "noise"));
    }
}
