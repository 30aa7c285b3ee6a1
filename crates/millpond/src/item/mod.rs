//! Items: values that are put once and waited for (the *full-empty* words of [FP](crate#sources)
//! §V).
//!
//! An [`Item`] keeps its value after the put. A [`CountedItem`] is put with its number of uses, and
//! the last use drops or takes the value. A pending task ([`Precondition`]) and a future
//! ([`Waker`]) may wait for either, before or after the put, from any thread.
//!
//! ```
//! use millpond::{Runtime, Spawn, item::Item};
//!
//! let (rt, answer) = (Runtime::new()?, Item::new());
//! rt.scope(|s| {
//!     let pending = s.external().pending(|| assert_eq!(answer.get(), Some(&42)));
//!     answer.wait(pending.hold());
//!     drop(pending);
//!     s.spawn((), |()| answer.put(6 * 7).expect("nobody else puts it"));
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::task::Waker;

use crate::Precondition;
use crate::panics::catch;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicU32, Ordering};
use slot::{Slot, Waits};

#[cfg(all(test, loom))]
mod loom_tests;
mod slot;

/// A waiter for an item.
enum Who {
    Task(Precondition),
    Future(Waker),
}

impl Waits for Who {
    fn go(self) {
        match self {
            Who::Task(precondition) => precondition.satisfy(),
            // If a waker panics, its executor must handle that.
            Who::Future(waker) => drop(catch(|| waker.wake())),
        }
    }
}

/// A value that is put once. Dropping an item drops the preconditions waiting for it.
pub struct Item<T>(Slot<T, Who>);

impl<T> Item<T> {
    /// An item without a value.
    pub fn new() -> Self {
        Item(Slot::new())
    }

    /// The value, if it was put. Costs one load.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// Puts the value, and wakes all waiters. Costs two atomic operations, plus one per waiter.
    ///
    /// # Errors
    ///
    /// The value, if it was put before.
    pub fn put(&self, value: T) -> Result<(), T> {
        self.0.put(value)
    }

    /// Lets a pending task wait for the item. The precondition is satisfied when the item is put,
    /// or now if it was put before.
    pub fn wait(&self, precondition: Precondition) {
        self.0.wait(Who::Task(precondition)).into_iter().for_each(Waits::go);
    }

    /// Lets a future wait for the item. Returns false if the item was put before.
    pub fn wake(&self, waker: &Waker) -> bool {
        !self.0.is_full() && self.0.wait(Who::Future(waker.clone())).is_none()
    }

    /// Wakes all waiters, although the item was not put.
    pub fn release(&self) {
        self.0.release();
    }

    /// The value, if it was put.
    pub fn into_inner(mut self) -> Option<T> {
        self.0.end()
    }
}

impl<T> Default for Item<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Item").field(&self.get()).finish()
    }
}

/// A value that is put once, with the number of its uses. After the last use, it is dropped.
///
/// ```
/// use millpond::item::{CountedItem, Got};
///
/// let tile = CountedItem::new();
/// tile.put(vec![1, 2], 2).unwrap();
/// let Got::Use(first) = tile.get() else { panic!() };
/// assert_eq!(*first, [1, 2]);
/// drop(first);
/// let Got::Use(last) = tile.get() else { panic!() };
/// let mut own = last.take().expect("nobody else uses it");
/// own.push(3);
/// assert!(matches!(tile.get(), Got::UsedUp));
/// ```
pub struct CountedItem<T>(Slot<Counted<T>, Who>);

/// What [`CountedItem::get`] finds.
#[derive(Debug)]
pub enum Got<'i, T> {
    /// The item was not put.
    Missing,
    /// One use of the value.
    Use(Use<'i, T>),
    /// The item was put, but all its uses have been taken.
    UsedUp,
}

/// One use of an item's value. It ends when this is dropped.
pub struct Use<'i, T>(&'i Counted<T>);

/// A value and its uses. The value exists as long as one use has not ended.
struct Counted<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    /// How many uses may still begin.
    left: AtomicU32,
    /// How many uses have not ended, including those that have not begun.
    open: AtomicU32,
}

// SAFETY: it is shared until its last use. From then on, only the thread of that use has it.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

impl<T> CountedItem<T> {
    /// An item without a value.
    pub fn new() -> Self {
        CountedItem(Slot::new())
    }

