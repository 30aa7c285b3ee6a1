//! Portable tasks give the results of closures, with any number of workers, and after a conversion
//! to bytes.

use crate::common::limit;

use millpond::{
    Access, Append, DefaultEngine, Engine, Handle, Inline, Kind, Out, Runtime, Spawn, StackEngine, Sum as Add, Write,
};
use millpond_dist::portable::{Mode, Registered, Role, Value, encode, registry};
use millpond_dist::{
    Args, Cw, Handles, ParentScope, ParentTask, Portable, PortableParent, R, Rw, SpawnPortable, TaskPortable, W,
    portable,
};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SECONDS: u64 = 60;

/// A test without a runtime, under the same time limit.
fn limited(test: impl FnOnce()) {
    limit(SECONDS, "no runtime", test);
}

type OnStack = Runtime<StackEngine>;

/// Runs the test with several numbers of workers, under the default scheme and on the dataflow
/// stack.
macro_rules! on_workers {
    ($name:literal, |$rt:ident| $test:block) => {
        for workers in 1..=3 {
            let builder = || Runtime::builder().workers(workers);
            limit(SECONDS, format!("{} on {workers}", $name), || {
                let $rt = &builder().build().expect("the choices are in range");
                $test
            });
            limit(SECONDS, format!("{} on {workers}, on the stack", $name), || {
                let $rt: &OnStack = &builder().build_with().expect("the choices are in range");
                $test
            });
        }
    };
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sum {
    scale: u64,
}
impl Portable for Sum {
    type Access = (R<u64>, R<u64>, W<u64>);
    fn run(self, (a, b, r): (&u64, &u64, Out<u64>)) {
        r.set((a + b) * self.scale);
    }
}
portable!(Sum, "fib.sum");

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fib {
    n: u64,
}
impl PortableParent for Fib {
    type Access = W<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, r: Handles<'t, Self>) {
        if self.n < 2 {
            return s.set(&r, self.n);
        }
        let (a, b) = (s.unset(), s.unset());
        s.nest_portable(a.write(), Fib { n: self.n - 1 });
        s.nest_portable(b.write(), Fib { n: self.n - 2 });
        s.spawn_portable((a.read(), b.read(), r.write()), Sum { scale: 1 });
    }
}
portable!(Fib, "fib");

/// Appends a word to a text. Its field has no fixed size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Say {
    word: String,
}
impl Portable for Say {
    type Access = Rw<String>;
    fn run(self, text: Args<'_, Self>) {
        text.push_str(&self.word);
    }
}
portable!(Say, "say");

/// Appends a word several times, each with its number. Uses all rights that a parent can have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Repeat {
    word: String,
}
impl PortableParent for Repeat {
    type Access = (R<u64>, Rw<String>, W<usize>);
    fn run<'t>(self, s: &impl ParentScope<'t>, (times, text, length): Handles<'t, Self>) {
        let marks = s.handle(vec!['.', '!']);
        s.spawn_portable((times.read(), marks.read(), text.inout()), SayAll { word: self.word });
        s.spawn_portable((text.read(), length.write()), Length);
    }
}
portable!(Repeat, "repeat");

#[derive(Serialize, Deserialize)]
struct SayAll {
    word: String,
}
impl Portable for SayAll {
    type Access = (R<u64>, R<Vec<char>>, Rw<String>);
    fn run(self, (times, marks, text): Args<'_, Self>) {
        (0..*times).for_each(|i| text.extend([self.word.as_str(), &marks[i as usize % marks.len()].to_string()]));
    }
}
portable!(SayAll, "say.all");

#[derive(Serialize, Deserialize)]
struct Length;
impl Portable for Length {
    type Access = (R<String>, W<usize>);
    fn run(self, (text, length): Args<'_, Self>) {
        length.set(text.len());
    }
}
portable!(Length, "length");

/// The maximum number of accesses of a portable task.
#[derive(Serialize, Deserialize)]
struct Eight;
impl Portable for Eight {
    type Access = (R<u8>, R<u16>, R<u32>, R<u64>, R<i8>, R<i16>, R<i32>, W<i64>);
    fn run(self, (a, b, c, d, e, f, g, r): Args<'_, Self>) {
        let unsigned = u64::from(*a) + u64::from(*b) + u64::from(*c) + d;
        r.set(i64::try_from(unsigned).unwrap() + i64::from(*e) + i64::from(*f) + i64::from(*g));
    }
}
portable!(Eight, "eight");

