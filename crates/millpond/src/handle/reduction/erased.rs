//! Reducers with erased types.

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::Reducer;
use super::combining::Spare;
use super::inline::is_small;
use crate::handle::version::Dropped;
use crate::panics::{PanicPayload, catch};

/// The functions of a reducer type `O` of values of a type `T`. `reducer` points to an `O`. `like`,
/// `into` and `part` point to a `T`; a `room` has space for one.
pub(crate) struct ReducerOps {
    kind: fn() -> TypeId,
    /// Whether `O` has no size: such reducers are equal.
    is_unit: bool,
    /// See [`Reducer::LARGE`].
    is_large: bool,
    /// Whether a leaf at its spawn may make a part.
    is_small: bool,
    copy: unsafe fn(reducer: NonNull<()>) -> NonNull<()>,
    free_copy: unsafe fn(reducer: NonNull<()>),
    is_equal: unsafe fn(reducer: NonNull<()>, other: NonNull<()>) -> bool,
    room: fn() -> NonNull<()>,
    identity: unsafe fn(reducer: NonNull<()>, like: NonNull<()>, room: NonNull<()>),
    combine: unsafe fn(reducer: NonNull<()>, into: NonNull<()>, part: NonNull<()>) -> Combined,
    drop_value: unsafe fn(room: NonNull<()>) -> Dropped,
    free_room: unsafe fn(room: NonNull<()>),
}

/// What is left in the room of a part.
pub(super) type Combined = Result<Spare<NonNull<()>>, PanicPayload>;

impl ReducerOps {
    pub(crate) const fn of<T, O: Reducer<T>>() -> &'static Self {
        &OpsOf::<T, O>::OPS
    }
}

struct OpsOf<T, O>(PhantomData<fn(T) -> O>);

impl<T, O: Reducer<T>> OpsOf<T, O> {
    const OPS: ReducerOps = ReducerOps {
        kind: TypeId::of::<O>,
        is_unit: size_of::<O>() == 0,
        is_large: O::LARGE,
        is_small: is_small::<T, O>(),
        copy: copy::<O>,
        free_copy: free_copy::<O>,
        is_equal: is_equal::<O>,
        room: room::<T>,
        identity: identity::<T, O>,
        combine: combine::<T, O>,
        drop_value: drop_value::<T>,
        free_room: free_room::<T>,
    };
}

/// # Safety
///
/// `reducer` points to an `O`.
unsafe fn copy<O: Copy>(reducer: NonNull<()>) -> NonNull<()> {
    // SAFETY: as the caller promises.
    let copy = unsafe { reducer.cast::<O>().read() };
    NonNull::from(Box::leak(Box::new(copy))).cast()
}

/// # Safety
///
/// `reducer` came from `copy::<O>`, and no code uses it afterwards.
unsafe fn free_copy<O>(reducer: NonNull<()>) {
    // SAFETY: `copy` leaked a box.
    drop(unsafe { Box::from_raw(reducer.cast::<O>().as_ptr()) });
}

/// # Safety
///
/// Both point to an `O`.
unsafe fn is_equal<O: Eq>(reducer: NonNull<()>, other: NonNull<()>) -> bool {
    // SAFETY: as the caller promises.
    let reducer = unsafe { reducer.cast::<O>().as_ref() };
    // SAFETY: as above.
    let other = unsafe { other.cast::<O>().as_ref() };
    // A comparison that panics must not unwind through a spawn: such a reducer is equal to none.
    catch(|| reducer == other).unwrap_or(false)
}

fn room<T>() -> NonNull<()> {
    NonNull::from(Box::leak(Box::<T>::new_uninit())).cast()
}

/// # Safety
///
/// `reducer` points to an `O`, and `like` to a `T` that no other code reads or writes meanwhile.
/// `room` is empty and belongs to the caller.
unsafe fn identity<T, O: Reducer<T>>(reducer: NonNull<()>, like: NonNull<()>, room: NonNull<()>) {
    // SAFETY: as the caller promises.
    let reducer = unsafe { reducer.cast::<O>().as_ref() };
    // SAFETY: as the caller promises.
    let value = reducer.identity(unsafe { like.cast().as_ref() });
    // SAFETY: the room belongs to the caller, and has space for a `T`.
    unsafe { room.cast::<T>().write(value) }
}

/// # Safety
///
/// `reducer` points to an `O`. `into` and `part` point to a `T` that the caller has alone, and it
/// gives `part` up.
unsafe fn combine<T, O: Reducer<T>>(reducer: NonNull<()>, into: NonNull<()>, part: NonNull<()>) -> Combined {
    // SAFETY: as the caller promises.
    let reducer = unsafe { reducer.cast::<O>().as_ref() };
    let (mut into, mut value) = (into.cast::<T>(), part.cast::<T>());
    // SAFETY: the caller has `into` alone.
    let into = unsafe { into.as_mut() };
    // SAFETY: the caller gives the value up.
    let spent = unsafe { value.as_mut() };
    match catch(|| reducer.absorb(into, spent)) {
        Ok(true) => Ok(Spare::Identity(part)),
        Ok(false) => {
            // SAFETY: the value is moved out. From here on the room is empty.
            let value = unsafe { value.read() };
            catch(|| reducer.combine(into, value)).map(|()| Spare::Empty(part))
        }
        Err(caught) => {
            // SAFETY: the caller gives the value up.
            let _thrown_after = unsafe { drop_value::<T>(part) };
            Err(caught)
        }
    }
}

