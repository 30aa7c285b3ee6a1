//! Tasks that accumulate where the interpreter reduces, and the tasks below them that contribute.

use std::convert::identity;
use std::rc::Rc;

use millpond::{
    Acc, Accumulator, ConcOnly, Contribution, Engine, Handle, In, Out, ReadOnly, Reducer, Spawn, WriteOnly, all,
};

use super::execute::{self, Hash, Run, named};
use super::external::{External, meet};
use super::leaf;
use super::program::{Adds, Body, Id, Leaf, Mode, Task, Work};
use super::slots::Slots;
use super::value::{Add, Compose, Value, Xor, own_part};

/// What a parent accumulates, under the ids of what it declared.
pub struct Totals<B> {
    add: Vec<(Id, Accumulator<Value, Add, B>)>,
    xor: Vec<(Id, Accumulator<Value, Xor, B>)>,
    compose: Vec<(Id, Accumulator<Value, Compose, B>)>,
}

/// The contributions of a task.
type Contributions<'h, B> = (
    Vec<Contribution<'h, Value, Add, B>>,
    Vec<Contribution<'h, Value, Xor, B>>,
    Vec<Contribution<'h, Value, Compose, B>>,
);

/// What a leaf adds to.
type Accs<'t> = (Vec<Acc<'t, Value, Add>>, Vec<Acc<'t, Value, Xor>>, Vec<Acc<'t, Value, Compose>>);

/// What a parent adds to and passes on.
type Accumulators<'t> = (
    Vec<Accumulator<Value, Add, In<'t>>>,
    Vec<Accumulator<Value, Xor, In<'t>>>,
    Vec<Accumulator<Value, Compose, In<'t>>>,
);

/// What a leaf is handed for its accesses that are no reductions.
type OtherLeafs<'t> = (Vec<&'t Value>, Vec<Out<'t, Value>>, Vec<&'t mut Value>, Vec<&'t mut Value>, Vec<&'t Value>);

/// What a parent is handed for them.
type OtherHelds<'t> = (
    Vec<Handle<Value, In<'t>, ReadOnly>>,
    Vec<Handle<Value, In<'t>, WriteOnly>>,
    Vec<Handle<Value, In<'t>>>,
    Vec<Handle<Value, In<'t>>>,
    Vec<Handle<Value, In<'t>, ConcOnly>>,
);

/// What a leaf is handed: for other accesses, for members of reductions, for contributions.
type Leafs<'t> = (OtherLeafs<'t>, Accs<'t>, Accs<'t>);

/// What a parent is handed.
type Helds<'t> = (OtherHelds<'t>, Accumulators<'t>, Accumulators<'t>);

/// Spawns a task that accumulates.
pub fn spawn<'s, S: Spawn<'s>, E: Engine>(
    s: &S,
    run: &'s Run,
    task: &'s Task,
    slots: &Slots<S::Brand>,
    seed: Hash,
    external: &External<'s, E>,
    portable: bool,
) -> S::Join<()> {
    let holds = external.holds(task);
    let (read, write, inout, commutative, concurrent, ..) = slots.accesses(task);
    let of = |mode| slots.handles(task, mode);
    let add = all(of(Mode::Add), |handle: &Handle<_, _>| handle.accumulate(Add));
    let xor = all(of(Mode::Xor), |handle: &Handle<_, _>| handle.accumulate(Xor));
    let compose = all(of(Mode::Compose), |handle: &Handle<_, _>| handle.accumulate(Compose));
    let others = (read, write, inout, commutative, concurrent);
    let accesses = (others, (add, xor, compose), slots.totals.contributions(task));
    // As a macro: each use makes closures of its own.
    macro_rules! spawn {
        ($with:expr, $accesses:expr, $leafs:path, $helds:path) => {
            match &task.work {
                Work::Leaf(leaf) => $with.spawn($accesses, move |args| {
                    run_leaf(run, (task, leaf), $leafs(args), seed);
                    meet(holds);
                }),
                Work::Nest(inner) => $with.nest($accesses, move |s, helds| {
                    run_parent::<_, E>(s, run, (task, inner), $helds(helds), seed, portable);
                    meet(holds);
                }),
                Work::Loop(_) => unreachable!("loops do not accumulate"),
            }
        };
    }
    match slots.totals.only(task) {
        // In a type that says that it is the only one: a stack stores such tasks as compact tasks.
        Some(only) if !task.named => spawn!(s, only, leafs_of_one, helds_of_one),
        _ if !task.named => spawn!(s, accesses, identity, identity),
        _ => spawn!(named(s, task, portable), accesses, identity, identity),
    }
}

