//! Reducers with erased types.

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ptr::NonNull;

use super::Reducer;
use super::combining::Spare;
use crate::handle::version::Dropped;
use crate::panics::{PanicPayload, catch};

/// A reducer of some `T`. `like`, `into` and `part` point to values of it; a `room` has space for
/// one.
pub(super) trait Operator {
    /// Whether this is the described reducer.
    fn is(&self, reducer: &ReducerRef<'_>) -> bool;

    /// See [`Reducer::LARGE`].
    fn is_large(&self) -> bool;

    /// Allocates an empty room.
    fn room(&self) -> NonNull<()>;

    /// Writes the identity into a room. If the reducer panics, this call panics too, and the room
    /// is still empty.
    ///
    /// # Safety
    ///
    /// `like` points to a `T` that no other code reads or writes meanwhile. `room` is empty and
    /// belongs to the caller.
    unsafe fn identity(&self, like: NonNull<()>, room: NonNull<()>);

    /// Combines `part` into `into`, and returns what is left in the room of `part`. If the reducer
    /// panics, the room is freed.
    ///
    /// # Safety
    ///
    /// `into` points to a `T` that the caller has alone. `part` is in a room, and the caller gives
    /// it up.
    unsafe fn combine(&self, into: NonNull<()>, part: NonNull<()>) -> Result<Spare<NonNull<()>>, PanicPayload>;

    /// Frees a room, with its value if it is `full`.
    ///
    /// # Safety
    ///
    /// The caller gives the room up. It holds a value if `full`.
    unsafe fn free(&self, room: NonNull<()>, full: bool) -> Dropped;
}

struct Typed<T, O>(O, PhantomData<fn(T)>);

impl<T, O: Reducer<T>> Operator for Typed<T, O> {
    fn is(&self, reducer: &ReducerRef<'_>) -> bool {
        // A comparison that panics must not unwind through a spawn: such a reducer is equal to
        // none.
        let equal = || reducer.operator.downcast_ref::<O>() == Some(&self.0);
        reducer.kind == TypeId::of::<O>() && catch(equal).unwrap_or(false)
    }

    fn is_large(&self) -> bool {
        O::LARGE
    }

    fn room(&self) -> NonNull<()> {
        NonNull::from(Box::leak(Box::<T>::new_uninit())).cast()
    }

    unsafe fn identity(&self, like: NonNull<()>, room: NonNull<()>) {
        // SAFETY: as the caller promises.
        let value = self.0.identity(unsafe { like.cast().as_ref() });
        // SAFETY: the room belongs to the caller, and has space for a `T`.
        unsafe { room.cast::<T>().write(value) }
    }

    unsafe fn combine(&self, into: NonNull<()>, part: NonNull<()>) -> Result<Spare<NonNull<()>>, PanicPayload> {
        let (mut into, mut value) = (into.cast::<T>(), part.cast::<T>());
        // SAFETY: the caller has `into` alone.
        let into = unsafe { into.as_mut() };
        // SAFETY: the caller gives the value up.
        let spent = unsafe { value.as_mut() };
        let absorbed = catch(|| self.0.absorb(into, spent));
        let result = match absorbed {
            Ok(true) => return Ok(Spare::Identity(part)),
            Ok(false) => {
                // SAFETY: the value is moved out. From here on the room is empty.
                let value = unsafe { value.read() };
                catch(|| self.0.combine(into, value)).map(|()| Spare::Empty(part))
            }
            Err(caught) => {
                // SAFETY: the caller gives the value up.
                let _thrown_after = catch(|| unsafe { value.drop_in_place() });
                Err(caught)
            }
        };
        if result.is_err() {
            // SAFETY: the caller gives up the room, which is empty.
            let _nothing_dropped = unsafe { self.free(part, false) };
        }
        result
    }

    unsafe fn free(&self, room: NonNull<()>, full: bool) -> Dropped {
        // SAFETY: `room` leaked a box of this layout and the caller gives it up.
        let mut room = unsafe { Box::from_raw(room.cast::<MaybeUninit<T>>().as_ptr()) };
        if !full {
            return Ok(());
        }
        // SAFETY: the box holds a value, which is dropped once.
        catch(|| unsafe { room.assume_init_drop() })
    }
}

/// An access token's description of its reducer, for the front end.
pub(crate) struct ReducerRef<'a> {
    kind: TypeId,
    operator: &'a dyn Any,
    make: &'a dyn Fn() -> Box<dyn Operator>,
}

impl ReducerRef<'_> {
    pub(super) fn make(&self) -> Box<dyn Operator> {
        (self.make)()
    }
}

/// Calls `with` with the description of a reducer.
pub(crate) type Describe<O> = fn(O, with: &mut dyn FnMut(ReducerRef<'_>));

/// The `Describe` of a reducer of `T`. An access calls it through a pointer, and so needs no
/// `Reducer` bound, which would make the compiler report an error twice.
pub(crate) fn describe<T, O: Reducer<T>>(operator: O, with: &mut dyn FnMut(ReducerRef<'_>)) {
    let make = || {
        let typed: Box<dyn Operator + '_> = Box::new(Typed::<T, O>(operator, PhantomData));
        // SAFETY: this erases only the lifetimes in `T`. The reduction is freed before the scope
        // whose tasks touch a `T` ends, or with the datum that holds one.
        unsafe { mem::transmute::<Box<dyn Operator + '_>, Box<dyn Operator>>(typed) }
    };
    with(ReducerRef { kind: TypeId::of::<O>(), operator: &operator, make: &make });
}