/// A generic struct whose instances have names.
#[derive(Serialize, Deserialize)]
struct Fill<T> {
    with: T,
}
impl Portable for Fill<u8> {
    type Access = W<u8>;
    fn run(self, out: Out<'_, u8>) {
        out.set(self.with);
    }
}
portable!(Fill<u8>, "fill.u8");

/// Panics, or forgets to write.
#[derive(Serialize, Deserialize)]
struct Fail {
    by_panic: bool,
}
impl Portable for Fail {
    type Access = (W<u8>,);
    fn run(self, _: Args<'_, Self>) {
        assert!(!self.by_panic, "as it was told");
    }
}
portable!(Fail, "fail");

/// A parent without accesses, with a leaf that fails.
#[derive(Serialize, Deserialize)]
struct FailBelow;
impl PortableParent for FailBelow {
    type Access = ();
    fn run<'t>(self, s: &impl ParentScope<'t>, (): Handles<'t, Self>) {
        s.spawn_portable((s.unset().write(),), Fail { by_panic: true });
    }
}
portable!(FailBelow, "fail.below");

/// Adds to a number and to a list. Both are reductions. The list has the order of the tasks in some
/// schedule.
#[derive(Serialize, Deserialize)]
struct AddOne {
    n: u64,
}
impl Portable for AddOne {
    type Access = (Cw<u64, Add>, Cw<Vec<u64>, Append>);
    fn run(self, (mut sum, mut seen): Args<'_, Self>) {
        sum.add(self.n);
        seen.partial().push(self.n);
    }
}
portable!(AddOne, "add.one");

/// Its children add all smaller numbers.
#[derive(Serialize, Deserialize)]
struct AddAll {
    below: u64,
}
impl PortableParent for AddAll {
    type Access = (Cw<u64, Add>, Cw<Vec<u64>, Append>);
    fn run<'t>(self, s: &impl ParentScope<'t>, (sum, seen): Handles<'t, Self>) {
        for n in 0..self.below {
            s.spawn_portable((sum.accumulate(), seen.accumulate()), AddOne { n });
        }
    }
}
portable!(AddAll, "add.all");

/// A parent whose children have names. The last one fails.
#[derive(Serialize, Deserialize)]
struct Names {
    nested: bool,
}
impl PortableParent for Names {
    type Access = Rw<String>;
    fn run<'t>(self, s: &impl ParentScope<'t>, text: Handles<'t, Self>) {
        s.task("say").bytes(10).spawn_portable(text.inout(), Say { word: "said".into() });
        if self.nested {
            s.task("inner").nest_portable(text.inout(), Names { nested: false });
        } else {
            s.task("fail").index([3, 5]).spawn_portable((s.unset().write(),), Fail { by_panic: false });
        }
    }
}
portable!(Names, "names");

/// Appends words with priorities.
#[derive(Serialize, Deserialize)]
struct Hints;
impl PortableParent for Hints {
    type Access = Cw<Vec<u64>, Append>;
    fn run<'t>(self, s: &impl ParentScope<'t>, seen: Handles<'t, Self>) {
        let sum = s.handle(0);
        s.spawn_portable((sum.accumulate(Add), seen.accumulate()), AddOne { n: 1 });
        s.task("urgent").priority(1).spawn_portable((sum.accumulate(Add), seen.accumulate()), AddOne { n: 2 });
        s.spawn_portable((sum.accumulate(Add), seen.accumulate()), AddOne { n: 3 });
    }
}
portable!(Hints, "hints");

/// Records its number and then replaces it, three times. At its end, its body records how many
/// numbers had been recorded.
#[derive(Serialize, Deserialize)]
struct Replace;
impl PortableParent for Replace {
    type Access = (Rw<u64>, Rw<Vec<u64>>);
    fn run<'t>(self, s: &impl ParentScope<'t>, (n, seen): Handles<'t, Self>) {
        for next in 0..3 {
            s.spawn_portable((n.read(), seen.inout()), Note);
            s.set(&n, next);
        }
        NOTED_IN_BODY.store(NOTED.load(Relaxed), Relaxed);
    }
}
portable!(Replace, "replace");

