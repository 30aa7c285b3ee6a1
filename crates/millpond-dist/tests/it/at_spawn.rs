//! Portable tasks that run at their spawn on the dataflow stack. They are calls, without closures
//! and frames. Only their other effects show this.

use crate::common::{limit, silence_expected_panics};
use millpond::{Error, Handle, Inline, Kind, Out, Runtime, StackEngine};
use millpond_dist::{Handles, ParentScope, ParentTask, Portable, PortableParent, R, Rw, SpawnPortable, W, portable};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

type OnStack = Runtime<StackEngine>;

fn on_stack(workers: usize, inline: Inline) -> OnStack {
    Runtime::builder().workers(workers).inline(inline).build_with().expect("the choices are in range")
}

/// Runs the test with several numbers of workers, with and without leaves at their spawn.
fn everywhere(name: &str, test: impl Fn(&OnStack)) {
    for workers in [1, 2, 4] {
        for inline in [Inline::Always, Inline::Auto, Inline::Never] {
            limit(60, format!("{name}, {workers} workers, {inline:?}"), || test(&on_stack(workers, inline)));
        }
    }
}

macro_rules! tasks {
    ($($name:ident { $($field:ident: $type:ty),* } $text:literal)*) => {$(
        #[derive(Serialize, Deserialize)]
        struct $name {
            $($field: $type,)*
        }
        portable!($name, $text);
    )*};
}

tasks! {
    Note { what: usize } "at_spawn.note"
    Noting { deep: usize } "at_spawn.noting"
    Add { n: u64 } "at_spawn.add"
    Chain { deep: u64 } "at_spawn.chain"
    Bad {} "at_spawn.bad"
    Forgets {} "at_spawn.forgets"
    Fails { how: How } "at_spawn.fails"
    Many { small: u64, large: u64 } "at_spawn.many"
    Large { n: u64 } "at_spawn.large"
    Fold {} "at_spawn.fold"
    Names {} "at_spawn.names"
    Sets { deep: u64 } "at_spawn.sets"
    Twice {} "at_spawn.twice"
}

/// The actions, in order.
static NOTES: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn note(what: usize) {
    NOTES.lock().expect("no thread panics with it").push(what);
}

impl Portable for Note {
    type Access = ();
    fn run(self, (): ()) {
        note(self.what);
    }
}

impl PortableParent for Noting {
    type Access = ();
    fn run<'t>(self, s: &impl ParentScope<'t>, (): ()) {
        note(10 * self.deep);
        s.spawn_portable((), Note { what: 10 * self.deep + 1 });
        note(10 * self.deep + 2);
        if self.deep > 1 {
            s.nest_portable((), Noting { deep: self.deep - 1 });
        }
        note(10 * self.deep + 3);
    }
}

/// Other tests of this file record nothing.
#[test]
fn they_run_at_their_spawn_unless_never() {
    let order = |inline| {
        limit(60, "notes", || {
            on_stack(1, inline).scope(|s| drop(s.nest_portable((), Noting { deep: 2 }))).expect("nothing fails");
            std::mem::take(&mut *NOTES.lock().expect("as above"))
        })
    };
    assert_eq!(order(Inline::Auto), [20, 21, 22, 10, 11, 12, 13, 23]);
    assert_eq!(order(Inline::Always), [20, 21, 22, 10, 11, 12, 13, 23]);
    assert_eq!(order(Inline::Never), [20, 22, 23, 21, 10, 12, 13, 11]);
}

impl Portable for Add {
    type Access = Rw<u64>;
    fn run(self, sum: &mut u64) {
        *sum += self.n;
    }
}

impl PortableParent for Chain {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, sum: Handles<'t, Self>) {
        s.spawn_portable(sum.inout(), Add { n: self.deep });
        if self.deep > 0 {
            s.nest_portable(sum.inout(), Chain { deep: self.deep - 1 });
        }
        s.spawn_portable(sum.inout(), Add { n: 1 });
    }
}

/// Deeper than bodies call one another.
#[test]
fn a_deep_chain_is_no_deep_recursion() {
    everywhere("chain", |rt| {
        let sum = Handle::new(0);
        rt.scope(|s| drop(s.nest_portable(sum.inout(), Chain { deep: 20_000 }))).expect("nothing fails");
        assert_eq!(sum.into_inner().expect("nothing fails"), 20_000 * 20_001 / 2 + 20_001);
    });
}

/// An error of a parent's children or of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum How {
    Leaf,
    LeafUnwritten,
    Below,
    Itself,
    Unwritten,
    Reads,
}

impl Portable for Bad {
    type Access = Rw<u64>;
    fn run(self, _: &mut u64) {
        panic!("expected");
    }
}

