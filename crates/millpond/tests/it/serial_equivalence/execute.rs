//! Runs a program on a runtime and records what it shows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use millpond::internals::SpawnOptions;
use millpond::{self as mp, Accesses, ArgsOf, CancelToken, DefaultEngine, Engine, Error, Handle, Root, Runtime, Spawn};

use super::accumulate;
use super::counted::{counted, helds_of_counted, leafs_of_counted};
use super::datum::first;
use super::external::{External, meet};
use super::leaf;
use super::loops;
use super::model::FAILED;
use super::program::{Body, Id, Op, Program, Task, Work, name_of};
use super::slots::{
    Form, Slots, few, helds_of_few, helds_of_maybe, helds_of_stencil, leafs_of_few, leafs_of_maybe, leafs_of_stencil,
    maybe, usual,
};
use super::value::{Live, Plain, Value, mix};
use crate::common::lock::Mutex;

/// What a body read, in one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hash {
    pub value: u64,
    /// It waited for something that was cancelled, and cannot be compared.
    pub tainted: bool,
}

impl Hash {
    pub fn take_in(&mut self, value: &Value, blind: bool) {
        self.tainted |= value.is_tainted();
        self.value = mix(self.value, if blind { 0 } else { value.plain().digest() });
    }

    pub fn with(self, id: Id) -> Hash {
        Hash { value: mix(self.value, id as u64), ..self }
    }
}

/// What one execution shows.
pub struct Run {
    pub ordered: bool,
    in_place: BTreeSet<Id>,
    cancels: bool,
    pub live: Live,
    tasks: Vec<Shown>,
    seen: Vec<OnceLock<Result<Hash, Error>>>,
    complaints: Mutex<Vec<String>>,
    root: OnceLock<CancelToken>,
}

/// What one task shows.
#[derive(Default)]
struct Shown {
    starts: AtomicU32,
    digest: AtomicU64,
    tainted: AtomicBool,
}

/// What an execution has shown, after its end.
pub struct Outcome {
    pub run: Run,
    pub scope: Result<Hash, Error>,
    pub roots: Vec<Result<Hash, Error>>,
}

impl Run {
    fn new(program: &Program) -> Self {
        Run {
            ordered: program.ordered,
            in_place: program.in_place.clone(),
            cancels: program.cancels(),
            live: Live::new(),
            tasks: (0..program.ids).map(|_| Shown::default()).collect(),
            seen: (0..program.ids).map(|_| OnceLock::new()).collect(),
            complaints: Mutex::new(Vec::new()),
            root: OnceLock::new(),
        }
    }

    /// Makes a handle in place if the program says so.
    fn made<B>(&self, id: Id, handle: Handle<Value, B>) -> Handle<Value, B> {
        if self.in_place.contains(&id) { handle.in_place() } else { handle }
    }

    /// A body starts. `seed` is its digest until the body sets another one.
    pub fn start(&self, id: Id, seed: Hash) {
        self.tasks[id].starts.fetch_add(1, Ordering::Relaxed);
        self.digest(id, seed);
    }

    pub fn digest(&self, id: Id, hash: Hash) {
        self.tasks[id].digest.store(hash.value, Ordering::Relaxed);
        self.tasks[id].tainted.store(hash.tainted, Ordering::Relaxed);
    }

    /// A loop starts. Its digest is a sum over the items.
    pub fn start_loop(&self, id: Id) {
        self.tasks[id].starts.fetch_add(1, Ordering::Relaxed);
    }

    pub fn add_to_digest(&self, id: Id, hash: Hash) {
        self.tasks[id].digest.fetch_add(hash.value, Ordering::Relaxed);
        self.tasks[id].tainted.fetch_or(hash.tainted, Ordering::Relaxed);
    }