#[derive(Serialize, Deserialize)]
struct Note;
impl Portable for Note {
    type Access = (R<u64>, Rw<Vec<u64>>);
    fn run(self, (n, seen): (&u64, &mut Vec<u64>)) {
        NOTED.fetch_add(1, Relaxed);
        seen.push(*n);
    }
}
portable!(Note, "note");

static NOTED: AtomicUsize = AtomicUsize::new(0);
static NOTED_IN_BODY: AtomicUsize = AtomicUsize::new(0);

fn fib<'s, S: Spawn<'s>>(s: &S, n: u64, r: Access<'_, u64, Write, S::Brand>) {
    s.nest(r, move |s, r| {
        if n < 2 {
            return s.set(&r, n);
        }
        let (a, b) = (s.unset(), s.unset());
        fib(s, n - 1, a.write());
        fib(s, n - 2, b.write());
        s.spawn((a.read(), b.read(), r.write()), |(a, b, r)| r.set(a + b));
    });
}

#[test]
fn a_tree_of_portable_tasks_gives_what_closures_give() {
    on_workers!("fib", |rt| {
        let (portable, closures, both) = (Handle::unset(), Handle::unset(), Handle::unset());
        rt.scope(|s| {
            s.nest_portable(portable.write(), Fib { n: 16 });
            fib(s, 16, closures.write());
            s.spawn_portable((portable.read(), closures.read(), both.write()), Sum { scale: 3 });
        })
        .unwrap();
        assert_eq!((portable.into_inner().unwrap(), closures.into_inner().unwrap()), (987, 987));
        assert_eq!(both.into_inner().unwrap(), 2 * 3 * 987);
    });
}

#[test]
fn portable_tasks_and_closures_on_the_same_data_run_in_reference_order() {
    on_workers!("order", |rt| {
        let text = Handle::new(String::new());
        let times = Handle::new(3);
        let length = Handle::unset();
        rt.scope(|s| {
            s.spawn(text.inout(), |text| text.push('<'));
            s.spawn_portable(text.inout(), Say { word: "ab".into() });
            s.nest_portable((times.read(), text.inout(), length.write()), Repeat { word: "c".into() });
            s.spawn(text.inout(), |text| text.push('>'));
        })
        .unwrap();
        assert_eq!(text.into_inner().unwrap(), "<abc.c!c.>");
        assert_eq!(length.into_inner().unwrap(), 9);
    });
}

#[test]
fn a_scope_in_a_body_spawns_portable_tasks() {
    on_workers!("nested", |rt| {
        let text = Handle::new(String::new());
        rt.scope(|s| {
            s.nest(text.inout(), |s, mut text| {
                let join = s.spawn_portable(text.inout(), Say { word: "one".into() });
                s.wait(join).unwrap();
                assert_eq!(*s.wait_on(&mut text).unwrap(), "one");
                s.spawn_portable(text.inout(), Say { word: "two".into() });
            });
        })
        .unwrap();
        assert_eq!(text.into_inner().unwrap(), "onetwo");
    });
}

#[test]
fn eight_accesses_of_eight_types() {
    on_workers!("eight", |rt| {
        let (a, b, c, d) = (Handle::new(1), Handle::new(20), Handle::new(300), Handle::new(4000));
        let (e, f, g, r) = (Handle::new(-1), Handle::new(-20), Handle::new(-300), Handle::unset());
        rt.scope(|s| {
            let unsigned = (a.read(), b.read(), c.read(), d.read());
            let all = (unsigned.0, unsigned.1, unsigned.2, unsigned.3, e.read(), f.read(), g.read(), r.write());
            s.spawn_portable(all, Eight);
        })
        .unwrap();
        assert_eq!(r.into_inner().unwrap(), 4000);
    });
}

#[test]
fn an_instance_of_a_generic_struct() {
    on_workers!("generic", |rt| {
        let r = Handle::unset();
        rt.scope(|s| drop(s.spawn_portable(r.write(), Fill { with: 7 }))).unwrap();
        assert_eq!(r.into_inner().unwrap(), 7);
    });
}

