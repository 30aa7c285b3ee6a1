//! Events while portable tasks run at their spawn: thieves during long leaves, small windows,
//! sessions, leaves that open scopes, and a cancelled scope.

use crate::common::limit;
use millpond::{CancelToken, Handle, Inline, Kind, Out, Runtime, Spawn, StackEngine};
use millpond_dist::{Handles, ParentScope, Portable, PortableParent, R, Rw, SpawnPortable, W, portable};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

type OnStack = Runtime<StackEngine>;

const INLINES: [Inline; 3] = [Inline::Always, Inline::Auto, Inline::Never];

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
    Add { n: u64 } "inline_subtrees.add"
    Sum {} "inline_subtrees.sum"
    Tree { deep: u64 } "inline_subtrees.tree"
    Opens { deep: u64 } "inline_subtrees.opens"
    Opening { deep: u64 } "inline_subtrees.opening"
    Cancel {} "inline_subtrees.cancel"
    Cancels { deep: u64 } "inline_subtrees.cancels"
    Slow { micros: u64, test: usize } "inline_subtrees.slow"
    Wide { leaves: usize, micros: u64, test: usize } "inline_subtrees.wide"
    Nine {} "inline_subtrees.nine"
    FiveIn {} "inline_subtrees.five_in"
    Fives {} "inline_subtrees.fives"
}

impl Portable for Add {
    type Access = Rw<u64>;
    fn run(self, x: &mut u64) {
        *x += self.n;
    }
}

impl Portable for Sum {
    type Access = (R<u64>, Rw<u64>);
    fn run(self, (x, sum): (&u64, &mut u64)) {
        *sum += x;
    }
}

/// Adds 3 to the power of its depth and one more.
impl PortableParent for Tree {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, sum: Handles<'t, Self>) {
        let own: Vec<_> = (0..3).map(|_| s.handle(0)).collect();
        for own in &own {
            match self.deep {
                0 => s.spawn_portable(own.inout(), Add { n: 1 }),
                deep => s.nest_portable(own.inout(), Tree { deep: deep - 1 }),
            }
        }
        own.iter().for_each(|own| s.spawn_portable((own.read(), sum.inout()), Sum {}));
    }
}

#[test]
fn windows_are_small() {
    for (workers, inline) in [1, 2, 3].into_iter().flat_map(|workers| INLINES.map(|inline| (workers, inline))) {
        for window in [1, 2, 5] {
            limit(60, format!("{workers} workers, {inline:?}, window {window}"), || {
                let builder = Runtime::builder().workers(workers).window(window).inline(inline);
                let rt: OnStack = builder.build_with().expect("the choices are in range");
                for _ in 0..if cfg!(debug_assertions) { 1 } else { 20 } {
                    let sum = Handle::new(0);
                    rt.scope(|s| (0..10).for_each(|_| drop(s.nest_portable(sum.inout(), Tree { deep: 4 }))))
                        .expect("nothing fails");
                    assert_eq!(sum.into_inner().expect("nothing fails"), 10 * 243);
                }
            });
        }
    }
}

#[test]
fn sessions_have_inline_subtrees() {
    for workers in 1..=3 {
        limit(60, format!("a session, {workers} workers"), || {
            let builder = Runtime::builder().workers(workers).inline(Inline::Always);
            let rt: OnStack = builder.build_with().expect("the choices are in range");
            for _ in 0..20 {
                let (sum, session) = (Handle::new(0), rt.session());
                (0..10).for_each(|_| drop(session.nest_portable(sum.inout(), Tree { deep: 4 })));
                session.close().wait().expect("nothing fails");
                assert_eq!(sum.into_inner().expect("nothing fails"), 10 * 243);
            }
        });
    }
}

static HOME: OnceLock<OnStack> = OnceLock::new();

impl Portable for Opens {
    type Access = Rw<u64>;
    fn run(self, x: &mut u64) {
        let y = Handle::new(0);
        let home = HOME.get().expect("set by the test");
        home.scope(|s| drop(s.nest_portable(y.inout(), Tree { deep: self.deep }))).expect("nothing fails");
        *x += y.into_inner().expect("nothing fails");
    }
}