    pub fn complain(&self, what: String) {
        self.complaints.lock().push(what);
    }

    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lock().clone()
    }

    pub fn starts(&self, id: Id) -> u32 {
        self.tasks[id].starts.load(Ordering::Relaxed)
    }

    pub fn hash(&self, id: Id) -> Hash {
        let shown = &self.tasks[id];
        let tainted = shown.tainted.load(Ordering::Relaxed);
        Hash { value: shown.digest.load(Ordering::Relaxed), tainted }
    }

    pub fn seen(&self, id: Id) -> Option<&Result<Hash, Error>> {
        self.seen[id].get()
    }

    pub fn cancel_root(&self) {
        self.root.get().expect("set before the first spawn").cancel();
    }

    pub fn was_cancelled(&self) -> bool {
        self.root.get().is_some_and(CancelToken::is_cancelled)
    }

    /// Records what a wait returned, and mixes it into `acc`.
    fn saw(&self, id: Id, acc: &mut Hash, result: Result<Hash, Error>) {
        match &result {
            Ok(hash) => {
                acc.value = mix(acc.value, hash.value);
                acc.tainted |= hash.tainted;
            }
            Err(_) => {
                acc.value = mix(acc.value, FAILED);
                acc.tainted |= self.cancels;
            }
        }
        if self.seen[id].set(result).is_err() {
            self.complain(format!("the wait {id} happened twice"));
        }
    }
}

/// The message of a panic that belongs to the program.
pub fn panic_message(id: Id) -> String {
    format!("expected from {id}")
}

pub fn expected_panic(id: Id) -> ! {
    panic!("{}", panic_message(id))
}

/// Runs a program on a runtime: in a session if `session` is set and the program fits one.
pub fn execute<E: Engine>(program: &Program, runtime: &Runtime<E>, session: bool) -> Outcome {
    if session && program.fits_a_session() { in_session(program, runtime) } else { in_scope(program, runtime) }
}

fn in_scope<E: Engine>(program: &Program, runtime: &Runtime<E>) -> Outcome {
    let run = Run::new(program);
    let mut slots = roots(program, &run);
    if program.ids.is_multiple_of(2) {
        used_before(program, &slots, runtime);
    }
    let scope = runtime.scope(|s| {
        run.root.get_or_init(|| s.cancel_token());
        let mut external = External::of(s.external());
        let hash = body(s, &run, &program.body, &mut slots, Hash::default(), &mut external);
        slots.keep(&program.roots);
        hash
    });
    Outcome { roots: last(program, slots), run, scope }
}

/// A session borrows for the rest of the process. So its tasks refer to leaked values, which are
/// freed after its end. After a panic they stay leaked.
fn in_session<E: Engine>(program: &Program, runtime: &Runtime<E>) -> Outcome {
    let leaked_run = NonNull::from(Box::leak(Box::new(Run::new(program))));
    let leaked_body = NonNull::from(Box::leak(Box::new(program.body.clone())));
    // SAFETY: leaked above and only shared. It is freed below: then the session has closed, and no
    // thread has this reference.
    let run: &'static Run = unsafe { leaked_run.as_ref() };
    // SAFETY: as above.
    let code: &'static Body = unsafe { leaked_body.as_ref() };
    let mut slots = roots(program, run);
    let session = runtime.session();
    run.root.get_or_init(|| session.cancel_token());
    let hash = body(&session, run, code, &mut slots, Hash::default(), &mut External::<DefaultEngine>::none());
    slots.keep(&program.roots);
    let scope = session.close().wait().map(|()| hash);
    let roots = last(program, slots);
    // SAFETY: leaked above. The session has closed, so its tasks are complete. Only their bodies
    // had the reference.
    drop(unsafe { Box::from_raw(leaked_body.as_ptr()) });
    // SAFETY: as above.
    let run = unsafe { Box::from_raw(leaked_run.as_ptr()) };
    Outcome { run: *run, scope, roots }
}

fn roots(program: &Program, run: &Run) -> Slots<Root> {
    let root = |&(id, set): &(Id, bool)| {
        let handle = if set { Handle::new(Value::new(first(id), false, &run.live)) } else { Handle::unset() };
        (id, run.made(id, handle))
    };
    let (mut handles, mut slots) = (program.roots.iter().map(root), Slots::new());
    if let Some((rows, cols)) = program.grid {
        slots.push_grid(rows, handles.by_ref().take(rows * cols).collect());
    }
    handles.for_each(|(id, handle)| slots.push(id, handle));
    slots
}

