//! Names of tasks: constants, or built at run time.
//!
//! A label has its name as `&'static str`. So labels are small and copied freely: into errors,
//! recordings and dumps, which may outlive the runtime. A name built at run time is stored in a
//! table of the process, each text once, and stays there. If the bounded table is full, a new name
//! is not kept, and its task is identified by the place of its spawn.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashSet;

use crate::sync::global::Mutex;

/// How many different names the table holds.
const MAX_NAMES: usize = 1 << 16;

/// How many bytes of names the table holds.
const MAX_BYTES: usize = 4 << 20;

static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// Takes the lock for a fork.
pub(crate) fn take_lock() -> Box<dyn Any> {
    Box::new(NAMES.lock())
}

#[derive(Default)]
struct Names {
    known: HashSet<&'static str>,
    bytes: usize,
}

impl Names {
    /// The kept text that equals this one; kept now if there is room.
    fn keep(&mut self, name: String) -> Option<&'static str> {
        if let Some(known) = self.known.get(name.as_str()) {
            return Some(known);
        }
        if self.known.len() >= MAX_NAMES || name.len() > MAX_BYTES - self.bytes {
            return None;
        }
        self.bytes += name.len();
        let kept: &'static str = Box::leak(name.into_boxed_str());
        self.known.insert(kept);
        Some(kept)
    }
}

/// A name for tasks: a `&'static str`, or a `String` built at run time.
///
/// A `&'static str` costs nothing. Each use of a `String` costs its construction, its hash, and a
/// lock of the process. A task without a name pays nothing. If only numbers differ,
/// [`Task::index`](crate::Task::index) is better: `s.task("gemm").index([i, j])` costs a few
/// stores, and profiles add up the tasks of one name.
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// let (rt, tile) = (Runtime::new()?, Handle::<f64>::unset());
/// let error = rt.scope(|s| {
///     for file in ["mill.png", "pond.png"] {
///         s.task(format!("load {file}")).spawn(tile.read(), |_| ());
///     }
/// });
/// assert_eq!(error.unwrap_err().task().name(), Some("load mill.png"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Memory
///
/// The process keeps each `String` once, until it ends: at most 65,536 texts and 4 MiB. If a new
/// text does not fit, its task is identified by the place of its spawn, like a task without a name.
/// Kept texts still work.
#[diagnostic::on_unimplemented(
    message = "a task cannot have `{Self}` as its name",
    label = "no `&'static str` and no `String`",
    note = "build a name by `format!(…)`, or pass on a `String` by `.clone()` or `.to_owned()`"
)]
pub trait TaskName: sealed::Sealed {
    /// The text, for as long as the process runs. `None` if there is no room for it.
    #[doc(hidden)]
    fn keep(self) -> Option<&'static str>;
}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for &'static str {}
impl TaskName for &'static str {
    #[inline(always)]
    fn keep(self) -> Option<&'static str> {
        Some(self)
    }
}

impl sealed::Sealed for String {}
impl TaskName for String {
    fn keep(self) -> Option<&'static str> {
        NAMES.lock().get_or_insert_default().keep(self)
    }
}

impl sealed::Sealed for Cow<'static, str> {}
impl TaskName for Cow<'static, str> {
    fn keep(self) -> Option<&'static str> {
        match self {
            Cow::Borrowed(name) => Some(name),
            Cow::Owned(name) => name.keep(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, MAX_NAMES, Names};
    use crate::sync::global::Mutex;

    /// Tables of tests. Their texts are never freed, and leak checkers see them here.
    static KEPT: Mutex<Vec<Names>> = Mutex::new(Vec::new());

    #[test]
    fn a_text_is_kept_once() {
        let mut names = Names::default();
        let mut keep = |text: &str| names.keep(text.to_owned()).expect("there is room");
        let (one, same, other) = (keep("visit"), keep("visit"), keep("noise"));
        assert_eq!((one, one.as_ptr(), other), ("visit", same.as_ptr(), "noise"));
        assert_eq!(names.bytes, 10);
        KEPT.lock().push(names);
    }

    #[test]
    fn the_number_of_names_is_bounded() {
        let mut names = Names::default();
        for n in 0..MAX_NAMES {
            assert!(names.keep(format!("{n:x}")).is_some());
        }
        assert_eq!(names.keep("one more".to_owned()), None);
        assert_eq!(names.keep("ff".to_owned()), Some("ff"), "it is known");
        KEPT.lock().push(names);
    }

    #[test]
    fn the_bytes_of_names_are_bounded() {
        let mut names = Names::default();
        let long = |byte: &str| byte.repeat(MAX_BYTES / 2);
        assert!(names.keep(long("a")).is_some() && names.keep(long("b")).is_some());
        assert_eq!((names.bytes, names.keep("c".to_owned())), (MAX_BYTES, None));
        assert!(names.keep(long("a")).is_some() && names.keep(String::new()).is_some());
        KEPT.lock().push(names);
    }
}