    /// Begins a use of the value, if there is one left.
    pub fn get(&self) -> Got<'_, T> {
        match self.0.get() {
            None => Got::Missing,
            Some(counted) if counted.begin() => Got::Use(Use(counted)),
            Some(_) => Got::UsedUp,
        }
    }

    /// Whether the item was put. Its value may be used up.
    pub fn is_put(&self) -> bool {
        self.0.is_full()
    }

    /// Whether the value exists: it was put, and not all uses have ended.
    pub fn is_there(&self) -> bool {
        self.0.get().is_some_and(|counted| counted.open.load(Ordering::Relaxed) != 0)
    }

    /// Puts the value for `uses` uses, and wakes all waiters. If `uses` is 0, the value is dropped.
    ///
    /// # Errors
    ///
    /// The value, if it was put before.
    pub fn put(&self, value: T, uses: u32) -> Result<(), T> {
        self.0.put(Counted::new(value, uses)).map_err(Counted::into_inner)?;
        if uses == 0 {
            let counted = self.0.get().expect("just put");
            // SAFETY: there are no uses, so no other thread ever gets the value.
            unsafe { counted.drop_value() };
        }
        Ok(())
    }

    /// As [`Item::wait`].
    pub fn wait(&self, precondition: Precondition) {
        self.0.wait(Who::Task(precondition)).into_iter().for_each(Waits::go);
    }

    /// As [`Item::wake`].
    pub fn wake(&self, waker: &Waker) -> bool {
        !self.0.is_full() && self.0.wait(Who::Future(waker.clone())).is_none()
    }

    /// As [`Item::release`].
    pub fn release(&self) {
        self.0.release();
    }
}

impl<T> Default for CountedItem<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> std::fmt::Debug for CountedItem<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CountedItem").field("put", &self.is_put()).finish_non_exhaustive()
    }
}

impl<T> Counted<T> {
    fn new(value: T, uses: u32) -> Self {
        let value = UnsafeCell::new(MaybeUninit::new(value));
        Counted { value, left: AtomicU32::new(uses), open: AtomicU32::new(uses) }
    }

    /// The value, if no use of it has begun.
    fn into_inner(self) -> T {
        // SAFETY: it is forgotten below, and nothing has taken the value.
        let value = self.value.with_mut(|value| unsafe { value.cast::<T>().read() });
        std::mem::forget(self);
        value
    }

    /// Begins a use. Returns false if there is none left.
    fn begin(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        // Acquire: if a thread has given this use back, its reads of the value happen before.
        self.left.fetch_update(Ordering::Acquire, Ordering::Relaxed, less).is_ok()
    }

    /// Drops the value.
    ///
    /// # Safety
    ///
    /// All uses have ended, and the caller has seen that. It is called once.
    unsafe fn drop_value(&self) {
        // SAFETY: as the caller promises.
        self.value.with_mut(|value| unsafe { value.cast::<T>().drop_in_place() });
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        if self.open.load(Ordering::Acquire) != 0 {
            // SAFETY: nothing else has it, and the value was not dropped.
            unsafe { self.drop_value() };
        }
    }
}

impl<'i, T> Use<'i, T> {
    /// The value itself, if this is the last use.
    ///
    /// # Errors
    ///
    /// This use, if another one has not ended, or not begun.
    pub fn take(self) -> Result<T, Self> {
        if self.0.open.load(Ordering::Acquire) != 1 {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: the load has seen that the other uses have ended, and no more can begin.
        let value = this.0.value.with_mut(|value| unsafe { value.cast::<T>().read() });
        this.0.open.store(0, Ordering::Release);
        Ok(value)
    }
}

impl<T> Use<'_, T> {
    /// Gives the use back, as if it had not begun: the value may be got once more.
    pub fn give_back(self) {
        // Release: this thread's reads of the value happen before the next use, which may take or
        // drop it.
        ManuallyDrop::new(self).0.left.fetch_add(1, Ordering::Release);
    }
}

impl<T> Deref for Use<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        let value = self.0.value.with(|value| value);
        // SAFETY: the value exists as long as a use has not ended.
        unsafe { &*value.cast::<T>() }
    }
}

impl<T> Drop for Use<'_, T> {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: this was the last use.
            unsafe { self.0.drop_value() };
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Use<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Use").field(&**self).finish()
    }
}
