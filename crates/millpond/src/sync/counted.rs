//! Atomics that count their read-modify-writes, for a build that measures the cost of dependence
//! tracking (`--cfg millpond_counted`).

use super::global::atomic::AtomicU64 as Count;

pub(crate) use super::atomic::Ordering;

static COUNT: Count = Count::new(0);

/// The number of read-modify-writes so far, in the whole process. Includes failed ones.
#[cfg(test)]
pub(crate) fn read_modify_writes() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// Counts belong to the process, so only one test may count at a time.
#[cfg(test)]
pub(crate) fn one_counts() -> super::MutexGuard<'static, ()> {
    static ONE: super::global::Mutex<()> = super::global::Mutex::new(());
    ONE.lock()
}

fn count() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

macro_rules! counted {
    ($($name:ident $(<$t:ident>)?: $value:ty, $($method:ident)*;)*) => {$(
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name$(<$t>)?(super::atomic::$name$(<$t>)?);

        impl$(<$t>)? Default for $name$(<$t>)? {
            fn default() -> Self {
                Self(Default::default())
            }
        }

        #[allow(dead_code, reason = "one set of methods for all")]
        impl$(<$t>)? $name$(<$t>)? {
            pub(crate) const fn new(value: $value) -> Self {
                Self(super::atomic::$name::new(value))
            }

            #[inline]
            #[track_caller]
            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            #[inline]
            #[track_caller]
            pub(crate) fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            #[inline]
            #[track_caller]
            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                count();
                self.0.swap(value, order)
            }

            #[inline]
            #[track_caller]
            pub(crate) fn compare_exchange(&self, old: $value, new: $value, is: Ordering, was: Ordering) -> Result<$value, $value> {
                count();
                self.0.compare_exchange(old, new, is, was)
            }

            #[inline]
            #[track_caller]
            pub(crate) fn compare_exchange_weak(&self, old: $value, new: $value, is: Ordering, was: Ordering) -> Result<$value, $value> {
                count();
                self.0.compare_exchange_weak(old, new, is, was)
            }

            #[track_caller]
            pub(crate) fn fetch_update(
                &self,
                set: Ordering,
                get: Ordering,
                mut to: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut old = self.load(get);
                while let Some(new) = to(old) {
                    match self.compare_exchange_weak(old, new, set, get) {
                        Ok(old) => return Ok(old),
                        Err(now) => old = now,
                    }
                }
                Err(old)
            }

            $(#[inline]
            #[track_caller]
            pub(crate) fn $method(&self, value: $value, order: Ordering) -> $value {
                count();
                self.0.$method(value, order)
            })*
        }
    )*};
}

counted! {
    AtomicU32: u32, fetch_add fetch_sub fetch_or fetch_xor;
    AtomicU64: u64, fetch_add fetch_sub;
    AtomicUsize: usize, fetch_add fetch_sub;
    AtomicBool: bool, fetch_or;
    AtomicPtr<T>: *mut T, ;
}