impl PortableParent for Opening {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, sum: Handles<'t, Self>) {
        let own = s.handle(0);
        s.spawn_portable(own.inout(), Opens { deep: 2 });
        if self.deep > 0 {
            s.nest_portable(own.inout(), Opening { deep: self.deep - 1 });
        }
        s.spawn_portable(own.inout(), Opens { deep: 2 });
        s.spawn_portable((own.read(), sum.inout()), Sum {});
    }
}

#[test]
fn leaves_open_scopes_of_the_same_runtime() {
    limit(120, "leaves with scopes", || {
        let make = || Runtime::builder().workers(3).inline(Inline::Always).build_with().expect("as above");
        let home = HOME.get_or_init(make);
        for _ in 0..50 {
            let sum = Handle::new(0);
            home.scope(|s| (0..4).for_each(|_| drop(s.nest_portable(sum.inout(), Opening { deep: 5 }))))
                .expect("nothing fails");
            assert_eq!(sum.into_inner().expect("nothing fails"), 4 * 12 * 27);
        }
    });
}

static TOKEN: Mutex<Option<CancelToken>> = Mutex::new(None);

impl Portable for Cancel {
    type Access = Rw<u64>;
    fn run(self, x: &mut u64) {
        *x += 1;
        TOKEN.lock().expect("no thread panics with it").as_ref().expect("set by the test").cancel();
    }
}

impl PortableParent for Cancels {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, x: Handles<'t, Self>) {
        s.spawn_portable(x.inout(), Add { n: 10 });
        if self.deep == 0 {
            return s.spawn_portable(x.inout(), Cancel {});
        }
        s.nest_portable(x.inout(), Cancels { deep: self.deep - 1 });
        // All later tasks.
        s.spawn_portable(x.inout(), Add { n: 1000 });
    }
}

#[test]
fn tasks_cancelled_in_an_inline_subtree_do_not_run() {
    for (workers, inline) in [1, 2, 3].into_iter().flat_map(|workers| INLINES.map(|inline| (workers, inline))) {
        limit(60, format!("cancelled, {workers} workers, {inline:?}"), || {
            let builder = Runtime::builder().workers(workers).inline(inline);
            let rt: OnStack = builder.build_with().expect("the choices are in range");
            let x = Handle::new(0);
            let error = rt.scope(|s| {
                *TOKEN.lock().expect("as above") = Some(s.cancel_token());
                s.nest_portable(x.inout(), Cancels { deep: 3 });
            });
            assert_eq!(error.expect_err("cancelled").kind(), &Kind::Cancelled);
            assert!(matches!(x.into_inner().expect_err("poisoned").kind(), Kind::Poisoned { .. }));
        });
    }
}

/// The number of leaves that each thread has run, for each test.
static BY: Mutex<BTreeMap<usize, HashMap<ThreadId, usize>>> = Mutex::new(BTreeMap::new());

impl Portable for Slow {
    type Access = W<u64>;
    fn run(self, r: Out<'_, u64>) {
        let mut by = BY.lock().expect("no thread panics with it");
        *by.entry(self.test).or_default().entry(thread::current().id()).or_default() += 1;
        drop(by);
        // It takes long, but needs no processor.
        thread::sleep(Duration::from_micros(self.micros));
        r.set(1);
    }
}

/// The threads that have run the leaves of a test.
fn by_thread(test: usize) -> HashMap<ThreadId, usize> {
    BY.lock().expect("as above").remove(&test).expect("some have run")
}

impl PortableParent for Wide {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, sum: Handles<'t, Self>) {
        let parts: Vec<_> = (0..self.leaves).map(|_| s.unset()).collect();
        let (micros, test) = (self.micros, self.test);
        parts.iter().for_each(|part| s.spawn_portable(part.write(), Slow { micros, test }));
        parts.iter().for_each(|part| s.spawn_portable((part.read(), sum.inout()), Sum {}));
    }
}

