//! Std's atomics for builds that watch each operation. With `--cfg millpond_yields`, threads wait
//! at random (`sync::yields`). With `--cfg millpond_counted`, a model of the caches counts the
//! writes to shared lines (`sync::lines`).

use std::ops::{Deref, DerefMut};

use super::global::atomic;

pub(crate) use atomic::Ordering;

/// The calling thread is about to read an atomic.
#[inline]
#[track_caller]
fn reads<T>(at: &T) {
    #[cfg(millpond_yields)]
    super::yields::perhaps_wait();
    #[cfg(millpond_counted)]
    super::lines::read(std::ptr::from_ref(at).addr());
    _ = at;
}

/// The calling thread is about to write an atomic.
#[inline]
#[track_caller]
fn writes<T>(at: &T) {
    #[cfg(millpond_yields)]
    super::yields::perhaps_wait();
    #[cfg(millpond_counted)]
    super::lines::write(std::ptr::from_ref(at).addr());
    _ = at;
}

#[inline]
pub(crate) fn fence(order: Ordering) {
    #[cfg(millpond_yields)]
    super::yields::perhaps_wait();
    atomic::fence(order);
}

macro_rules! watched {
    ($($name:ident $(<$t:ident>)?: $value:ty, $($method:ident)*;)*) => {$(
        /// Wraps std's type, and dereferences to it for methods that are missing here.
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name$(<$t>)?(atomic::$name$(<$t>)?);

        impl$(<$t>)? Default for $name$(<$t>)? {
            fn default() -> Self {
                Self(Default::default())
            }
        }

        impl$(<$t>)? Deref for $name$(<$t>)? {
            type Target = atomic::$name$(<$t>)?;
            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl$(<$t>)? DerefMut for $name$(<$t>)? {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.0
            }
        }

        #[allow(dead_code, reason = "one set of methods for all")]
        impl$(<$t>)? $name$(<$t>)? {
            #[inline]
            pub(crate) const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            pub(crate) fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            #[inline]
            #[track_caller]
            pub(crate) fn load(&self, order: Ordering) -> $value {
                reads(self);
                self.0.load(order)
            }

            #[inline]
            #[track_caller]
            pub(crate) fn store(&self, value: $value, order: Ordering) {
                writes(self);
                self.0.store(value, order);
            }

            #[inline]
            #[track_caller]
            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                writes(self);
                self.0.swap(value, order)
            }

            #[inline]
            #[track_caller]
            pub(crate) fn compare_exchange(&self, old: $value, new: $value, is: Ordering, was: Ordering) -> Result<$value, $value> {
                writes(self);
                self.0.compare_exchange(old, new, is, was)
            }

            #[inline]
            #[track_caller]
            pub(crate) fn compare_exchange_weak(&self, old: $value, new: $value, is: Ordering, was: Ordering) -> Result<$value, $value> {
                writes(self);
                self.0.compare_exchange_weak(old, new, is, was)
            }

            $(#[inline]
            #[track_caller]
            pub(crate) fn $method(&self, value: $value, order: Ordering) -> $value {
                writes(self);
                self.0.$method(value, order)
            })*
        }
    )*};
}

watched! {
    AtomicU8: u8, fetch_add fetch_sub fetch_or fetch_and fetch_xor;
    AtomicU32: u32, fetch_add fetch_sub fetch_or fetch_and fetch_xor fetch_max;
    AtomicU64: u64, fetch_add fetch_sub fetch_or fetch_and fetch_max;
    AtomicUsize: usize, fetch_add fetch_sub fetch_or fetch_and fetch_max;
    AtomicBool: bool, fetch_or fetch_and;
    AtomicPtr<T>: *mut T, ;
}
