//! Programs that must compile, since the rules of the API allow them. Each also runs.
//!
//! `millpond-ui-tests` has the programs that must not compile.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::common::{Mutex, limit, runtime};
use millpond::{Access, Handle, Inout, Kind, Out, Read, Reducer, Root, Runtime, Spawn, Write};

fn runtimes() -> [Runtime; 3] {
    [1, 2, 8].map(runtime)
}

#[test]
fn handles_of_borrowed_data() {
    limit(20, "borrowed data", || {
        for rt in runtimes() {
            let (mut numbers, mut text) = (vec![1.0; 100], String::from("a"));
            let blocks: Vec<_> = numbers.chunks_mut(30).map(Handle::new).collect();
            let word = Handle::new(text.as_mut_str());
            rt.scope(|s| {
                for block in &blocks {
                    s.spawn(block.inout(), |block| block.iter_mut().for_each(|x| *x *= 2.0));
                    s.nest(block.inout(), |s, block| {
                        s.spawn(block.inout(), |block| block[0] = 0.0);
                    });
                }
                s.spawn((blocks[0].read(), word.inout()), |(_, word)| word.make_ascii_uppercase());
            })
            .unwrap();
            drop((blocks, word));
            assert_eq!((numbers.iter().sum::<f64>(), text.as_str()), (192.0, "A"));
        }
    });
}

#[test]
fn captured_borrows_of_what_outlives_the_scope() {
    limit(20, "captured borrows", || {
        for rt in runtimes() {
            let (words, ran) = (vec![String::from("one"), String::from("three")], AtomicU32::new(0));
            let longest = Handle::new("");
            let mut unshared = 0;
            rt.scope(|s| {
                for word in &words {
                    s.spawn(longest.inout(), |longest| {
                        ran.fetch_add(1, Relaxed);
                        if word.len() > longest.len() {
                            *longest = word;
                        }
                    });
                }
                s.spawn((), |()| unshared += 1);
            })
            .unwrap();
            assert_eq!((longest.into_inner().unwrap(), unshared, ran.into_inner()), ("three", 1, 2));
        }
    });
}

#[test]
fn tuples_of_twenty() {
    limit(20, "tuples", || {
        for rt in runtimes() {
            let h: [Handle<u32>; 20] = std::array::from_fn(|i| Handle::new(i as u32));
            rt.scope(|s| {
                s.spawn(
                    (
                        (h[0].read(), h[1].read(), h[2].read(), h[3].read(), h[4].read()),
                        (h[5].read(), h[6].read(), h[7].read(), h[8].read(), h[9].read()),
                        (h[10].read(), h[11].read(), h[12].read(), h[13].read(), h[14].read()),
                        (h[15].read(), h[16].read(), h[17].read(), h[18].read(), h[19].inout()),
                    ),
                    |((a, ..), (.., b), _, (.., c))| *c += *a + *b,
                );
                s.nest(
                    (
                        h[0].read(),
                        h[1].read(),
                        h[2].read(),
                        h[3].read(),
                        h[4].read(),
                        h[5].read(),
                        h[6].read(),
                        h[7].read(),
                        h[8].read(),
                        h[9].read(),
                        h[10].read(),
                        h[11].read(),
                        h[12].read(),
                        h[13].read(),
                        h[14].read(),
                        h[15].read(),
                        h[16].read(),
                        h[17].read(),
                        h[18].read(),
                        h[19].inout(),
                    ),
                    |s, (_, a, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, b, c)| {
                        s.spawn((a.read(), b.read(), c.inout()), |(a, b, c)| *c += *a + *b);
                    },
                );
            })
            .unwrap();
            let last = h.into_iter().next_back().unwrap();
            assert_eq!(last.into_inner().unwrap(), 19 + 9 + 1 + 18);
        }
    });
}

