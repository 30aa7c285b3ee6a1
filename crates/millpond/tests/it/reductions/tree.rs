//! Large values under `deterministic(true)`: the number of tasks determines the shape of the tree.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use super::runtimes;
use crate::common::{builder, limit, sized};
use millpond::{Handle, Inline, Reducer, Spawn, Sum};

/// Records the combinations as brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Brackets;

impl Reducer<String> for Brackets {
    const LARGE: bool = true;

    fn identity(&self, _like: &String) -> String {
        String::new()
    }
    fn combine(&self, into: &mut String, part: String) {
        *into = format!("({into}{part})");
    }
}

/// A complete tree over members from `start`, as `Brackets` writes it.
fn complete(start: usize, members: usize) -> String {
    match members {
        1 => format!("<{start}>"),
        _ => format!("({}{})", complete(start, members / 2), complete(start + members / 2, members / 2)),
    }
}

/// The whole tree: one complete tree for each binary digit, from left to right.
fn whole(members: usize) -> String {
    let (mut all, mut start) = (String::from("datum"), 0);
    for digit in (0..usize::BITS).rev().map(|digit| 1 << digit).filter(|digit| members & digit != 0) {
        all = format!("({all}{})", complete(start, digit));
        start += digit;
    }
    all
}

fn depth(brackets: &str) -> u32 {
    let (mut depth, mut deepest) = (0, 0);
    for byte in brackets.bytes() {
        depth = depth + u32::from(byte == b'(') - u32::from(byte == b')');
        deepest = deepest.max(depth);
    }
    deepest
}

#[test]
fn the_tree_has_one_shape() {
    limit(60, "one tree", || {
        for rt in runtimes(true) {
            for members in [1, 2, 3, 7, 64, 100, sized(127, 1023)] {
                let text = Handle::new(String::from("datum"));
                rt.scope(|s| {
                    for member in 0..members {
                        let body = move |part: &mut String| part.push_str(&format!("<{member}>"));
                        // Other tasks come in between, so the shape does not depend on the numbers
                        // of tasks.
                        s.spawn((), |()| ());
                        // Some are late.
                        if member % 5 == 0 {
                            s.nest(text.reduce(Brackets), move |s, part| {
                                s.spawn((), |()| thread::yield_now());
                                s.spawn(part.inout(), body);
                            });
                        } else {
                            s.spawn(text.reduce(Brackets), body);
                        }
                    }
                })
                .unwrap();
                let text = text.into_inner().unwrap();
                assert_eq!(text, whole(members));
                assert!(depth(&text) <= 2 * members.ilog2() + 1, "{members} members, depth {}", depth(&text));
            }
        }
    });
}

/// Large enough to be treated as a tile by default.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tile([f64; 16]);

#[derive(Clone, Copy, PartialEq, Eq)]
struct AddTiles;

impl Reducer<Tile> for AddTiles {
    fn identity(&self, _like: &Tile) -> Tile {
        Tile([0.0; 16])
    }
    fn combine(&self, into: &mut Tile, part: Tile) {
        into.0.iter_mut().zip(part.0).for_each(|(into, part)| *into += part);
    }
    fn absorb(&self, into: &mut Tile, part: &mut Tile) -> bool {
        self.combine(into, *part);
        *part = self.identity(part);
        true
    }
}

/// Its size gives every order of additions a different sum.
fn number(task: usize) -> f64 {
    (task as f64 + 0.1).sin() * f64::from(10_u32.pow(task as u32 % 9))
}

/// The numbers of the members from `start` on, added as in a tree.
fn added(start: usize, members: usize) -> f64 {
    match members {
        1 => number(start),
        _ => added(start, members / 2) + added(start + members / 2, members / 2),
    }
}

#[test]
fn sums_are_the_same_to_the_last_bit() {
    limit(60, "the same bits", || {
        // A power of two, so that there is one tree.
        let tasks: usize = sized(512, 4096);
        let serial = (0..tasks).fold(0.5, |sum, task| sum + number(task));
        let by_tree = 0.5 + added(0, tasks);
        assert_ne!(serial.to_bits(), by_tree.to_bits(), "the test tells them apart");
        for rt in runtimes(true) {
            for _ in 0..3 {
                let (scalar, tile) = (Handle::new(0.5), Handle::new(Tile([0.5; 16])));
                rt.scope(|s| {
                    for task in 0..tasks {
                        s.spawn((scalar.reduce(Sum), tile.reduce(AddTiles)), move |(scalar, tile)| {
                            *scalar += number(task);
                            tile.0.iter_mut().for_each(|x| *x += number(task));
                        });
                    }
                })
                .unwrap();
                assert_eq!(scalar.into_inner().unwrap().to_bits(), serial.to_bits(), "scalars, one after the other");
                assert!(tile.into_inner().unwrap().0.iter().all(|x| x.to_bits() == by_tree.to_bits()), "tiles");
            }
        }
    });
}

/// Each of two combinations waits until the other one has also started.
static BEGUN: AtomicU32 = AtomicU32::new(0);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Meets;

impl Reducer<[u32; 32]> for Meets {
    fn identity(&self, _like: &[u32; 32]) -> [u32; 32] {
        [0; 32]
    }
    fn combine(&self, into: &mut [u32; 32], part: [u32; 32]) {
        if part[0] == 1 && into[0] == 1 {
            BEGUN.fetch_add(1, SeqCst);
            while BEGUN.load(SeqCst) < 2 {
                thread::yield_now();
            }
        }
        into[0] += part[0];
    }
}

#[test]
fn workers_combine_at_once() {
    limit(20, "combinations that meet", || {
        let rt = builder(2).inline(Inline::Never).deterministic(true).build().unwrap();
        let sum = Handle::new([0; 32]);
        rt.scope(|s| (0..4).for_each(|_| drop(s.spawn(sum.reduce(Meets), |part| part[0] += 1)))).unwrap();
        assert_eq!(sum.into_inner().unwrap()[0], 4);
    });
}