/// Uses the root handles that have a value in an earlier scope. The next one must not notice.
fn used_before<E: Engine>(program: &Program, slots: &Slots<Root>, runtime: &Runtime<E>) {
    let set = slots.full().filter(|(id, _)| program.roots.contains(&(*id, true)));
    let used = runtime.scope(|s| set.for_each(|(_, handle)| drop(s.spawn(handle.inout(), |_| ()))));
    used.expect("nothing fails there");
}

/// What the root handles hold at the end.
fn last(program: &Program, slots: Slots<Root>) -> Vec<Result<Hash, Error>> {
    let hash = |value: &Value| Hash { value: value.plain().digest(), tainted: value.is_tainted() };
    let last = |id: Id, handle: Handle<Value>| match id.is_multiple_of(2) {
        true => handle.get().map(|value| hash(&value)),
        false => handle.into_inner().map(|value| hash(&value)),
    };
    let mut all: BTreeMap<_, _> = slots.into_full().map(|(id, handle)| (id, last(id, handle))).collect();
    program.roots.iter().map(|(id, _)| all.remove(id).expect("roots stay")).collect()
}

/// What a kept join will return.
enum Kept<'s, S: Spawn<'s>> {
    Value(S::Join<Hash>),
    Nothing(S::Join<()>),
}