#[test]
fn reductions() {
    on_workers!("reductions", |rt| {
        let (sum, seen) = (Handle::new(1000), Handle::new(vec![77]));
        rt.scope(|s| {
            s.nest_portable((sum.accumulate(Add), seen.accumulate(Append)), AddAll { below: 20 });
            s.spawn((sum.reduce(Add), seen.reduce(Append)), |(sum, _)| *sum += 5);
            s.spawn_portable((sum.accumulate(Add), seen.accumulate(Append)), AddOne { n: 20 });
            s.spawn(sum.inout(), |sum| *sum *= 2);
        })
        .unwrap();
        assert_eq!(sum.into_inner().unwrap(), 2 * (1000 + 5 + 210));
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..=20).chain([77]).collect::<Vec<_>>());
    });
}

#[test]
fn a_task_has_the_name_that_its_spawn_gives() {
    on_workers!("names", |rt| {
        for nested in [false, true] {
            let text = Handle::new(String::new());
            let error = rt.scope(|s| drop(s.nest_portable(text.inout(), Names { nested }))).unwrap_err();
            assert_eq!(error.task().to_string(), "fail(3,5)");
            let said = if nested { "saidsaid" } else { "said" };
            assert_eq!(text.into_inner().unwrap(), said);
        }
        let (r, text) = (Handle::unset(), Handle::unset());
        let error = rt.scope(|s| {
            let join = s.task("root").index([1]).spawn_portable((r.write(),), Fail { by_panic: true });
            assert_eq!(s.wait(join).unwrap_err().task().to_string(), "root(1)");
            drop(s.task("parent").nest_portable(text.inout(), Names { nested: false }));
        });
        assert_eq!(error.unwrap_err().task().to_string(), "root(1)");
    });
}

#[test]
fn a_priority_is_that_of_any_task() {
    limit(SECONDS, "priorities", || {
        let rt = Runtime::builder().workers(1).inline(Inline::Never).build().unwrap();
        let seen = Handle::new(Vec::new());
        rt.scope(|s| drop(s.nest_portable(seen.accumulate(Append), Hints))).unwrap();
        let urgent_first = seen.into_inner().unwrap();
        assert_eq!(urgent_first[0], 2, "{urgent_first:?}");
    });
}

/// A handle in place would make it wait under the default scheme. On the stack, any handle in use
/// would.
#[test]
fn a_portable_parent_does_not_wait_to_set_a_value() {
    fn with<E: Engine>(n: Handle<u64>) {
        let one = Runtime::builder().workers(1).inline(Inline::Never);
        let rt: Runtime<E> = one.build_with().unwrap();
        let seen = Handle::new(vec![]);
        NOTED.store(0, Relaxed);
        rt.scope(|s| drop(s.nest_portable((n.inout(), seen.inout()), Replace))).unwrap();
        assert_eq!(NOTED_IN_BODY.load(Relaxed), 0, "a leaf ran in the parent's body");
        assert_eq!((n.into_inner().unwrap(), seen.into_inner().unwrap()), (2, vec![7, 0, 1]));
    }
    limit(SECONDS, "set", || {
        with::<DefaultEngine>(Handle::new(7).in_place());
        with::<StackEngine>(Handle::new(7).in_place());
        with::<StackEngine>(Handle::new(7));
    });
}

#[test]
fn portable_tasks_fail_as_others_do() {
    on_workers!("failures", |rt| {
        let spawned = |by_panic| {
            let r = Handle::unset();
            rt.scope(|s| drop(s.spawn_portable((r.write(),), Fail { by_panic }))).unwrap_err()
        };
        assert_eq!(spawned(false).kind(), &Kind::Unwritten { arg: 0 });
        let error = spawned(true);
        assert!(matches!(error.kind(), Kind::Panicked(_)), "{error}");
        assert!(error.to_string().contains("as it was told"), "{error}");
        // A task is named by the place of its spawn.
        assert!(error.task().to_string().contains("portable.rs"), "{error}");
        let error = rt.scope(|s| drop(s.nest_portable((), FailBelow))).unwrap_err();
        assert!(matches!(error.kind(), Kind::Panicked(_)), "{error}");
        assert!(error.task().to_string().contains("portable.rs"), "{error}");
    });
}