impl Portable for Forgets {
    type Access = W<u64>;
    fn run(self, _: Out<'_, u64>) {}
}

impl PortableParent for Fails {
    type Access = (Rw<u64>, W<u64>);
    fn run<'t>(self, s: &impl ParentScope<'t>, (x, r): Handles<'t, Self>) {
        s.spawn_portable(x.inout(), Add { n: 1 });
        match self.how {
            How::Leaf => s.spawn_portable(x.inout(), Bad {}),
            How::LeafUnwritten => s.spawn_portable(r.write(), Forgets {}),
            How::Below => s.nest_portable((x.inout(), r.write()), Fails { how: How::Leaf }),
            How::Itself => panic!("expected"),
            How::Unwritten => return,
            How::Reads => {
                let unset = s.unset::<u64>();
                s.spawn_portable((unset.inout(), r.write()), Fold {});
                return;
            }
        }
        // Whether the later tasks are poisoned.
        s.spawn_portable((x.inout(), r.write()), Fold {});
    }
}

impl Portable for Fold {
    type Access = (Rw<u64>, W<u64>);
    fn run(self, (x, r): (&mut u64, Out<'_, u64>)) {
        *x += 10;
        r.set(*x);
    }
}

/// The error, and the final data.
fn failing(rt: &OnStack, how: How) -> (Error, Result<u64, Error>, Result<u64, Error>) {
    let (x, r) = (Handle::new(0), Handle::unset());
    let error = rt.scope(|s| {
        let (y, q) = (Handle::new(0), Handle::unset());
        s.nest_portable((y.inout(), q.write()), Fails { how });
        s.nest_portable((x.inout(), r.write()), Fails { how });
    });
    (error.expect_err("a task fails"), x.into_inner(), r.into_inner())
}

#[test]
fn failures_are_those_of_tasks() {
    silence_expected_panics();
    let poisoned = |result: Result<u64, Error>| matches!(result.expect_err("poisoned").kind(), Kind::Poisoned { .. });
    everywhere("failures", |rt| {
        for how in [How::Leaf, How::Below, How::Itself] {
            let (error, x, r) = failing(rt, how);
            assert!(matches!(error.kind(), Kind::Panicked(text) if text.contains("expected")), "{how:?}: {error}");
            assert!(poisoned(x), "{how:?}");
            assert!(poisoned(r), "{how:?}");
        }
        let (error, x, r) = failing(rt, How::LeafUnwritten);
        assert_eq!(error.kind(), &Kind::Unwritten { arg: 0 });
        assert_eq!((x.expect("untouched"), r.expect("written afterwards")), (11, 11));
        let (error, x, r) = failing(rt, How::Unwritten);
        assert_eq!(error.kind(), &Kind::Unwritten { arg: 1 });
        assert_eq!(x.expect("untouched"), 1);
        assert!(poisoned(r));
        let (error, x, r) = failing(rt, How::Reads);
        assert_eq!(error.kind(), &Kind::NeverWritten { arg: 0 });
        assert_eq!(x.expect("untouched"), 1);
        assert!(poisoned(r));
    });
}

impl Portable for Large {
    type Access = W<[u64; 20]>;
    fn run(self, r: Out<'_, [u64; 20]>) {
        r.set([self.n; 20]);
    }
}

/// Values keep their places, whatever was there before.
impl PortableParent for Many {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, sum: Handles<'t, Self>) {
        let small: Vec<_> = (0..self.small).map(|n| s.handle(n)).collect();
        let large: Vec<_> = (0..self.large).map(|_| s.unset::<[u64; 20]>()).collect();
        let texts: Vec<_> = (0..self.large).map(|n| s.handle(n.to_string())).collect();
        let bytes: Vec<_> = (0..self.small).map(|n| s.handle(n as u8)).collect();
        for (n, large) in large.iter().enumerate() {
            s.spawn_portable(large.write(), Large { n: n as u64 });
        }
        if self.small > 1 {
            s.nest_portable(sum.inout(), Many { small: self.small / 2, large: self.large + 1 });
        }
        for (n, small) in small.iter().enumerate() {
            s.spawn_portable(small.inout(), Add { n: n as u64 });
            s.spawn_portable((small.read(), sum.inout()), Collect {});
        }
        for (large, text) in large.iter().zip(&texts) {
            s.spawn_portable((large.read(), text.read(), sum.inout()), CollectLarge {});
        }
        bytes.iter().for_each(|byte| s.spawn_portable((byte.read(), sum.inout()), CollectByte {}));
    }
}