pub fn body<'s, S: Spawn<'s>, E: Engine>(
    s: &S,
    run: &'s Run,
    body: &'s Body,
    slots: &mut Slots<S::Brand>,
    seed: Hash,
    external: &mut External<'s, E>,
) -> Hash {
    let mut acc = seed;
    let mut joins: Vec<(Id, Kept<'s, S>)> = Vec::new();
    for op in &body.0 {
        match op {
            Op::Spawn(task) => {
                let join = spawn(s, run, task, slots, acc.with(task.id), external);
                if task.keep {
                    joins.push((task.id, join));
                }
            }
            Op::Own { slot, set: true } => {
                let value = Value::new(first(*slot), false, &run.live);
                slots.push(*slot, run.made(*slot, s.handle(value)));
            }
            Op::Own { slot, set: false } => slots.push(*slot, run.made(*slot, s.unset())),
            Op::Grid { slots: ids, rows, set } => {
                let value = |id| Value::new(first(id), false, &run.live);
                let handle = |id| if *set { s.handle(value(id)) } else { s.unset() };
                slots.push_grid(*rows, ids.iter().map(|&id| (id, run.made(id, handle(id)))).collect());
            }
            Op::Drop { slot } => slots.drop(*slot),
            Op::Set { id, slot } => {
                let value = Value::new(Plain::fresh(acc.with(*id).value), acc.tainted, &run.live);
                // A cancelled scope would not run the leaf.
                let forms: &[Form] = match (run.cancels, external.portable) {
                    (true, true) => &[Form::Tries],
                    (false, true) => &[Form::Tries, Form::Leaf],
                    (true, false) => &[Form::Tries, Form::Waits],
                    (false, false) => &[Form::Tries, Form::Waits, Form::Leaf],
                };
                slots.set(*slot, s, value, forms[*id % forms.len()]);
            }
            Op::WaitOn { id, slot, assign, blind } => {
                wait_on(s, run, (slots, *slot), &mut acc, (*id, *assign, *blind));
            }
            Op::Join { id, task } => {
                let result = match take_join(&mut joins, *task) {
                    Kept::Value(join) => s.wait(join),
                    Kept::Nothing(join) => s.wait(join).map(|()| Hash::default()),
                };
                run.saw(*id, &mut acc, result);
            }
            Op::WaitAll { id, tasks } => {
                let all = tasks.iter().map(|task| take_join(&mut joins, *task)).collect();
                run.saw(*id, &mut acc, wait_all(s, all));
            }
            Op::Pending { id, nest } => external.pending(run, *id, nest.as_ref()),
            Op::Meet { pending, satisfy } => {
                meet(vec![external.hold(*pending, *satisfy)]);
            }
            Op::Seal { pending } => external.seal(*pending),
            Op::Cancel => s.cancel_token().cancel(),
            Op::Panic { id } => expected_panic(*id),
        }
    }
    acc
}

/// Runs the body of a parent.
pub fn run_parent<'s, S: Spawn<'s>, E: Engine>(
    s: &S,
    run: &'s Run,
    (task, inner): (&Task, &'s Body),
    mut slots: Slots<S::Brand>,
    seed: Hash,
    portable: bool,
) -> Hash {
    run.start(task.id, seed);
    let hash = body(s, run, inner, &mut slots, seed, &mut External::<E>::none_in(portable));
    run.digest(task.id, hash);
    hash
}

fn take_join<'s, S: Spawn<'s>>(joins: &mut Vec<(Id, Kept<'s, S>)>, task: Id) -> Kept<'s, S> {
    let at = joins.iter().position(|join| join.0 == task).expect("kept");
    joins.swap_remove(at).1
}

/// Waits for several tasks. All return a value, or none does.
fn wait_all<'s, S: Spawn<'s>>(s: &S, all: Vec<Kept<'s, S>>) -> Result<Hash, Error> {
    let (mut values, mut others) = (Vec::new(), Vec::new());
    for one in all {
        match one {
            Kept::Value(join) => values.push(join),
            Kept::Nothing(join) => others.push(join),
        }
    }
    let values = if others.is_empty() {
        s.wait_all(values)?
    } else {
        s.wait_all(others)?.into_iter().map(|()| Hash::default()).collect()
    };
    let add = |all: Hash, one: &Hash| Hash { value: mix(all.value, one.value), tainted: all.tainted | one.tainted };
    Ok(values.iter().fold(Hash::default(), add))
}

fn wait_on<'s, S: Spawn<'s>>(
    s: &S,
    run: &Run,
    (slots, slot): (&mut Slots<S::Brand>, Id),
    acc: &mut Hash,
    (id, assign, blind): (Id, bool, bool),
) {
    let before = *acc;
    let look = |value: &Value| {
        let digest = if blind { 0 } else { value.plain().digest() };
        Hash { value: digest, tainted: value.is_tainted() }
    };
    let change = |value: &mut Value, seen: &Hash| {
        if assign {
            let after = Hash { value: mix(before.value, seen.value), ..before };
            leaf::update(value, after.with(id).value, blind, before.tainted | seen.tainted);
        }
    };
    let result = slots.wait_on(slot, s, look, change);
    run.saw(id, acc, result);
}

/// Spawns tasks without a name, portable ones or others.
struct Unnamed<'a, S> {
    scope: &'a S,
    portable: bool,
}

impl<S> Unnamed<'_, S> {
    #[track_caller]
    fn options(&self) -> SpawnOptions {
        let place = Location::caller();
        if self.portable { SpawnOptions::portable(place) } else { SpawnOptions::at(place) }
    }

    #[track_caller]
    fn spawn<'s, A, F, O>(&self, accesses: A, body: F) -> S::Join<O>
    where
        S: Spawn<'s>,
        A: Accesses<'s, S::Brand>,
        O: Send + 's,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> O + Send + 's,
    {
        self.scope.spawn_with(self.options(), accesses, body)
    }

    #[track_caller]
    fn nest<'s, A, F, O>(&self, accesses: A, body: F) -> S::Join<O>
    where
        S: Spawn<'s>,
        A: Accesses<'s, S::Brand>,
        O: Send + 's,
        F: for<'t> FnOnce(&S::Inner<'t>, <A as ArgsOf<'t>>::Held) -> O + Send + 's,
    {
        self.scope.nest_with(self.options(), accesses, body)
    }
}

/// A task with its name and its options.
pub fn named<'a, 's, S: Spawn<'s>>(s: &'a S, task: &Task, portable: bool) -> mp::Task<'a, S> {
    let named = match name_of(task.id) {
        Cow::Borrowed(name) => s.task(name),
        Cow::Owned(name) => s.task(name),
    };
    let named = named.index([task.id]).priority(task.priority).bytes(task.bytes);
    if portable { named.portable() } else { named }
}

