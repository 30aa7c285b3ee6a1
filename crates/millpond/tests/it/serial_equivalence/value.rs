//! The values that random programs compute: a hash of everything read, so that each wrong order
//! shows.

use std::array;
use std::ops::{Deref, DerefMut};
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

/// How many elements a value has as a slice.
pub const ELEMENTS: usize = 6;

/// What a loop does with an element: a hash of its number, of the value that all items read, and of
/// the element of another datum.
pub fn item(seed: u64, number: usize, read: u64, other: u64) -> u64 {
    mix(mix(mix(seed, number as u64), read), other)
}

/// The element after an item has changed it.
pub fn changed(before: u64, by: u64, blind: bool) -> u64 {
    if blind { before.wrapping_add(by) } else { mix(before, by) }
}

/// What the body of a parent itself adds to the datum of access `arg`, which it accumulates.
pub fn own_part(seed: u64, arg: usize) -> Plain {
    let by = mix(mix(seed, 11), arg as u64);
    Plain { sum: by, bits: by, map: (by | 1, mix(by, 1)), ..Plain::IDENTITY }
}

/// A value without its bookkeeping; the serial interpreter works on these alone.
///
/// One word for each kind of update that must not disturb the others: a sum, a set of bits, an
/// affine map. Loops change the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    pub sum: u64,
    pub bits: u64,
    pub map: (u64, u64),
    pub shared: u64,
    pub elements: [u64; ELEMENTS],
}

impl Plain {
    /// What a `write` of `x` leaves.
    pub fn fresh(x: u64) -> Self {
        let map = (mix(x, 2) | 1, mix(x, 3));
        let elements = array::from_fn(|i| mix(x, 5 + i as u64));
        Plain { sum: x, bits: mix(x, 1), map, shared: mix(x, 4), elements }
    }

    /// The neutral element of every reduction.
    pub const IDENTITY: Plain = Plain { sum: 0, bits: 0, map: (1, 0), shared: 0, elements: [0; ELEMENTS] };

    pub fn digest(&self) -> u64 {
        let map = mix(self.map.0, self.map.1);
        let words = mix(mix(self.sum, self.bits), mix(map, self.shared));
        self.elements.into_iter().fold(words, mix)
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

/// What the handles hold. It is on the heap and counts itself, so that leaks and double frees show.
#[derive(Debug)]
pub struct Value {
    heap: Box<Heap>,
    shared: AtomicU64,
    /// It depends on a cancelled task through something that waited for one, so it is not compared.
    tainted: AtomicBool,
    users: AtomicU64,
    live: Live,
}

#[derive(Debug)]
struct Heap {
    /// Its shared word and its elements are not used.
    plain: Plain,
    elements: [Element; ELEMENTS],
}

/// An element of a value, for loops.
#[derive(Debug)]
pub struct Element {
    pub word: u64,
    pub tainted: bool,
    users: AtomicU64,
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
            heap: Box::new(Heap { plain, elements: Element::all(&plain) }),
            tainted: AtomicBool::new(tainted),
            users: AtomicU64::new(0),
            live: live.another(),
        }
    }

    pub fn plain(&self) -> Plain {
        let elements = self.heap.elements.each_ref().map(|element| element.word);
        Plain { shared: self.shared.load(Ordering::Relaxed), elements, ..self.heap.plain }
    }

    pub fn is_tainted(&self) -> bool {
        self.tainted.load(Ordering::Relaxed) || self.iter().any(|element| element.tainted)
    }

    pub fn taint(&self, tainted: bool) {
        self.tainted.fetch_or(tainted, Ordering::Relaxed);
    }

    pub fn words(&mut self) -> &mut Plain {
        &mut self.heap.plain
    }

    pub fn assign(&mut self, plain: Plain, tainted: bool) {
        self.shared = AtomicU64::new(plain.shared);
        self.heap.plain = plain;
        for (element, word) in self.heap.elements.iter_mut().zip(plain.elements) {
            (element.word, element.tainted) = (word, false);
        }
        self.tainted = AtomicBool::new(tainted);
    }

    pub fn share(&self, by: u64) {
        self.shared.fetch_add(by, Ordering::Relaxed);
    }

    /// Notes a use; false if it overlaps with one that it must not.
    pub fn enter(&self, kind: u64) -> bool {
        let alone = enter(&self.users, kind);
        self.iter().fold(alone, |alone, element| element.enter(kind) && alone)
    }

    pub fn leave(&self, kind: u64) {
        self.iter().for_each(|element| element.leave(kind));
        self.users.fetch_sub(kind, Ordering::AcqRel);
    }
}

fn enter(users: &AtomicU64, kind: u64) -> bool {
    let before = users.fetch_add(kind, Ordering::AcqRel);
    match kind {
        READS => before < SHARES,
        SHARES => before.is_multiple_of(SHARES) && before < OWNS,
        _ => before == 0,
    }
}

impl Element {
    fn all(plain: &Plain) -> [Element; ELEMENTS] {
        plain.elements.map(|word| Element { word, tainted: false, users: AtomicU64::new(0) })
    }

    /// As for a [`Value`]: an item of a loop uses only some of its elements.
    pub fn enter(&self, kind: u64) -> bool {
        enter(&self.users, kind)
    }

    pub fn leave(&self, kind: u64) {
        self.users.fetch_sub(kind, Ordering::AcqRel);
    }
}

impl Deref for Value {
    type Target = [Element];

    fn deref(&self) -> &[Element] {
        &self.heap.elements
    }
}

impl DerefMut for Value {
    fn deref_mut(&mut self) -> &mut [Element] {
        &mut self.heap.elements
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
    Add, false: |into, part| into.words().add(part.plain().sum);
    /// Exclusive or.
    Xor, true: |into, part| into.words().xor(part.plain().bits);
    /// Composes maps; only for runtimes that combine in reference order.
    Compose, true: |into, part| into.words().compose(part.plain().map);
}