tasks! {
    Collect {} "at_spawn.collect"
    CollectLarge {} "at_spawn.collect_large"
    CollectByte {} "at_spawn.collect_byte"
}

impl Portable for Collect {
    type Access = (R<u64>, Rw<u64>);
    fn run(self, (x, sum): (&u64, &mut u64)) {
        *sum += x;
    }
}
impl Portable for CollectLarge {
    type Access = (R<[u64; 20]>, R<String>, Rw<u64>);
    fn run(self, (large, text, sum): (&[u64; 20], &String, &mut u64)) {
        assert_eq!(large[19].to_string(), *text);
        *sum += large.iter().sum::<u64>();
    }
}
impl Portable for CollectByte {
    type Access = (R<u8>, Rw<u64>);
    fn run(self, (byte, sum): (&u8, &mut u64)) {
        *sum += u64::from(*byte);
    }
}

#[test]
fn data_of_bodies_are_their_own() {
    fn expected(small: u64, large: u64) -> u64 {
        let own = (0..small).map(|n| 2 * n + n).sum::<u64>() + (0..large).map(|n| 20 * n).sum::<u64>();
        own + if small > 1 { expected(small / 2, large + 1) } else { 0 }
    }
    everywhere("data", |rt| {
        for round in 0..5 {
            let sum = Handle::new(0);
            rt.scope(|s| drop(s.nest_portable(sum.inout(), Many { small: 100 + round, large: round })))
                .expect("nothing fails");
            assert_eq!(sum.into_inner().expect("nothing fails"), expected(100 + round, round));
        }
    });
}

/// A task without a compact form is pushed between called tasks.
impl PortableParent for Names {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, sum: Handles<'t, Self>) {
        s.spawn_portable(sum.inout(), Add { n: 1 });
        s.nest_portable(sum.inout(), Chain { deep: 10 });
        s.task("named").index([7]).spawn_portable(sum.inout(), Add { n: 2 });
        s.nest_portable(sum.inout(), Chain { deep: 10 });
        s.task("more").nest_portable(sum.inout(), Chain { deep: 3 });
        s.spawn_portable(sum.inout(), Add { n: 4 });
    }
}

#[test]
fn named_tasks_are_pushed_between_calls() {
    everywhere("names", |rt| {
        let sum = Handle::new(0);
        rt.scope(|s| {
            for _ in 0..50 {
                s.nest_portable(sum.inout(), Names {});
            }
        })
        .expect("nothing fails");
        assert_eq!(sum.into_inner().expect("nothing fails"), 50 * (1 + 2 * (55 + 11) + 2 + (6 + 4) + 4));
    });
}

static SETS: AtomicUsize = AtomicUsize::new(0);

impl PortableParent for Sets {
    type Access = W<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, r: Handles<'t, Self>) {
        SETS.fetch_add(1, Relaxed);
        if self.deep == 0 {
            return s.set(&r, 1);
        }
        let (a, b) = (s.unset(), s.handle(0).in_place());
        s.nest_portable(a.write(), Sets { deep: self.deep - 1 });
        s.nest_portable(b.write(), Sets { deep: self.deep - 1 });
        let c = s.unset();
        s.spawn_portable((a.read(), b.read(), c.write()), Both {});
        s.set(&a, 0);
        s.spawn_portable((a.read(), c.read(), r.write()), Both {});
    }
}

tasks! { Both {} "at_spawn.both" }

impl Portable for Both {
    type Access = (R<u64>, R<u64>, W<u64>);
    fn run(self, (a, b, r): (&u64, &u64, Out<'_, u64>)) {
        r.set(a + b);
    }
}

#[test]
fn bodies_set_values() {
    everywhere("sets", |rt| {
        for _ in 0..3 {
            let r = Handle::unset();
            rt.scope(|s| drop(s.nest_portable(r.write(), Sets { deep: 8 }))).expect("nothing fails");
            assert_eq!(r.into_inner().expect("written"), 256);
        }
    });
    assert_eq!(SETS.load(Relaxed), 9 * 3 * 511);
}

impl PortableParent for Twice {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, x: Handles<'t, Self>) {
        s.spawn_portable(x.inout(), Add { n: 1 });
        s.spawn_portable((x.read(), x.inout()), Collect {});
    }
}

#[test]
fn one_datum_twice_is_refused() {
    everywhere("twice", |rt| {
        let x = Handle::new(0);
        let error = rt.scope(|s| drop(s.nest_portable(x.inout(), Twice {}))).expect_err("misuse");
        assert_eq!(error.kind(), &Kind::Duplicate { args: (0, 1) });
        assert!(matches!(x.into_inner().expect_err("what it should have made").kind(), Kind::Poisoned { .. }));
    });
}
