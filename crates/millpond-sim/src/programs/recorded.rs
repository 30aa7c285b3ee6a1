//! A recording as a program.
//!
//! A body is cut at each of its waits. The part before the first wait is the body. Each later part
//! is a child, which waits for the previous part and for whatever the body awaited. Tasks spawned
//! by a later part come after it. Later parts do not count as tasks. Thieves can take tasks spawned
//! by the first part from their spawn on.

use millpond::depend::Mode::{self, Inout, Read, Write};
use millpond_trace::{ReadError, Recording, Step};

use crate::program::{Children, Costs, Program, Size, Work};

/// A recorded program, to be simulated on any number of processors.
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
/// use millpond_sim::{Config, Costs, Program, programs::Recorded, simulate};
/// use millpond_trace::Profile;
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let x = Handle::new(0_u64);
/// let (result, recording) = rt.record(|| rt.scope(|s| (0..9).for_each(|_| drop(s.spawn(x.inout(), |x| *x += 1)))));
/// result?;
/// let recorded = Recorded::new(&recording, Costs::NONE)?;
/// let outcome = simulate(&recorded, &Config::of(4))?;
/// assert_eq!(outcome.tasks, 9);
/// assert!(outcome.seconds >= outcome.work_seconds / 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recorded {
    nodes: Vec<Node>,
    /// The node that contains all others.
    around: u32,
    span: Work,
}

/// A body up to its first wait, or a part of one.
#[derive(Clone, Debug, Default)]
struct Node {
    is_task: bool,
    body: Work,
    size: Size,
    children: Vec<Child>,
}

#[derive(Clone, Debug)]
struct Child {
    node: u32,
    /// Its accesses to data of its parent.
    accesses: Vec<(u64, Mode)>,
    /// The parent's work before its creation.
    created: Work,
}

/// At the end of a body, whatever its work.
const END: Work = Work::MAX;

/// Numbers of additional data: the result of a part, and an awaited task.
const PART: u64 = 1 << 62;
const AWAITED: u64 = 1 << 63;

impl Recorded {
    /// Adds the cost of its creation to each task.
    ///
    /// # Errors
    ///
    /// If the recording is inconsistent.
    pub fn new(recording: &Recording, costs: Costs) -> Result<Self, ReadError> {
        let tree = recording.tree()?;
        let around = tree.bodies.len();
        let mut nodes = vec![Node::default(); around + 1];
        for (ix, body) in tree.bodies.iter().enumerate() {
            let cost = if body.is_task { costs.of(body.accesses.len() as u64) } else { 0 };
            (nodes[ix].is_task, nodes[ix].body) = (body.is_task, cost);
            let mut cutter = Cutter { nodes: &mut nodes, whole: ix, part: None };
            for step in &body.steps {
                cutter.step(*step, |child| tree.bodies[child as usize].accesses.clone());
            }
        }
        // The root scopes run one after the other.
        let root = |&node| Child { node, accesses: vec![(0, Inout)], created: END };
        nodes[around].children = tree.roots.iter().map(root).collect();
        measure(&mut nodes, around);
        let span = (recording.report()?.span * 1e9).round() as Work;
        Ok(Recorded { nodes, around: around as u32, span })
    }
}

/// Cuts a body into its parts.
struct Cutter<'a> {
    nodes: &'a mut Vec<Node>,
    whole: usize,
    /// The current part and its number, after the first part.
    part: Option<(usize, u64)>,
}

impl Cutter<'_> {
    fn step(&mut self, step: Step, accesses: impl Fn(u32) -> Vec<(u64, Mode)>) {
        match step {
            Step::Work(work) => {
                let node = self.part.map_or(self.whole, |(node, _)| node);
                self.nodes[node].body = self.nodes[node].body.saturating_add(work);
            }
            Step::Spawn(task) => self.spawn(task, accesses(task)),
            Step::Open(scope) => {
                self.spawn(scope, Vec::new());
                self.await_it((AWAITED | u64::from(scope), Read));
            }
            Step::Await(task) => self.await_it((AWAITED | u64::from(task), Read)),
            Step::AwaitDatum(datum, mode) => self.await_it((datum, mode)),
        }
    }

    /// A task spawned by a later part comes after that part.
    fn spawn(&mut self, node: u32, mut accesses: Vec<(u64, Mode)>) {
        accesses.push((AWAITED | u64::from(node), Write));
        accesses.extend(self.part.map(|(_, number)| (PART | number, Read)));
        let whole = &mut self.nodes[self.whole];
        let created = if self.part.is_none() { whole.body } else { END };
        whole.children.push(Child { node, accesses, created });
    }

    /// Ends a part. The next one waits.
    fn await_it(&mut self, awaited: (u64, Mode)) {
        let number = self.part.map_or(0, |(_, number)| number);
        let mut accesses = vec![awaited, (PART | (number + 1), Write)];
        accesses.extend(self.part.map(|_| (PART | number, Read)));
        let node = self.nodes.len();
        self.nodes.push(Node::default());
        self.nodes[self.whole].children.push(Child { node: node as u32, accesses, created: END });
        self.part = Some((node, number + 1));
    }
}

/// Computes the sizes of all nodes, children first. It is a tree: each body is spawned once.
fn measure(nodes: &mut [Node], root: usize) {
    let (mut order, mut next) = (vec![root], 0);
    while next < order.len() {
        let node = order[next];
        order.extend(nodes[node].children.iter().map(|child| child.node as usize));
        next += 1;
    }
    for &node in order.iter().rev() {
        let below: Size = nodes[node].children.iter().map(|child| nodes[child.node as usize].size).sum();
        let Node { is_task, body, size, .. } = &mut nodes[node];
        *size = Size { work: *body, tasks: u64::from(*is_task) };
        *size += below;
    }
}

impl Program for Recorded {
    type Task = u32;

    fn root(&self) -> u32 {
        self.around
    }

    fn size(&self, &node: &u32) -> Size {
        self.nodes[node as usize].size
    }

    fn body(&self, &node: &u32) -> Work {
        self.nodes[node as usize].body
    }

    fn children(&self, &node: &u32, children: &mut Children<u32>) {
        for child in &self.nodes[node as usize].children {
            children.at(child.created);
            children.spawn(child.node, child.accesses.iter().copied());
        }
    }

    fn span(&self) -> Option<Work> {
        Some(self.span)
    }
}
