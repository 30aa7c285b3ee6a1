//! Compound accesses: optional ones, and many at once.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::common::{builder, limit, must_not_run, runtime};
use crate::conformance::on_every_row;
use millpond::{Access, Handle, Inline, Inout, Kind, Read, Runtime, Spawn, Sum, all};

/// Each cell of a row adds its left neighbour. The first cell has none.
fn prefix_sums<'s, S: Spawn<'s>>(s: &S, cells: &[Handle<u64, S::Brand>]) {
    for i in 0..cells.len() {
        let left: Option<Access<'_, u64, Read, _>> = i.checked_sub(1).map(|left| cells[left].read());
        s.spawn((left, cells[i].inout()), |(left, cell)| *cell += left.unwrap_or(&0));
    }
}

#[test]
fn an_absent_access_is_no_dependence() {
    for (workers, inline) in [(1, Inline::Never), (2, Inline::Auto), (8, Inline::Always)] {
        on_every_row!(60, "absent accesses", builder(workers).inline(inline), rt => {
            let cells: Vec<_> = (1..=20).map(Handle::new).collect();
            let (ran, late) = (AtomicU32::new(0), Handle::unset());
            rt.scope(|s| {
                prefix_sums(s, &cells);
                s.nest(late.write(), |s, late| s.set(&late, 1_u64));
                let absent = [&late].into_iter().filter(|_| false).map(Handle::inout).next();
                // All accesses of this task are absent.
                let first = s.spawn((absent, None::<Access<'_, u64, Read, _>>), |(a, b)| {
                    assert!(a.is_none() && b.is_none());
                    ran.fetch_add(1, Relaxed)
                });
                assert_eq!(s.wait(first).unwrap(), 0);
            })
            .unwrap();
            let sums: Vec<u64> = cells.into_iter().map(|cell| cell.into_inner().unwrap()).collect();
            assert_eq!(sums, (1..=20).map(|n| n * (n + 1) / 2).collect::<Vec<_>>());
        });
    }
}