fn leafs_of_one(one: Acc<'_, Value, Add>) -> Leafs<'_> {
    let others = (vec![], vec![], vec![], vec![], vec![]);
    (others, (vec![], vec![], vec![]), (vec![one], vec![], vec![]))
}

fn helds_of_one(one: Accumulator<Value, Add, In<'_>>) -> Helds<'_> {
    let others = (vec![], vec![], vec![], vec![], vec![]);
    (others, (vec![], vec![], vec![]), (vec![one], vec![], vec![]))
}

fn run_leaf(run: &Run, (task, leaf): (&Task, &Leaf), args: Leafs<'_>, seed: Hash) {
    let ((read, write, inout, commutative, concurrent), mut members, mut contributions) = args;
    let add = copies(&mut members.0, &mut contributions.0);
    let xor = copies(&mut members.1, &mut contributions.1);
    let compose = copies(&mut members.2, &mut contributions.2);
    leaf::run(run, task, leaf, (read, write, inout, commutative, concurrent, add, xor, compose), seed);
}

/// The copies in the order of the accesses.
fn copies<'a, 't, O: Reducer<Value>>(
    members: &'a mut [Acc<'t, Value, O>],
    contributions: &'a mut [Acc<'t, Value, O>],
) -> Vec<&'a mut Value> {
    members.iter_mut().chain(contributions).map(Acc::partial).collect()
}

fn run_parent<'s, 't, S: Spawn<'s, Brand = In<'t>>, E: Engine>(
    s: &S,
    run: &'s Run,
    (task, inner): (&Task, &'s Body),
    helds: Helds<'t>,
    seed: Hash,
    portable: bool,
) {
    let ((read, write, inout, commutative, concurrent), members, contributions) = helds;
    let others = (read, write, inout, commutative, concurrent, vec![], vec![], vec![]);
    let totals = Rc::new(Totals::held(task, members, contributions));
    let mut slots = Slots::held(task, others);
    slots.totals = Rc::clone(&totals);
    let mut accs = None;
    match task.adds() {
        Adds::First => add_own(&mut totals.accs(), run, task, seed),
        Adds::Throughout => accs = Some(totals.accs()),
        Adds::Never | Adds::Last => {}
    }
    execute::run_parent::<_, E>(s, run, (task, inner), slots, seed, portable);
    if task.adds() == Adds::Last {
        accs = Some(totals.accs());
    }
    if let Some(accs) = &mut accs {
        add_own(accs, run, task, seed);
    }
}

/// The body of a parent itself adds.
fn add_own((add, xor, compose): &mut Accs<'_>, run: &Run, task: &Task, seed: Hash) {
    add_each(add, Mode::Add, run, task, seed);
    add_each(xor, Mode::Xor, run, task, seed);
    add_each(compose, Mode::Compose, run, task, seed);
}

fn add_each<O: Reducer<Value>>(accs: &mut [Acc<'_, Value, O>], mode: Mode, run: &Run, task: &Task, seed: Hash) {
    let places = task.uses.iter().enumerate().filter(|(_, one)| one.mode == mode);
    for (acc, (arg, _)) in accs.iter_mut().zip(places) {
        acc.add(Value::new(own_part(seed.value, arg), seed.tainted, &run.live));
    }
}

impl<B> Default for Totals<B> {
    fn default() -> Self {
        Totals { add: Vec::new(), xor: Vec::new(), compose: Vec::new() }
    }
}

impl<'t> Totals<In<'t>> {
    fn held(task: &Task, members: Accumulators<'t>, contributions: Accumulators<'t>) -> Self {
        fn list<T>(task: &Task, mode: Mode, members: Vec<T>, contributions: Vec<T>) -> Vec<(Id, T)> {
            let members = task.of(mode).zip(members);
            members.chain(task.contributions(mode).zip(contributions)).map(|(one, total)| (one.slot, total)).collect()
        }
        Totals {
            add: list(task, Mode::Add, members.0, contributions.0),
            xor: list(task, Mode::Xor, members.1, contributions.1),
            compose: list(task, Mode::Compose, members.2, contributions.2),
        }
    }
}

impl<B> Totals<B> {
    fn contributions(&self, task: &Task) -> Contributions<'_, B> {
        (
            all(find(&self.add, task, Mode::Add), Accumulator::accumulate),
            all(find(&self.xor, task, Mode::Xor), Accumulator::accumulate),
            all(find(&self.compose, task, Mode::Compose), Accumulator::accumulate),
        )
    }

    /// The contribution of a task that declares nothing else. Only one that adds, so that there are
    /// fewer kinds of spawns.
    fn only(&self, task: &Task) -> Option<Contribution<'_, Value, Add, B>> {
        let one = find(&self.add, task, Mode::Add).next()?;
        (task.uses.len() == 1).then(|| one.accumulate())
    }

    fn accs(&self) -> Accs<'_> {
        (
            all(&self.add, |(_, total)| total.acc()),
            all(&self.xor, |(_, total)| total.acc()),
            all(&self.compose, |(_, total)| total.acc()),
        )
    }
}

/// The accumulators for the contributions of one mode. A parent that declared a datum several times
/// has several, and its tasks use all of them.
fn find<'a, T>(totals: &'a [(Id, T)], task: &Task, mode: Mode) -> impl Iterator<Item = &'a T> {
    task.contributions(mode).enumerate().map(move |(nth, one)| {
        let id = one.slot;
        let same = || totals.iter().filter(|total| total.0 == id);
        let found = same().nth(nth % same().count().max(1));
        &found.expect("a clean program uses the rights that it has").1
    })
}
