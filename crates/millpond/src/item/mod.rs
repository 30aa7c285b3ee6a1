//! Items: values that are put once, and that others wait for (the *full-empty* words of [FP](crate#sources) §V).
//!
//! An [`Item`] is there as soon as it was put, and stays. A [`CountedItem`] is put with the number of its uses, and its
//! value is dropped after the last. Both may be waited for by a pending task ([`Precondition`]) and by a future
//! ([`Waker`]); before or after the put, from any thread.
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

/// Who waits for an item.
enum Who {
    Task(Precondition),
    Future(Waker),
}

impl Waits for Who {
    fn go(self) {
        match self {
            Who::Task(precondition) => precondition.satisfy(),
            // A waker that panics is its executor's affair.
            Who::Future(waker) => drop(catch(|| waker.wake())),
        }
    }
}

/// A value that is put once. Dropped, it drops the preconditions that wait for it.
pub struct Item<T>(Slot<T, Who>);

impl<T> Item<T> {
    /// An item that was not put.
    pub fn new() -> Self {
        Item(Slot::new())
    }

    /// The value, if it was put. One load.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// Puts the value, and lets those go on who wait for it: two atomic steps, and one for each of those.
    ///
    /// # Errors
    ///
    /// The value, if it was put before.
    pub fn put(&self, value: T) -> Result<(), T> {
        self.0.put(value)
    }

    /// A pending task waits for the item: the precondition is satisfied when it is there, perhaps now.
    pub fn wait(&self, precondition: Precondition) {
        self.0.wait(Who::Task(precondition)).into_iter().for_each(Waits::go);
    }

    /// A future waits for the item; false if it is there.
    pub fn wake(&self, waker: &Waker) -> bool {
        !self.0.is_full() && self.0.wait(Who::Future(waker.clone())).is_none()
    }

    /// Lets those go on who wait, though the item was not put.
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

/// A value that is put once, with the number of its uses; after the last of these it is dropped.
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
    /// It was not put.
    Missing,
    /// One use of the value.
    Use(Use<'i, T>),
    /// It was got as often as was said when it was put.
    UsedUp,
}

/// One use of an item's value. It ends when this is dropped.
pub struct Use<'i, T>(&'i Counted<T>);

/// A value and its uses. It is there as long as one of them has not ended.
struct Counted<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    /// How often it may still be got.
    left: AtomicU32,
    /// Uses that have not ended, or not begun.
    open: AtomicU32,
}

// SAFETY: it is shared until its last use, whose thread alone has it then.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

impl<T> CountedItem<T> {
    /// An item that was not put.
    pub fn new() -> Self {
        CountedItem(Slot::new())
    }

    /// Begins a use of the value, if there is one.
    pub fn get(&self) -> Got<'_, T> {
        match self.0.get() {
            None => Got::Missing,
            Some(counted) if counted.begin() => Got::Use(Use(counted)),
            Some(_) => Got::UsedUp,
        }
    }

    /// Whether it was put, and perhaps used up.
    pub fn is_put(&self) -> bool {
        self.0.is_full()
    }

    /// Whether its value is there: put, and in use or to be used.
    pub fn is_there(&self) -> bool {
        self.0.get().is_some_and(|counted| counted.open.load(Ordering::Relaxed) != 0)
    }

    /// Puts the value for so many uses, and lets those go on who wait for it. For none it is dropped.
    ///
    /// # Errors
    ///
    /// The value, if it was put before.
    pub fn put(&self, value: T, uses: u32) -> Result<(), T> {
        self.0.put(Counted::new(value, uses)).map_err(Counted::into_inner)?;
        if uses == 0 {
            let counted = self.0.get().expect("just put");
            // SAFETY: nobody has got it, and nobody will.
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

    /// The value of one that nobody has used.
    fn into_inner(self) -> T {
        // SAFETY: it is forgotten below, and nobody has taken the value.
        let value = self.value.with_mut(|value| unsafe { value.cast::<T>().read() });
        std::mem::forget(self);
        value
    }

    /// Begins a use; false if there are no more.
    fn begin(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        // Acquire: whoever has given this use back has looked at the value before.
        self.left.fetch_update(Ordering::Acquire, Ordering::Relaxed, less).is_ok()
    }

    /// Drops the value.
    ///
    /// # Safety
    ///
    /// All uses have ended, by who has seen that; once.
    unsafe fn drop_value(&self) {
        // SAFETY: as the caller promises.
        self.value.with_mut(|value| unsafe { value.cast::<T>().drop_in_place() });
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        if self.open.load(Ordering::Acquire) != 0 {
            // SAFETY: nobody else has it, and it was not dropped.
            unsafe { self.drop_value() };
        }
    }
}

impl<'i, T> Use<'i, T> {
    /// The value itself, if this is its last use.
    ///
    /// # Errors
    ///
    /// This use, if another one has not ended, or not begun.
    pub fn take(self) -> Result<T, Self> {
        if self.0.open.load(Ordering::Acquire) != 1 {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: the others have ended, which was seen, and no more can begin.
        let value = this.0.value.with_mut(|value| unsafe { value.cast::<T>().read() });
        this.0.open.store(0, Ordering::Release);
        Ok(value)
    }
}

impl<T> Use<'_, T> {
    /// The use did not take place: the value may be got once more.
    pub fn give_back(self) {
        // Release: the looks at the value come before what the next one does with it, who may take or drop it.
        ManuallyDrop::new(self).0.left.fetch_add(1, Ordering::Release);
    }
}

impl<T> Deref for Use<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        let value = self.0.value.with(|value| value);
        // SAFETY: the value is there as long as a use has not ended.
        unsafe { &*value.cast::<T>() }
    }
}

impl<T> Drop for Use<'_, T> {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: it was the last.
            unsafe { self.0.drop_value() };
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Use<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Use").field(&**self).finish()
    }
}
