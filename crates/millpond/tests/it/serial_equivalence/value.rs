//! The values that random programs compute: a hash of everything read, so that no wrong order goes
//! unseen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use millpond::Reducer;

/// Mixes two words; depends on their order.
pub fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.rotate_left(17) ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A value without its bookkeeping; the serial interpreter works on these alone.
///
/// One word for each kind of update that must not disturb the others: a sum, a set of bits, an
/// affine map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    pub sum: u64,
    pub bits: u64,
    pub map: (u64, u64),
    pub shared: u64,
}

impl Plain {
    /// What a `write` of `x` leaves.
    pub fn fresh(x: u64) -> Self {
        let map = (mix(x, 2) | 1, mix(x, 3));
        Plain { sum: x, bits: mix(x, 1), map, shared: mix(x, 4) }
    }

    /// The neutral element of every reduction.
    pub const IDENTITY: Plain = Plain { sum: 0, bits: 0, map: (1, 0), shared: 0 };

    pub fn digest(&self) -> u64 {
        let map = mix(self.map.0, self.map.1);
        mix(mix(self.sum, self.bits), mix(map, self.shared))
    }

    /// A commutative update; one that does not commute if the runtime promises reference order.
    pub fn commute(&mut self, by: u64, ordered: bool) {
        self.sum = if ordered { mix(self.sum, by) } else { self.sum.wrapping_add(by) };
    }

    pub fn add(&mut self, by: u64) {
        self.sum = self.sum.wrapping_add(by);
    }

    pub fn xor(&mut self, by: u64) {
        self.bits ^= by;
    }

    /// Puts the map `x -> (m x + a)` behind the one that is there: associative, not commutative.
    pub fn compose(&mut self, (m, a): (u64, u64)) {
        self.map = (m.wrapping_mul(self.map.0), m.wrapping_mul(self.map.1).wrapping_add(a));
    }
}

/// Kinds of use that must not overlap: any number of one of the first two, or one of the third.
pub const READS: u64 = 1;
/// See [`READS`].
pub const SHARES: u64 = 1 << 20;
/// See [`READS`].
pub const OWNS: u64 = 1 << 40;

/// What the handles hold. It lives on the heap and counts itself, so that leaks and double frees
/// show.
#[derive(Debug)]
pub struct Value {
    plain: Box<Plain>,
    shared: AtomicU64,
    /// It depends on a cancelled task through something that waited for one, so it is not compared.
    tainted: AtomicBool,
    users: AtomicU64,
    live: Live,
}

/// How many values of one run exist.
#[derive(Debug)]
pub struct Live(Arc<AtomicI64>);

impl Live {
    pub fn count(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    pub fn new() -> Self {
        Live(Arc::new(AtomicI64::new(1)))
    }

    fn another(&self) -> Self {
        self.0.fetch_add(1, Ordering::Relaxed);
        Live(Arc::clone(&self.0))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Value {
    pub fn new(plain: Plain, tainted: bool, live: &Live) -> Self {
        Value {
            shared: AtomicU64::new(plain.shared),
            plain: Box::new(plain),
            tainted: AtomicBool::new(tainted),
            users: AtomicU64::new(0),
            live: live.another(),
        }
    }

    pub fn plain(&self) -> Plain {
        Plain { shared: self.shared.load(Ordering::Relaxed), ..*self.plain }
    }

    pub fn is_tainted(&self) -> bool {
        self.tainted.load(Ordering::Relaxed)
    }

    pub fn taint(&self, tainted: bool) {
        self.tainted.fetch_or(tainted, Ordering::Relaxed);
    }

    pub fn words(&mut self) -> &mut Plain {
        &mut self.plain
    }

    pub fn assign(&mut self, plain: Plain, tainted: bool) {
        self.shared = AtomicU64::new(plain.shared);
        *self.plain = plain;
        self.tainted = AtomicBool::new(tainted);
    }

    pub fn share(&self, by: u64) {
        self.shared.fetch_add(by, Ordering::Relaxed);
    }

    /// Notes a use; false if it overlaps with one that it must not.
    pub fn enter(&self, kind: u64) -> bool {
        let before = self.users.fetch_add(kind, Ordering::AcqRel);
        match kind {
            READS => before < SHARES,
            SHARES => before.is_multiple_of(SHARES) && before < OWNS,
            _ => before == 0,
        }
    }

    pub fn leave(&self, kind: u64) {
        self.users.fetch_sub(kind, Ordering::AcqRel);
    }
}

macro_rules! reducers {
    ($($(#[$doc:meta])* $name:ident, $large:literal: |$into:ident, $part:ident| $combine:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl Reducer<Value> for $name {
            const LARGE: bool = $large;

            fn identity(&self, like: &Value) -> Value {
                Value::new(Plain::IDENTITY, false, &like.live)
            }
            fn combine(&self, $into: &mut Value, $part: Value) {
                $into.taint($part.is_tainted());
                $combine
            }
            fn absorb(&self, into: &mut Value, part: &mut Value) -> bool {
                if $large {
                    let identity = self.identity(part);
                    self.combine(into, std::mem::replace(part, identity));
                }
                $large
            }
        }
    )*};
}

// Small and large, so that both ways to combine are taken.
reducers! {
    /// Adds.
    Add, false: |into, part| into.plain.add(part.plain.sum);
    /// Exclusive or.
    Xor, true: |into, part| into.plain.xor(part.plain.bits);
    /// Composes maps; only for runtimes that combine in reference order.
    Compose, true: |into, part| into.plain.compose(part.plain.map);
}