#[test]
fn vecs_arrays_and_tuples_in_each_other() {
    limit(20, "nested shapes", || {
        for rt in runtimes() {
            let tiles: Vec<Vec<_>> = (0..3).map(|i| (0..i + 1).map(|k| Handle::new(10 * i + k)).collect()).collect();
            let sum = Handle::unset();
            rt.scope(|s| {
                let rows: Vec<Vec<_>> = tiles.iter().map(|row| row.iter().map(Handle::read).collect()).collect();
                s.spawn((rows, [sum.write()]), |(rows, [out]): (Vec<Vec<&i32>>, [Out<'_, i32>; 1])| {
                    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 3]);
                    out.set(rows.into_iter().flatten().sum());
                });
                let pairs = vec![(tiles[0][0].inout(), tiles[1][0].read()), (tiles[1][1].inout(), tiles[2][0].read())];
                s.nest((pairs, [sum.inout()]), |s, (pairs, [sum])| {
                    for (to, from) in &pairs {
                        s.spawn((to.inout(), from.read(), sum.inout()), |(to, from, sum)| {
                            *to += from;
                            *sum += *to;
                        });
                    }
                });
                s.spawn((Vec::<Access<'_, i32, Read, Root>>::new(), ()), |(none, ())| assert!(none.is_empty()));
            })
            .unwrap();
            assert_eq!(sum.into_inner().unwrap(), 84 + 10 + 31);
        }
    });
}

fn double(x: &mut u64) {
    *x *= 2;
}

fn add((a, b): (&u64, &mut u64)) -> u64 {
    *b += a;
    *b
}

#[test]
fn named_functions_as_bodies() {
    limit(20, "named functions", || {
        for rt in runtimes() {
            let (a, b) = (Handle::new(3), Handle::new(4));
            let sum = rt.scope(|s| {
                s.spawn(a.inout(), double);
                let join = s.spawn((a.read(), b.inout()), add);
                s.spawn(b.write(), set_to_seven);
                s.wait(join).unwrap()
            });
            assert_eq!((sum.unwrap(), b.into_inner().unwrap()), (10, 7));
        }
    });
}

fn set_to_seven(out: Out<'_, u64>) {
    out.set(7);
}

/// The same body for a root scope, a parent and a session.
fn fill<'s, S: Spawn<'s>>(s: &S, tiles: &[Handle<u64, S::Brand>], sum: Access<'_, u64, Write, S::Brand>) {
    for (i, tile) in tiles.iter().enumerate() {
        s.task("fill").index([i]).spawn(tile.inout(), move |tile| *tile += i as u64);
    }
    let reads: Vec<_> = tiles.iter().map(Handle::read).collect();
    s.spawn((reads, sum), |(tiles, sum)| sum.set(tiles.into_iter().sum()));
}

fn halves<'s, S: Spawn<'s>>(s: &S, depth: u32, count: Access<'_, u64, Inout, S::Brand>) {
    s.nest(count, move |s, count| {
        if depth == 0 {
            s.spawn(count.inout(), |count| *count += 1);
        } else {
            halves(s, depth - 1, count.inout());
            halves(s, depth - 1, count.inout());
        }
    });
}

#[test]
fn programs_for_every_scope() {
    limit(20, "generic programs", || {
        for rt in runtimes() {
            let tiles: Vec<_> = (0..10).map(|_| Handle::new(1)).collect();
            let (sum, count) = (Handle::unset(), Handle::new(0));
            rt.scope(|s| {
                fill(s, &tiles, sum.write());
                halves(s, 6, count.inout());
                s.nest((tiles.iter().map(Handle::inout).collect::<Vec<_>>(), sum.write()), |s, (tiles, sum)| {
                    fill(s, &tiles, sum.write());
                });
            })
            .unwrap();
            assert_eq!((sum.into_inner().unwrap(), count.into_inner().unwrap()), (10 + 2 * 45, 64));
        }
    });
}

#[test]
fn programs_for_a_session() {
    limit(20, "programs for a session", || {
        for rt in runtimes() {
            let tiles: Vec<_> = (0..10).map(|_| Handle::new(1)).collect();
            let (sum, count) = (Handle::unset(), Handle::new(0));
            let session = rt.session();
            fill(&session, &tiles, sum.write());
            halves(&session, 3, count.inout());
            session.close().wait().unwrap();
            assert_eq!((sum.into_inner().unwrap(), count.into_inner().unwrap()), (10 + 45, 8));
        }
    });
}

#[test]
fn rights_that_a_parent_passes_on() {
    limit(20, "rights", || {
        for rt in runtimes() {
            let (a, b, c, d) = (Handle::new(1), Handle::new(2), Handle::new(AtomicU32::new(3)), Handle::new(4));
            rt.scope(|s| {
                s.nest((a.read(), b.write(), c.concurrent(), d.commutative()), |s, (mut a, b, mut c, mut d)| {
                    s.nest(a.read(), |s, a| drop(s.spawn(a.read(), |a| assert_eq!(*a, 1))));
                    s.spawn(b.write(), |out| out.set(20));
                    s.nest(b.write(), |s, b| s.set(&b, 21));
                    s.spawn(c.concurrent(), |c| _ = c.fetch_add(1, Relaxed));
                    s.spawn(c.read(), |c| assert!(c.load(Relaxed) >= 3));
                    s.nest(d.reduce(millpond::Sum), |s, d| drop(s.spawn(d.inout(), |d| *d += 1)));
                    s.spawn(d.commutative(), |d| *d += 1);
                    assert_eq!(*s.wait_on(&mut a).unwrap(), 1);
                    assert_eq!(s.wait_on(&mut c).unwrap().load(Relaxed), 4);
                    *s.wait_on(&mut d).unwrap() += 1;
                });
            })
            .unwrap();
            assert_eq!((b.into_inner().unwrap(), d.into_inner().unwrap()), (21, 7));
            assert_eq!(c.into_inner().unwrap().into_inner(), 4);
        }
    });
}

#[test]
fn data_that_is_not_shared_need_not_be_sync() {
    limit(20, "cells", || {
        for rt in runtimes() {
            let cell = Handle::new(Cell::new(1));
            let total = rt.scope(|s| {
                s.spawn(cell.inout(), |cell| cell.set(cell.get() + 1));
                s.spawn(cell.commutative(), |cell| cell.set(cell.get() + 1));
                let join = s.nest(cell.inout(), |s, mut cell| s.wait_on(&mut cell).unwrap().replace(5));
                s.spawn(cell.write(), |out| _ = out.insert(Cell::new(0)).replace(6));
                s.wait(join).unwrap()
            });
            assert_eq!((total.unwrap(), cell.into_inner().unwrap().get()), (3, 6));
        }
    });
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct AddModulo(usize);

impl Reducer<Vec<usize>> for AddModulo {
    fn identity(&self, like: &Vec<usize>) -> Vec<usize> {
        vec![0; like.len()]
    }
    fn combine(&self, into: &mut Vec<usize>, part: Vec<usize>) {
        into.iter_mut().zip(part).for_each(|(into, part)| *into = (*into + part) % self.0);
    }
}

#[test]
fn reducers_with_state() {
    limit(20, "reducers", || {
        for rt in runtimes() {
            let bins = Handle::new(vec![0; 3]);
            rt.scope(|s| {
                for i in 0..30 {
                    // Equal reducers run at the same time. A different reducer starts a new
                    // generation.
                    let modulus = if i < 15 { 4 } else { 100 };
                    s.spawn(bins.reduce(AddModulo(modulus)), move |bins| bins[i % 3] += 1);
                }
            })
            .unwrap();
            assert_eq!(bins.into_inner().unwrap(), [6, 6, 6]);
        }
    });
}

#[test]
fn values_that_leave_by_their_owner() {
    limit(20, "moved values", || {
        for rt in runtimes() {
            let (made, kept) = (Handle::new(vec![1]), Mutex::new(Vec::new()));
            rt.scope(|s| {
                // A handle may move into a task that is its last user.
                s.spawn((), |()| made.into_inner().map(|v| kept.lock().extend(v)).unwrap());
            })
            .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(*kept.lock(), [1]);
        }
    });
}

#[test]
fn a_scope_with_question_marks() {
    limit(20, "try_scope", || {
        for rt in runtimes() {
            let mut a = Handle::new(1);
            let seen = rt.try_scope(|s| {
                s.spawn(a.inout(), |a| *a += 1);
                let value = *s.wait_on(&mut a)?;
                let join = s.spawn((), move |()| value + 1);
                s.wait(join)
            });
            assert_eq!(seen.unwrap(), 3);
            let missing = rt.try_scope(|s| Ok::<_, millpond::Error>(*s.wait_on(&mut Handle::<u32>::unset())?));
            assert_eq!(missing.unwrap_err().kind(), &Kind::NeverWritten { arg: 0 });
        }
    });
}