/// A parent gets its handles in the same form, in every mode.
#[test]
fn a_parent_gets_what_is_there() {
    on_every_row!(60, "options of a parent", builder(2), rt => {
        for there in [false, true] {
            let [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6].map(Handle::new);
            let shared = Handle::new(AtomicU32::new(0));
            rt.scope(|s| {
                let reads = there.then(|| (a.read(), [Some(b.read()), None]));
                let changes = (there.then(|| c.inout()), there.then(|| d.commutative()), there.then(|| e.write()));
                let parts = (there.then(|| f.reduce(Sum)), there.then(|| shared.concurrent()));
                s.nest((reads, changes, parts), move |s, (reads, (c, d, e), (f, shared))| {
                    let here = [c.is_some(), d.is_some(), e.is_some(), f.is_some(), shared.is_some()];
                    assert_eq!(here, [there; 5]);
                    let Some((a, [b, none])) = reads else { return };
                    assert!(none.is_none());
                    let (c, d, e) = (c.unwrap(), d.unwrap(), e.unwrap());
                    // For each child, some of them are absent.
                    let b = b.as_ref();
                    s.spawn((a.read(), b.map(|b| b.read()), c.inout()), |(a, b, c)| *c += a + b.unwrap_or(&0));
                    s.spawn((Some(d.commutative()), None::<Access<'_, i32, Inout, _>>), |(d, _)| *d.unwrap() += 10);
                    s.spawn(Some(e.write()), |e| e.unwrap().set(50));
                    s.spawn(f.as_ref().map(|f| f.inout()), |f| *f.unwrap() += 60);
                    s.spawn(shared.as_ref().map(|n| n.concurrent()), |n| _ = n.unwrap().fetch_add(1, Relaxed));
                });
            })
            .unwrap();
            let values = [a, b, c, d, e, f].map(|each| each.into_inner().unwrap());
            assert_eq!(values, if there { [1, 2, 6, 14, 50, 66] } else { [1, 2, 3, 4, 5, 6] });
            assert_eq!(shared.into_inner().unwrap().into_inner(), u32::from(there));
        }
    });
}

/// A function that works in any scope, on a slice, an array, a filtered iterator and nested lists.
fn sums<'s, S: Spawn<'s>>(s: &S, rows: &[Vec<Handle<u64, S::Brand>>], totals: &[Handle<u64, S::Brand>; 3]) {
    let [all_cells, odd_rows, reduced] = totals;
    let rows_of = |at: usize| rows.iter().skip(at).step_by(2);
    let cells = all(rows, |row| all(row, Handle::read));
    s.spawn((cells, all_cells.write()), |(rows, total)| total.set(rows.into_iter().flatten().sum()));
    let odd = all(rows_of(1).flatten(), Handle::read);
    s.spawn((odd, odd_rows.write()), |(cells, total)| total.set(cells.into_iter().sum()));
    s.spawn(all([reduced, reduced].into_iter().take(1), |h| h.reduce(Sum)), |parts| {
        *parts.into_iter().next().unwrap() += 3
    });
    s.nest(all(rows_of(0), |row| all(row, Handle::inout)), |s, rows| {
        for cell in rows.iter().flatten() {
            s.spawn(cell.inout(), |cell| *cell *= 100);
        }
        s.spawn(all(&rows[0], Handle::inout), |cells| cells.into_iter().for_each(|cell| *cell += 1));
    });
}

#[test]
fn many_accesses_as_one() {
    on_every_row!(60, "all", builder(2), rt => {
        let rows: Vec<Vec<_>> = (0..4_u64).map(|r| (0..3).map(|c| Handle::new(3 * r + c)).collect()).collect();
        let totals = [0; 3].map(Handle::new);
        rt.scope(|s| {
            sums(s, &rows, &totals);
            let none: [&Handle<u64>; 0] = [];
            s.spawn(all(none, Handle::write), |outs| assert!(outs.is_empty()));
        })
        .unwrap();
        let odd = (3 + 4 + 5) + (9 + 10 + 11);
        assert_eq!(totals.map(|total| total.into_inner().unwrap()), [66, odd, 3]);
        let cells: Vec<u64> = rows.into_iter().flatten().map(|cell| cell.into_inner().unwrap()).collect();
        assert_eq!(cells, [1, 101, 201, 3, 4, 5, 600, 700, 800, 9, 10, 11]);
    });
}

fn runtimes() -> [Runtime; 3] {
    [Inline::Auto, Inline::Never, Inline::Always].map(|inline| builder(2).inline(inline).build().unwrap())
}

/// The positions in errors count only the accesses that are present.
#[test]
fn errors_count_what_is_there() {
    limit(20, "positions of options", || {
        for rt in runtimes() {
            let (a, b) = (Handle::new(1), Handle::<i32>::unset());
            let absent = || None::<Access<'_, i32, Inout, millpond::Root>>;
            let of = |s: Result<(), millpond::Error>| s.unwrap_err().kind().clone();
            let never = rt.scope(|s| {
                s.spawn((absent(), a.read(), Some(b.read())), |_| must_not_run());
            });
            assert_eq!(of(never), Kind::NeverWritten { arg: 1 });
            let twice = rt.scope(|s| {
                s.spawn((Some(a.inout()), absent(), Some(a.read())), |_| must_not_run());
            });
            assert_eq!(of(twice), Kind::Duplicate { args: (0, 1) });
            let unset = rt.scope(|s| {
                s.spawn((absent(), Some(b.write())), |_unset| ());
            });
            assert_eq!(of(unset), Kind::Unwritten { arg: 0 });
        }
    });
}

/// If a task fails, the data in its `Option` accesses are poisoned. A later `write` clears the
/// error.
#[test]
fn failures_pass_through_options() {
    limit(20, "failures and options", || {
        for rt in runtimes() {
            let (a, b) = (Handle::new(1), Handle::new(2));
            let error = rt.scope(|s| {
                s.task("fails").try_spawn((Some(a.inout()), Some(b.read())), |_| Err::<(), _>("no"));
                s.task("reads").spawn(Some(a.read()), |_| must_not_run());
                s.spawn(b.read(), |b| assert_eq!(*b, 2));
            });
            assert_eq!(error.unwrap_err().to_string(), "task `fails` failed: no");
            rt.scope(|s| drop(s.spawn(Some(a.write()), |a| a.unwrap().set(7)))).unwrap();
            assert_eq!(a.into_inner().unwrap(), 7);
        }
    });
}

/// In a session, which takes its accesses by value.
#[test]
fn options_in_a_session() {
    limit(20, "options in a session", || {
        let (rt, a) = (runtime(2), Handle::new(1));
        let session = rt.session();
        for n in 0..10 {
            session.spawn((n % 2 == 0).then(|| a.inout()), move |a| a.into_iter().for_each(|a| *a += n));
        }
        session.close().wait().unwrap();
        assert_eq!(a.into_inner().unwrap(), 1 + 2 + 4 + 6 + 8);
    });
}
