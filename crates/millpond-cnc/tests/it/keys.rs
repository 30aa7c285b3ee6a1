//! Methods of keys may use the collection that calls them. It holds no lock over them.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::common::limited;
use millpond_cnc::{Slots, Table};

/// All keys have the same hash, so they are compared. Clones and comparisons look up another key in
/// the same table.
#[derive(Debug)]
struct Curious(u32);

thread_local! {
    static LOOKS: Cell<bool> = const { Cell::new(false) };
    static TABLE: Cell<Table> = const { Cell::new(Table::Open) };
}

static CALLS: AtomicU32 = AtomicU32::new(0);

/// One table of each kind, which the methods of a key use.
fn slots() -> &'static Slots<Curious, AtomicU32> {
    static SLOTS: [OnceLock<Slots<Curious, AtomicU32>>; 3] = [const { OnceLock::new() }; 3];
    let (table, number) = match TABLE.get() {
        Table::Open => (Table::Open, 0),
        Table::Sharded => (Table::Sharded, 1),
        _ => (Table::SplitOrdered, 2),
    };
    SLOTS[number].get_or_init(|| Slots::new(table))
}

fn look_up() {
    // Not for the keys that are looked up here.
    if LOOKS.replace(false) {
        let another = 1000 + CALLS.fetch_add(1, Relaxed) % 7;
        slots().slot(&Curious(another)).fetch_add(1, Relaxed);
        LOOKS.set(true);
    }
}

impl Clone for Curious {
    fn clone(&self) -> Self {
        look_up();
        Curious(self.0)
    }
}

impl PartialEq for Curious {
    fn eq(&self, other: &Self) -> bool {
        look_up();
        self.0 == other.0
    }
}

impl Eq for Curious {}

impl Hash for Curious {
    fn hash<H: Hasher>(&self, state: &mut H) {
        look_up();
        state.write_u32(1);
    }
}

#[test]
fn methods_of_a_key_may_use_its_collection() {
    limited(|| {
        for table in [Table::Open, Table::Sharded, Table::SplitOrdered] {
            TABLE.set(table);
            let slots = slots();
            CALLS.store(0, Relaxed);
            LOOKS.set(true);
            for n in (0..40).chain(0..40) {
                slots.slot(&Curious(n)).fetch_add(1, Relaxed);
            }
            LOOKS.set(false);
            let times = |n| slots.slot(&Curious(n)).load(Relaxed);
            assert!((0..40).all(|n| times(n) == 2), "{table:?}");
            assert_eq!((1000..1007).map(times).sum::<u32>(), CALLS.load(Relaxed), "{table:?}");
        }
    });
}