/// # Safety
///
/// The room belongs to the caller and holds a `T`.
unsafe fn drop_value<T>(room: NonNull<()>) -> Dropped {
    // SAFETY: the room holds a value, which the caller gives up.
    catch(|| unsafe { room.cast::<T>().drop_in_place() })
}

/// # Safety
///
/// The room came from `room::<T>`, is empty, and no code uses it afterwards.
unsafe fn free_room<T>(room: NonNull<()>) {
    // SAFETY: `room` leaked a box of this layout.
    drop(unsafe { Box::from_raw(room.cast::<MaybeUninit<T>>().as_ptr()) });
}

/// A reducer of an access or of a reduction.
#[derive(Clone, Copy)]
pub(crate) struct ReducerRef<'a> {
    ops: &'static ReducerOps,
    reducer: NonNull<()>,
    _borrows: PhantomData<&'a ()>,
}

impl<'a> ReducerRef<'a> {
    /// # Safety
    ///
    /// The functions are those of `O`, for the type of the datum that the reducer is used for.
    #[inline(always)]
    pub(crate) unsafe fn new<O>(ops: &'static ReducerOps, reducer: &'a O) -> Self {
        ReducerRef { ops, reducer: NonNull::from(reducer).cast(), _borrows: PhantomData }
    }

    /// Whether both are equal. `compare` calls the function that compares them, which is user code.
    /// Reducers without size need no comparison.
    #[inline]
    pub(super) fn is(self, other: ReducerRef<'_>, compare: impl FnOnce(&dyn Fn() -> bool) -> bool) -> bool {
        // Functions of one type may exist several times, but have the same kind.
        let alike = std::ptr::eq(self.ops, other.ops) || (self.ops.kind)() == (other.ops.kind)();
        // SAFETY: both have the same type.
        alike && (self.ops.is_unit || compare(&|| unsafe { (self.ops.is_equal)(self.reducer, other.reducer) }))
    }

    /// See [`Reducer::LARGE`].
    pub(super) fn is_large(self) -> bool {
        self.ops.is_large
    }

    /// Whether a leaf at its spawn may make a part.
    #[inline(always)]
    pub(crate) fn is_small(self) -> bool {
        self.ops.is_small
    }

    /// Allocates an empty room.
    pub(super) fn room(self) -> NonNull<()> {
        (self.ops.room)()
    }

    /// Writes the identity into a room. If the reducer panics, this call panics too, and the room
    /// is still empty.
    ///
    /// # Safety
    ///
    /// `like` points to a value that no other code reads or writes meanwhile. `room` is empty and
    /// belongs to the caller.
    pub(super) unsafe fn identity(self, like: NonNull<()>, room: NonNull<()>) {
        // SAFETY: as the caller promises.
        unsafe { (self.ops.identity)(self.reducer, like, room) }
    }

    /// Combines `part` into `into`, and returns what is left in the room of `part`. If the reducer
    /// panics, nothing is left there.
    ///
    /// # Safety
    ///
    /// `into` points to a value that the caller has alone. So does `part`, which the caller gives
    /// up.
    pub(super) unsafe fn combine(self, into: NonNull<()>, part: NonNull<()>) -> Combined {
        // SAFETY: as the caller promises.
        unsafe { (self.ops.combine)(self.reducer, into, part) }
    }

    /// Drops the value in a room.
    ///
    /// # Safety
    ///
    /// The room belongs to the caller and holds a value. From here on it is empty.
    pub(super) unsafe fn drop_value(self, room: NonNull<()>) -> Dropped {
        // SAFETY: as the caller promises.
        unsafe { (self.ops.drop_value)(room) }
    }

    /// Frees a room that `room` made, with its value if it is `full`.
    ///
    /// # Safety
    ///
    /// The caller gives the room up. It holds a value if `full`.
    pub(super) unsafe fn free(self, room: NonNull<()>, full: bool) -> Dropped {
        // SAFETY: as the caller promises.
        let dropped = if full { unsafe { self.drop_value(room) } } else { Ok(()) };
        // SAFETY: the room is empty, and the caller gives it up.
        unsafe { (self.ops.free_room)(room) }
        dropped
    }
}

/// A reducer of its own.
pub(super) struct Operator(ReducerRef<'static>);

impl Operator {
    /// Copies a reducer.
    pub(super) fn copy_of(reducer: ReducerRef<'_>) -> Self {
        // SAFETY: the functions are those of the reducer.
        let copy = unsafe { (reducer.ops.copy)(reducer.reducer) };
        Operator(ReducerRef { ops: reducer.ops, reducer: copy, _borrows: PhantomData })
    }

    #[inline]
    pub(super) fn get(&self) -> ReducerRef<'_> {
        self.0
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // SAFETY: `copy_of` made the copy with these functions.
        unsafe { (self.0.ops.free_copy)(self.0.reducer) }
    }
}
