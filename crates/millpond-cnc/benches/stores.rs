//! The cost to find or make the slot of a key: this crate's item tables, and papaya's map.
//!
//! `cargo bench --profile max -p millpond-cnc --bench stores [-- TEXT]` runs the rows whose name
//! has that text. The rounds alternate between rows, each on a new table. The result is the median
//! of each row, in nanoseconds per key and thread. The first number is for a put, which makes the
//! slot and marks it. The second one is for a get, which finds it marked.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use foldhash::fast::FixedState;
use millpond_cnc::{Key, Slots, Table};

/// A round with the smaller number uses several tables, so that it takes as long as with the larger
/// one.
const SIZES: [usize; 2] = [10_000, 200_000];
const ROUNDS: usize = 15;

/// What is measured: finds the slot of a key, or makes it.
trait Find<K>: Sync {
    fn new() -> Self;
    /// Goes through keys, as one thread does. It takes the guards that it needs once.
    fn each(&self, keys: &[K], f: impl Fn(&AtomicU64));
}

struct Open<K>(Slots<K, AtomicU64>);
struct Sharded<K>(Slots<K, AtomicU64>);
struct Split<K>(Slots<K, AtomicU64>);
struct Papaya<K>(papaya::HashMap<K, AtomicU64, FixedState>);

macro_rules! tables {
    ($($name:ident $table:ident;)+) => {$(
        impl<K: Key> Find<K> for $name<K> {
            fn new() -> Self {
                $name(Slots::new(Table::$table))
            }

            fn each(&self, keys: &[K], f: impl Fn(&AtomicU64)) {
                keys.iter().for_each(|key| f(self.0.slot(key)));
            }
        }
    )+};
}
tables! {
    Open Open;
    Sharded Sharded;
    Split SplitOrdered;
}

impl<K: Key> Find<K> for Papaya<K> {
    fn new() -> Self {
        // Its default mode copies incrementally while the map is used. Here that takes many times
        // as long.
        let map = papaya::HashMap::builder().hasher(FixedState::default());
        Papaya(map.resize_mode(papaya::ResizeMode::Blocking).build())
    }

    fn each(&self, keys: &[K], f: impl Fn(&AtomicU64)) {
        let map = self.0.pin();
        // `get_or_insert_with` makes an entry before it looks, so this looks first.
        let make = |key: &K| map.get_or_insert_with(key.clone(), AtomicU64::default);
        keys.iter().for_each(|key| f(map.get(key).unwrap_or_else(|| make(key))));
    }
}

/// Nanoseconds per key, to put and to get. Each thread goes through its own keys; threads may have
/// the same ones.
fn measure<K: Key, T: Find<K>>(keys: &[Vec<K>]) -> [f64; 2] {
    let repeats = SIZES[1] / keys[0].len();
    let tables: Vec<T> = (0..repeats).map(|_| T::new()).collect();
    let start = Barrier::new(keys.len());
    let times = thread::scope(|scope| {
        let thread = |keys: &[K]| {
            let time = |table: &T, f: fn(&AtomicU64)| {
                start.wait();
                let began = Instant::now();
                table.each(keys, f);
                began.elapsed().as_nanos() as f64 / (repeats * keys.len()) as f64
            };
            tables.iter().fold([0.0; 2], |[put, get], table| {
                let put = put + time(table, |slot| slot.store(1, Ordering::Release));
                [put, get + time(table, |slot| assert_eq!(black_box(slot).load(Ordering::Acquire), 1))]
            })
        };
        let threads: Vec<_> = keys.iter().map(|keys| scope.spawn(move || thread(keys))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    [0, 1].map(|part| times.iter().map(|time| time[part]).sum::<f64>() / times.len() as f64)
}

struct Row {
    name: String,
    measure: Box<dyn Fn() -> [f64; 2]>,
}

/// The rows of all tables for these keys.
fn rows<K: Key>(what: &str, keys: &[Vec<K>]) -> Vec<Row> {
    fn row<K: Key, T: Find<K> + 'static>(table: &str, what: &str, keys: &[Vec<K>]) -> Row {
        let keys = keys.to_vec();
        Row { name: format!("{what}, {table}"), measure: Box::new(move || measure::<K, T>(&keys)) }
    }
    vec![
        row::<K, Open<K>>("open", what, keys),
        row::<K, Sharded<K>>("sharded", what, keys),
        row::<K, Split<K>>("split-ordered", what, keys),
        row::<K, Papaya<K>>("papaya", what, keys),
    ]
}

/// Consecutive numbers, and tiles of a cube.
fn rows_of(size: usize) -> Vec<Row> {
    let side = (size as f64).cbrt().ceil() as u32;
    let triple = |n: usize| (n as u32 / (side * side), n as u32 / side % side, n as u32 % side);
    let numbers = |from: usize| (from..from + size).map(|n| n as u64).collect::<Vec<_>>();
    let triples = |from: usize| (from..from + size).map(triple).collect::<Vec<_>>();
    // Consecutive keys are not adjacent: the factor is coprime to the sizes.
    let shuffled = (0..size).map(|n| (n * 7919 % size) as u64).collect::<Vec<_>>();
    // Every other key, so that two threads make neighbours.
    let others = |from: usize| (0..size).map(|n| (2 * n + from) as u64).collect::<Vec<_>>();
    [
        rows(&format!("{size} u64, 1 thread"), &[numbers(0)]),
        rows(&format!("{size} triples, 1 thread"), &[triples(0)]),
        rows(&format!("{size} u64 shuffled, 1 thread"), &[shuffled]),
        rows(&format!("{size} u64, 2 threads, the same"), &[numbers(0), numbers(0)]),
        rows(&format!("{size} u64, 2 threads, apart"), &[numbers(0), numbers(size)]),
        rows(&format!("{size} u64, 2 threads, alternating"), &[others(0), others(1)]),
        rows(&format!("{size} triples, 2 threads, the same"), &[triples(0), triples(0)]),
        rows(&format!("{size} triples, 2 threads, apart"), &[triples(0), triples(size)]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn main() {
    let only = std::env::args().nth(1).filter(|arg| !arg.starts_with('-')).unwrap_or_default();
    let rows: Vec<_> = SIZES.into_iter().flat_map(rows_of).filter(|row| row.name.contains(&only)).collect();
    let mut times = vec![[Vec::new(), Vec::new()]; rows.len()];
    for _ in 0..ROUNDS {
        for (row, times) in rows.iter().zip(&mut times) {
            (row.measure)().into_iter().zip(times).for_each(|(time, times)| times.push(time));
        }
    }
    println!("{:<48} {:>7} {:>7}   least {:>7} {:>7}", "", "put", "get", "put", "get");
    for (row, times) in rows.iter().zip(&mut times) {
        times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let [put, get] = [&times[0], &times[1]].map(|times| (times[ROUNDS / 2], times[0]));
        println!("{:<48} {:>7.1} {:>7.1}   least {:>7.1} {:>7.1}", row.name, put.0, get.0, put.1, get.1);
    }
}
