//! Loops whose body may fail.

use std::panic::Location;

use super::Each;
use super::body::{Body, no_local};
use super::items::{Items, Source};
use crate::sync::Spinning;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::Relaxed;

/// Calls a function for each item, until one fails.
struct Trying<F, E> {
    body: F,
    /// The least number of a failed item; `usize::MAX` if none has failed.
    first_failed: AtomicUsize,
    /// That number, and the error.
    error: Spinning<Option<(usize, E)>>,
}

impl<F, E> Trying<F, E> {
    /// Whether an item before this number has failed.
    fn is_past_failure(&self, item: usize) -> bool {
        self.first_failed.load(Relaxed) < item
    }

    #[cold]
    fn fail(&self, item: usize, error: E) {
        self.first_failed.fetch_min(item, Relaxed);
        let unused = self.error.with(|first| match first {
            Some((before, _)) if *before < item => Some((item, error)),
            _ => first.replace((item, error)),
        });
        // Outside the lock: it is user code.
        drop(unused);
    }
}

impl<S: Source, E: Send, F: Fn(S::Item) -> Result<(), E> + Sync> Body<S> for Trying<F, E> {
    no_local!();

    #[inline(always)]
    fn run(&self, items: S::Iter, from: usize, (): ()) {
        if self.is_past_failure(from) {
            return;
        }
        for (index, item) in items.enumerate() {
            if let Err(error) = (self.body)(item) {
                return self.fail(from + index, error);
            }
        }
    }

    fn is_done(&self, from: impl FnOnce() -> usize) -> bool {
        self.is_past_failure(from())
    }
}

/// Runs `body` for each item until one fails, in parallel if that is worth it, like
/// [`for_each`](crate::for_each). Returns the error of the serial loop: the one of the first item
/// that fails, in the order of the items.
///
/// All items before that one have run. Most later items that had not begun do not run.
///
/// ```
/// use millpond::{Runtime, try_for_each};
///
/// let (rt, lines) = (Runtime::builder().workers(2).build()?, ["1", "2", "x", "4", "y"]);
/// let mut numbers = [0; 5];
/// let result = rt.scope(|_| {
///     try_for_each(millpond::each::zip(&mut numbers, &lines), |(number, line)| {
///         *number = line.parse::<u32>().map_err(|_| format!("no number: {line}"))?;
///         Ok(())
///     })
/// })?;
/// assert_eq!(result, Err("no number: x".to_owned()));
/// assert_eq!(numbers[..2], [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The loop looks for errors before each batch of items. A batch takes about 10 µs or less, and has
/// at least one item. To fail a task, return the result from the body of a
/// [`try_spawn`](crate::Spawn::try_spawn).
///
/// # Errors
///
/// That of the first item that fails.
///
/// # Panics
///
/// If `body` panics, whether or not another item has failed. It is passed on as by
/// [`for_each`](crate::for_each).
#[track_caller]
pub fn try_for_each<I, F, E>(items: I, body: F) -> Result<(), E>
where
    I: Items,
    F: Fn(I::Item) -> Result<(), E> + Sync,
    E: Send,
{
    let trying = Trying { body, first_failed: AtomicUsize::new(usize::MAX), error: Spinning::default() };
    let each = Each::new(items.into_source(), trying, Location::caller());
    each.run_all(());
    each.body.error.with(Option::take).map_or(Ok(()), |(_, error)| Err(error))
}