/// When a worker is idle, it can steal the tasks that are spawned from then on.
#[test]
fn an_idle_worker_gets_tasks() {
    for inline in [Inline::Always, Inline::Auto] {
        limit(60, format!("thieves, {inline:?}"), || {
            let builder = Runtime::builder().workers(2).inline(inline);
            let rt: OnStack = builder.build_with().expect("the choices are in range");
            let sum = Handle::new(0);
            rt.scope(|s| drop(s.nest_portable(sum.inout(), Wide { leaves: 200, micros: 2000, test: 0 })))
                .expect("nothing fails");
            assert_eq!(sum.into_inner().expect("nothing fails"), 200);
            assert!(by_thread(0).len() > 1, "more than one has worked");
        });
    }
}

/// Thieves cannot see into an inline subtree, and find nothing while a leaf runs. Meanwhile another
/// stack changes all the time, and never has anything to steal.
#[test]
fn thieves_get_a_share_of_long_leaves() {
    for inline in [Inline::Always, Inline::Auto] {
        limit(60, format!("thieves, {inline:?}"), || {
            let builder = Runtime::builder().workers(3).inline(inline);
            let rt: OnStack = builder.build_with().expect("the choices are in range");
            let over = AtomicBool::new(false);
            thread::scope(|threads| {
                threads.spawn(|| {
                    let x = Handle::new(0);
                    while !over.load(SeqCst) {
                        rt.scope(|s| {
                            for _ in 0..50 {
                                s.spawn(x.inout(), |x| {
                                    *x += 1;
                                    thread::sleep(Duration::from_micros(100));
                                });
                            }
                        })
                        .expect("nothing fails");
                    }
                });
                let (short, sum) = (Handle::new(0), Handle::new(0));
                rt.scope(|s| {
                    // So that the level counts as one of short bodies.
                    (0..2000).for_each(|_| drop(s.nest_portable(short.inout(), Tree { deep: 0 })));
                    s.nest_portable(sum.inout(), Wide { leaves: 1000, micros: 300, test: 1 });
                })
                .expect("nothing fails");
                over.store(true, SeqCst);
                assert_eq!(sum.into_inner().expect("nothing fails"), 1000);
            });
            let by = by_thread(1);
            let most = by.values().max().expect("some have run");
            assert!(*most < 900, "one thread has run {most} of 1000");
        });
    }
}

impl Portable for Nine {
    type Access = (R<u64>, R<u64>, R<u64>, R<u64>, R<u64>, R<u64>, R<u64>, Rw<u64>);
    fn run(self, (a, b, c, d, e, f, g, sum): (&u64, &u64, &u64, &u64, &u64, &u64, &u64, &mut u64)) {
        *sum += a + b + c + d + e + f + g;
    }
}

impl PortableParent for FiveIn {
    type Access = (R<u64>, R<u64>, R<u64>, R<u64>, Rw<u64>);
    fn run<'t>(self, s: &impl ParentScope<'t>, (a, b, c, d, sum): Handles<'t, Self>) {
        for x in [&a, &b, &c, &d] {
            s.spawn_portable((x.read(), sum.inout()), Sum {});
        }
    }
}

impl PortableParent for Fives {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, sum: Handles<'t, Self>) {
        let [a, b, c, d, e, f, g] = [1, 2, 3, 4, 5, 6, 7].map(|n| s.handle(n));
        let seven = (a.read(), b.read(), c.read(), d.read(), e.read(), f.read(), g.read(), sum.inout());
        s.spawn_portable(seven, Nine {});
        s.nest_portable((a.read(), b.read(), c.read(), d.read(), sum.inout()), FiveIn {});
        s.spawn_portable(a.inout(), Add { n: 1 });
        s.spawn_portable((a.read(), sum.inout()), Sum {});
    }
}

/// A parent with more accesses than a called parent may have.
#[test]
fn parents_with_many_accesses_are_pushed() {
    for (workers, inline) in [1, 2].into_iter().flat_map(|workers| INLINES.map(|inline| (workers, inline))) {
        limit(60, format!("accesses, {workers} workers, {inline:?}"), || {
            let builder = Runtime::builder().workers(workers).inline(inline);
            let rt: OnStack = builder.build_with().expect("the choices are in range");
            let sum = Handle::new(0);
            rt.scope(|s| (0..100).for_each(|_| drop(s.nest_portable(sum.inout(), Fives {})))).expect("nothing fails");
            assert_eq!(sum.into_inner().expect("nothing fails"), 100 * (28 + 10 + 2));
        });
    }
}
