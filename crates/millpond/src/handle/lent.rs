//! A handle's value by shared reference, while no scope uses the handle.

use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::ptr::NonNull;

use super::{Datum, Handle};
use crate::error::{Error, Kind, Label};
use crate::handle::version::State;

/// A value lent by [`Handle::get`]. While it exists, no scope can use the handle.
///
/// Forgetting it ([`std::mem::forget`]) is safe, and leaves the handle lent: each task on the
/// handle fails as [`Kind::Lent`] until a call of [`Handle::get_mut`] or the end of the handle.
#[must_use = "the handle is lent only as long as this lives"]
pub struct Lent<'h, T> {
    /// Not a reference: a scope may change the value as soon as the drop has ended the loan.
    value: NonNull<T>,
    datum: &'h Datum,
}

// SAFETY: a `Lent` is a `&T`, which may move to another thread if `T` is `Sync`. Its drop changes
// only an atomic of the datum.
unsafe impl<T: Sync> Send for Lent<'_, T> {}
// SAFETY: as above. A shared `Lent` gives only `&T`.
unsafe impl<T: Sync> Sync for Lent<'_, T> {}

impl<T> Handle<T> {
    /// Borrows the value through a shared handle, while no scope uses the handle. For a handle that
    /// is not shared, there is [`get_mut`](Handle::get_mut).
    ///
    /// ```
    /// use millpond::{Handle, Kind, Runtime, Spawn};
    ///
    /// let (rt, list) = (Runtime::new()?, Handle::new(vec![1]));
    /// rt.scope(|s| {
    ///     s.spawn(list.inout(), |list| list.push(2));
    /// })?;
    /// let value = list.get()?;
    /// assert_eq!(*value, [1, 2]);
    /// // While the value is lent, no task can use the handle.
    /// let refused = rt.scope(|s| {
    ///     s.spawn(list.inout(), |list| list.clear());
    /// });
    /// assert_eq!(refused.unwrap_err().kind(), &Kind::Lent { arg: 0 });
    /// assert_eq!(*value, [1, 2]);
    /// drop(value);
    /// rt.scope(|s| {
    ///     s.spawn(list.inout(), |list| list.clear());
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # When it succeeds
    ///
    /// - If no scope has used the handle, or the last scope that did has ended.
    /// - If the value is already lent, on any thread.
    /// - In the closure of an open scope that has used the handle, if none of the accesses is
    ///   outstanding. The same rules say when the scope would give the handle to another one: see
    ///   [`Kind::Busy`]. An open session keeps each handle that it has used.
    ///
    /// # While the value is lent
    ///
    /// - Any thread can borrow it once more. The loan ends when the last [`Lent`] is dropped.
    /// - A task that declares any access to the handle, in any scope, fails as [`Kind::Lent`]. It
    ///   does not wait, because the spawning thread may be the one that must drop the value.
    ///   [`set`](crate::Spawn::set) and [`wait_on`](crate::Spawn::wait_on) fail, too. The value
    ///   stays unchanged. Other data to be written by the task are poisoned.
    ///
    /// Takes constant time, apart from the first loan after a scope. This loan takes a lock of the
    /// process, and time proportional to the number of open root scopes. In the closure of a scope
    /// on a dataflow stack, it also checks the tasks in that stack. Tasks pay nothing.
    ///
    /// # Errors
    ///
    /// - [`Kind::Busy`] if accesses are outstanding, or the handle belongs to another scope. The
    ///   call never blocks.
    /// - [`Kind::NeverWritten`] if there is no value.
    /// - [`Kind::Poisoned`] if the task that should have produced the value failed.
    #[track_caller]
    pub fn get(&self) -> Result<Lent<'_, T>, Error>
    where
        T: Sync,
    {
        let label = Label::place(Location::caller());
        let datum = self.datum();
        if !datum.lend() {
            return Err(Error::new(label, Kind::Busy { arg: 0 }));
        }
        let version = datum.version();
        // If there is no value, the drop ends the loan.
        let lent = Lent { value: version.value().cast(), datum };
        match version.state() {
            State::Produced => Ok(lent),
            State::Unset => Err(Error::new(label, Kind::NeverWritten { arg: 0 })),
            State::Failed(cause) => Err(Error::poisoned(label, &cause)),
        }
    }
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `get` found a value. While the datum is lent, no scope issues on it, and no
        // access to it is outstanding. The handle is borrowed, so no caller has it alone.
        unsafe { self.value.as_ref() }
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        self.datum.end_lend();
    }
}

impl<T: fmt::Debug> fmt::Debug for Lent<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
