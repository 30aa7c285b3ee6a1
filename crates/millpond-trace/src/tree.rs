//! A recording as a tree, for simulations: the own time of each body, its spawns and its waits.

use millpond::depend::Mode;
use millpond::record::Cause;

use crate::format::{ReadError, Recording};
use crate::model::{Does, Ix, Kind, On, Run};

/// The bodies of a recording. Each body, except the roots, is spawned or opened by one other body.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The bodies. Those unreachable from the roots have no steps.
    pub bodies: Vec<TreeBody>,
    /// The root scopes without an opening body, in the order of time.
    pub roots: Vec<u32>,
}

/// A body of a [`Tree`].
#[derive(Clone, Debug, Default)]
pub struct TreeBody {
    /// Whether it is a task, not the closure of a root scope.
    pub is_task: bool,
    /// Its declared accesses.
    pub accesses: Vec<(u64, Mode)>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

/// A step of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Computes for this many nanoseconds.
    Work(u64),
    /// Spawns a task.
    Spawn(u32),
    /// Opens a root scope, and continues when it is complete.
    Open(u32),
    /// Continues when a task is complete.
    Await(u32),
    /// Continues when the earlier accesses to a datum allow an access of this mode.
    AwaitDatum(u64, Mode),
}

impl Recording {
    /// The recording as a tree.
    ///
    /// ```
    /// use millpond::{Runtime, Spawn};
    /// use millpond_trace::{Profile, Step};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let (result, recording) = rt.record(|| {
    ///     rt.scope(|s| {
    ///         s.nest((), |s, ()| (0..3).for_each(|_| drop(s.spawn((), |()| ()))));
    ///     })
    /// });
    /// result?;
    /// let tree = recording.tree()?;
    /// let spawns = |body: u32| tree.bodies[body as usize].steps.iter().filter_map(|step| match step {
    ///     Step::Spawn(child) => Some(*child),
    ///     _ => None,
    /// });
    /// let parent = spawns(tree.roots[0]).next().unwrap();
    /// assert_eq!(spawns(parent).count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the recording is inconsistent.
    pub fn tree(&self) -> Result<Tree, ReadError> {
        let run = Run::of(self)?;
        let mut maker = Maker { run: &run, placed: vec![false; run.bodies.len()] };
        let mut bodies: Vec<_> = (0..run.bodies.len() as Ix).map(|ix| maker.body(ix)).collect();
        // Tasks spawned by users of a session, not in the body of their scope.
        for (ix, task) in run.tasks() {
            if let Some(spawner) = task.spawner.filter(|_| !maker.placed[ix as usize]) {
                bodies[spawner as usize].steps.push(Step::Spawn(ix));
            }
        }
        let mut roots: Vec<_> =
            run.known().filter(|(_, body)| body.kind == Kind::Scope && body.spawner.is_none()).collect();
        roots.sort_by_key(|(_, body)| body.started);
        Ok(Tree { bodies, roots: roots.into_iter().map(|(ix, _)| ix).collect() })
    }
}

struct Maker<'a> {
    run: &'a Run,
    /// Whether a step spawned or opened each body.
    placed: Vec<bool>,
}

impl Maker<'_> {
    fn body(&mut self, ix: Ix) -> TreeBody {
        let run = self.run;
        let body = run.body(ix);
        let (mut steps, mut done) = (Vec::new(), 0);
        let mut work = |steps: &mut Vec<Step>, until: u64| {
            let nanos = (run.seconds(until.saturating_sub(done)) * 1e9).round() as u64;
            done = done.max(until);
            if nanos > 0 {
                steps.push(Step::Work(nanos));
            }
        };
        for op in run.ops_of(ix) {
            if let Some(step) = self.step(ix, op.what) {
                work(&mut steps, op.own);
                steps.push(step);
            }
        }
        work(&mut steps, body.own);
        let accesses = run.accesses_of(ix).iter().map(|access| (access.datum, access.mode)).collect();
        TreeBody { is_task: body.known && body.kind != Kind::Scope, accesses, steps }
    }

    fn step(&mut self, ix: Ix, what: Does) -> Option<Step> {
        let run = self.run;
        let is_scope = |body: Ix| run.body(body).kind == Kind::Scope;
        match what {
            Does::Spawn(task) => self.place(ix, task).then_some(Step::Spawn(task)),
            Does::Open(scope) => self.place(ix, scope).then_some(Step::Open(scope)),
            Does::Join(task) => Some(Step::Await(task)),
            Does::Wait(number) => {
                let wait = &run.waits[number as usize];
                match wait.on {
                    On::Body(scope) if is_scope(scope) => self.place(ix, scope).then_some(Step::Open(scope)),
                    On::Body(task) => Some(Step::Await(task)),
                    On::Datum(datum) if wait.cause == Cause::Written => Some(Step::AwaitDatum(datum, Mode::Read)),
                    On::Datum(datum) => Some(Step::AwaitDatum(datum, Mode::Inout)),
                    On::Nothing => None,
                }
            }
            Does::Set(..) | Does::Meet(_) => None,
        }
    }

    /// Records that a body is a child of its spawner, at most once.
    fn place(&mut self, by: Ix, child: Ix) -> bool {
        let body = self.run.body(child);
        body.known && body.spawner == Some(by) && !std::mem::replace(&mut self.placed[child as usize], true)
    }
}