fn spawn<'s, S: Spawn<'s>, E: Engine>(
    s: &S,
    run: &'s Run,
    task: &'s Task,
    slots: &Slots<S::Brand>,
    seed: Hash,
    external: &External<'s, E>,
) -> Kept<'s, S> {
    let portable = external.portable || !task.id.is_multiple_of(3) && task.may_be_portable();
    if let Work::Loop(one) = &task.work {
        return Kept::Nothing(loops::spawn(s, run, (task, one), slots, seed, portable));
    }
    if task.accumulates() {
        return Kept::Nothing(accumulate::spawn(s, run, task, slots, seed, external, portable));
    }
    let accesses = slots.accesses(task);
    let holds = external.holds(task);
    // As a macro: each use makes closures of its own, with a name or not, with a value or not.
    macro_rules! spawn {
        ($with:expr, $finish:expr) => {
            spawn!($with, accesses, std::convert::identity, std::convert::identity, $finish)
        };
        ($with:expr, $accesses:expr, $leafs:path, $helds:path, $finish:expr) => {
            match &task.work {
                Work::Leaf(leaf) => $with.spawn($accesses, move |args| {
                    let hash = leaf::run(run, task, leaf, $leafs(args), seed);
                    meet(holds);
                    $finish(hash)
                }),
                Work::Loop(_) => unreachable!("spawned above"),
                Work::Nest(inner) => $with.nest($accesses, move |s, helds| {
                    let slots = Slots::held(task, $helds(helds));
                    let hash = run_parent::<_, E>(s, run, (task, inner), slots, seed, portable);
                    meet(holds);
                    $finish(hash)
                }),
            }
        };
    }
    let named = || named(s, task, portable);
    let stencil = slots.stencil(task);
    let s = &Unnamed { scope: s, portable };
    match (task.named, task.returns) {
        (true, true) => Kept::Value(match stencil {
            Some(accesses) => spawn!(named(), accesses, leafs_of_stencil, helds_of_stencil, |hash: Hash| hash),
            None => spawn!(named(), |hash: Hash| hash),
        }),
        (true, false) => Kept::Nothing(match counted(accesses) {
            Ok(accesses) => spawn!(named(), accesses, leafs_of_counted, helds_of_counted, |_: Hash| ()),
            Err(accesses) => match maybe(*accesses) {
                Ok(accesses) => spawn!(named(), accesses, leafs_of_maybe, helds_of_maybe, |_: Hash| ()),
                Err(accesses) => {
                    spawn!(named(), *accesses, std::convert::identity, std::convert::identity, |_: Hash| ())
                }
            },
        }),
        (false, true) => Kept::Value(spawn!(s, |hash: Hash| hash)),
        (false, false) => {
            macro_rules! bare {
                ($($r:literal $w:literal $i:literal),*) => {
                    match usual(&accesses) {
                        $(Some(($r, $w, $i)) => {
                            let accesses = few::<_, $r, $w, $i>(accesses);
                            spawn!(s, accesses, leafs_of_few, helds_of_few, |_: Hash| ())
                        })*
                        _ => match counted(accesses) {
                            Ok(accesses) => spawn!(s, accesses, leafs_of_counted, helds_of_counted, |_: Hash| ()),
                            Err(accesses) => {
                                spawn!(s, *accesses, std::convert::identity, std::convert::identity, |_: Hash| ())
                            }
                        },
                    }
                };
            }
            Kept::Nothing(bare!(0 0 0, 1 0 0, 0 1 0, 0 0 1, 1 0 1, 2 1 0))
        }
    }
}