/// The same task, converted to bytes and back.
fn again<P: Registered + Value>(task: P) -> P {
    let (name, bytes) = encode(&task).unwrap();
    let decoded = registry().unwrap().decode(name, &bytes).unwrap();
    assert_eq!(decoded.entry().name(), name);
    decoded.downcast().expect("it is of the type that has the name")
}

#[test]
fn a_task_that_was_bytes_is_the_same() {
    limited(|| {
        assert_eq!(again(Sum { scale: u64::MAX }), Sum { scale: u64::MAX });
        assert_eq!(again(Fib { n: 0 }), Fib { n: 0 });
        assert_eq!(again(Say { word: "größer".into() }), Say { word: "größer".into() });
        let (_, bytes) = encode(&Fib { n: 5 }).unwrap();
        let other = registry().unwrap().decode("fib", &bytes).unwrap().downcast::<Sum>().unwrap_err();
        assert_eq!(other.entry().name(), "fib", "what is of another type is left as it was");
    });
}

#[test]
fn a_task_that_was_bytes_does_the_same() {
    on_workers!("bytes", |rt| {
        let program = |fib: Fib, repeat: Repeat, sum: Sum| {
            let (n, n2, r, length) = (Handle::unset(), Handle::new(13), Handle::unset(), Handle::unset());
            let text = Handle::new(String::from("-"));
            rt.scope(|s| {
                s.nest_portable(n.write(), fib);
                s.nest_portable((n.read(), text.inout(), length.write()), repeat);
                s.spawn_portable((n.read(), n2.read(), r.write()), sum);
            })
            .unwrap();
            (r.into_inner().unwrap(), text.into_inner().unwrap(), length.into_inner().unwrap())
        };
        let (fib, repeat, sum) = (Fib { n: 7 }, Repeat { word: "la".into() }, Sum { scale: 10 });
        let here = program(fib.clone(), repeat.clone(), sum.clone());
        assert_eq!(here, program(again(fib), again(repeat), again(sum)));
        assert_eq!((here.0, here.2), (260, 1 + 13 * 3));
    });
}

#[test]
fn the_registry_says_what_a_task_is() {
    limited(|| {
        let registry = registry().unwrap();
        let entry = registry.get("repeat").unwrap();
        assert_eq!((entry.role(), entry.size()), (Role::Parent, size_of::<Repeat>()));
        assert!(entry.type_name().ends_with("::Repeat"));
        assert!(entry.place().file.ends_with("tests/it/portable.rs"));
        let modes: Vec<_> = entry.accesses().iter().map(|access| (access.mode(), access.size())).collect();
        assert_eq!(modes, [(Mode::Read, 8), (Mode::Inout, size_of::<String>()), (Mode::Write, size_of::<usize>())]);
        assert_eq!(entry.to_string(), "repeat (parent: read u64, inout alloc::string::String, write usize)");
        assert_eq!(registry.get("fail.below").unwrap().to_string(), "fail.below (parent)");
        // The other tests of this binary register names, too.
        let here = registry.iter().filter(|entry| entry.place().file == file!());
        let names: Vec<_> = here.map(|entry| entry.name()).collect();
        let all = [
            "add.all",
            "add.one",
            "eight",
            "fail",
            "fail.below",
            "fib",
            "fib.sum",
            "fill.u8",
            "hints",
            "length",
            "names",
            "note",
            "repeat",
            "replace",
            "say",
            "say.all",
        ];
        assert_eq!(names, all);
    });
}

#[test]
fn wrong_bytes_and_names_are_errors_of_one_line() {
    limited(|| {
        let registry = registry().unwrap();
        let error = |name: &str, bytes: &[u8]| registry.decode(name, bytes).unwrap_err().to_string();
        assert_eq!(
            error("fib.sum", &[]),
            "portable task `fib.sum` cannot be made from 0 bytes: they end before it does"
        );
        assert_eq!(
            error("fib.sum", &[7, 1, 2]),
            "portable task `fib.sum` cannot be made from 3 bytes: it ends 2 bytes before they do"
        );
        assert_eq!(
            error("say", &[2, 0xff, 0xff]),
            "portable task `say` cannot be made from 3 bytes: Tried to parse invalid utf-8"
        );
        assert_eq!(
            error("fib.some", &[]),
            "no portable task is named `fib.some`: the nearest valid: `fib.sum`, `fib` or `fail.below`"
        );
    });
}
