//! The graph for Graphviz: tasks, and the generations of versions of data, which order them.
//!
//! A generation is a small node between its members and their successors: "a series of successively
//! spawned tasks that apply the same annotation to the object" ([TG](crate#sources) §3.2). Its text
//! names it: `d3 v1 g2 inout` is the third generation of the second version of datum `d3`. So n
//! accesses waiting for m take m + n edges, not m · n (the hypergraph of TG §4.2). Each version
//! begins a new series: no edge leads to a `write` (TG §3.3).
//!
//! A box has a body and what it spawns. A parent is complete when its whole box is, so its
//! successors wait for the point at the box's end.

use std::collections::{BTreeSet, HashMap};
use std::fmt::{Display, Formatter};
use std::io::{self, BufWriter, Write};

use millpond::depend::Mode;
use millpond::record::Role;

use crate::format::{ReadError, Recording};
use crate::graph::{Gen, Graph};
use crate::model::{Does, Ix, Kind, On, Run};

use super::names::{self, Data};
use super::svg::{GREY, PALETTE, shortened};

/// The maximum number of tasks in [`write_dot`](Recording::write_dot). For more, Graphviz takes
/// minutes, and the picture is unreadable.
pub const MAX_TASKS: usize = 500;
/// The maximum length of a label, without its folders. A longer one makes the node too wide.
const MAX_LETTERS: usize = 28;

/// Why a graph was not written.
#[derive(Debug, thiserror::Error)]
pub enum DotError {
    /// It has too many tasks to draw.
    #[error("the graph has {tasks} tasks, {limit} can be drawn: record a smaller instance")]
    TooLarge {
        /// The number of its tasks.
        tasks: usize,
        /// The maximum.
        limit: usize,
    },
    /// The output failed.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
    /// An event of the recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Recording {
    /// Writes the graph for Graphviz (`dot -Tsvg`).
    ///
    /// - A task is a node, with its label and indices.
    /// - A generation of a version of a datum is a small node, between its tasks and the waiting
    ///   ones.
    /// - A box contains the tasks spawned by a scope or parent.
    ///
    /// Data are numbered by their first use.
    ///
    /// ```
    /// use millpond::{Handle, Runtime, Spawn};
    /// use millpond_trace::Profile;
    ///
    /// let (rt, x) = (Runtime::builder().workers(2).build()?, Handle::new(0));
    /// let (result, recording) = rt.record(|| {
    ///     rt.scope(|s| {
    ///         s.task("set").spawn(x.write(), |x| x.set(1));
    ///         (0..3).for_each(|_| drop(s.task("get").spawn(x.read(), |x| assert_eq!(*x, 1))));
    ///     })
    /// });
    /// result?;
    /// let mut file = Vec::new();
    /// recording.write_dot(&mut file)?;
    /// assert!(String::from_utf8(file)?.contains("d0 v1 g0 write"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are more than 500 tasks, an event cannot be read, or `out` fails.
    pub fn write_dot(&self, out: &mut impl Write) -> Result<(), DotError> {
        let run = Run::of(self)?;
        // Scopes are nested boxes, so they count, too.
        let tasks = run.tasks().count();
        let tasks = tasks.max(run.known().count() - tasks);
        if tasks > MAX_TASKS {
            return Err(DotError::TooLarge { tasks, limit: MAX_TASKS });
        }
        let graph = Graph::of(&run);
        let mut dot = Dot::of(&run, &graph, BufWriter::new(out));
        dot.head()?;
        for root in dot.roots() {
            dot.body(root, 1)?;
        }
        dot.edges()?;
        dot.waits()?;
        writeln!(dot.out, "}}")?;
        Ok(dot.out.flush()?)
    }
}

struct Dot<'a, W: Write> {
    out: W,
    run: &'a Run,
    graph: &'a Graph,
    data: Data,
    /// The scopes that bodies opened.
    opened: HashMap<Ix, Vec<Ix>>,
    /// The generations of each scope's data, as far as not drawn yet.
    generations: HashMap<Ix, Vec<Gen>>,
    colours: HashMap<u32, &'static str>,
}

impl<'a, W: Write> Dot<'a, W> {
    fn of(run: &'a Run, graph: &'a Graph, out: W) -> Self {
        let mut opened: HashMap<_, Vec<_>> = HashMap::new();
        let mut colours: HashMap<u32, &'static str> = HashMap::new();
        for (ix, body) in run.known() {
            if let (Kind::Scope, Some(opener)) = (body.kind, body.spawner) {
                opened.entry(opener).or_default().push(ix);
            }
            if body.kind != Kind::Scope {
                let next = PALETTE.get(colours.len()).copied().unwrap_or(GREY);
                colours.entry(body.label).or_insert(next);
            }
        }
        let mut generations: HashMap<_, Vec<_>> = HashMap::new();
        for (number, generation) in graph.generations.iter().enumerate() {
            generations.entry(generation.scope).or_default().push(number as Gen);
        }
        Dot { out, run, graph, data: Data::of(run), opened, generations, colours }
    }

    fn head(&mut self) -> io::Result<()> {
        writeln!(self.out, "digraph millpond {{")?;
        writeln!(self.out, "  graph [newrank=true, fontname=\"Helvetica\", fontsize=11, nodesep=0.2, ranksep=0.3]")?;
        writeln!(self.out, "  node [fontname=\"Helvetica\", fontsize=11, style=filled, fillcolor=white, shape=box]")?;
        writeln!(self.out, "  edge [arrowsize=0.6, color=\"#444444\", fontname=\"Helvetica\", fontsize=9]")
    }

    /// The bodies without a spawn or opening in the recording.
    fn roots(&self) -> Vec<Ix> {
        let is_root = |spawner: Option<Ix>| spawner.is_none_or(|spawner| !self.run.body(spawner).known);
        self.run.known().filter(|(_, body)| is_root(body.spawner)).map(|(ix, _)| ix).collect()
    }

    /// Draws a body as a node. If it can spawn, the node is in a box with the spawned bodies.
    fn body(&mut self, ix: Ix, depth: usize) -> io::Result<()> {
        if !self.is_box(ix) {
            let parent = self.run.body(ix).kind == Kind::Task(Role::Parent);
            return self.node(ix, depth, if parent { "shape=house" } else { "style=\"filled,rounded\"" });
        }
        let indent = "  ".repeat(depth);
        writeln!(self.out, "{indent}subgraph cluster_{ix} {{")?;
        writeln!(self.out, "{indent}  style=\"rounded,filled\"; color=\"#999999\"; fillcolor=\"{}\"", shade(depth))?;
        self.node(ix, depth + 1, "shape=house")?;
        for child in self.inside(ix) {
            self.body(child, depth + 1)?;
            writeln!(self.out, "{indent}  b{ix} -> b{child} [style=invis]")?;
            if self.has_end(ix) {
                // Keeps the end at the bottom.
                writeln!(self.out, "{indent}  {} -> e{ix} [style=invis]", self.end(child))?;
            }
        }
        for generation in self.generations.remove(&ix).unwrap_or_default() {
            self.generation(generation, depth + 1)?;
        }
        if self.has_end(ix) {
            writeln!(self.out, "{indent}  e{ix} [shape=point, width=0.08, label=\"\"]")?;
        }
        writeln!(self.out, "{indent}}}")
    }

    fn node(&mut self, ix: Ix, depth: usize, style: &str) -> io::Result<()> {
        let (run, indent) = (self.run, "  ".repeat(depth));
        let body = run.body(ix);
        let what = match body.kind {
            Kind::Task(Role::Leaf | Role::Parent) => String::new(),
            other => format!("{} ", names::kind(other)),
        };
        let label = format!("{what}{}", shortened(&run.title(ix), MAX_LETTERS));
        let colour = self.colours.get(&body.label).filter(|_| body.kind != Kind::Scope).unwrap_or(&"#ffffff");
        writeln!(self.out, "{indent}b{ix} [label=\"{}\", fillcolor=\"{colour}\", {style}]", Escaped(&label))
    }

    fn is_box(&self, ix: Ix) -> bool {
        self.run.body(ix).kind == Kind::Scope || !self.inside(ix).is_empty()
    }

    /// The bodies spawned or opened by a body.
    fn inside(&self, ix: Ix) -> Vec<Ix> {
        let opened = self.opened.get(&ix).into_iter().flatten();
        self.graph.children[ix as usize].iter().chain(opened).copied().collect()
    }

    /// Whether a body completes after its end. Nothing in a graph waits for a scope.
    fn has_end(&self, ix: Ix) -> bool {
        self.is_box(ix) && self.run.body(ix).kind != Kind::Scope
    }

    /// The node at which a body is complete.
    fn end(&self, ix: Ix) -> String {
        if self.has_end(ix) { format!("e{ix}") } else { format!("b{ix}") }
    }

    /// Draws edges from the members of each generation to it, and on to their successors.
    fn edges(&mut self) -> io::Result<()> {
        let graph = self.graph;
        for (number, generation) in graph.generations.iter().enumerate() {
            // A task may have several accesses in one generation.
            let members: BTreeSet<_> = generation.members.iter().copied().collect();
            for &member in &members {
                writeln!(self.out, "  {} -> g{number} [arrowhead=none]", self.end(member))?;
            }
            let Some(before) = generation.after else { continue };
            members.iter().try_for_each(|member| writeln!(self.out, "  g{before} -> b{member}"))?;
        }
        Ok(())
    }

    fn generation(&mut self, number: Gen, depth: usize) -> io::Result<()> {
        let (generation, indent) = (&self.graph.generations[number as usize], "  ".repeat(depth));
        let (datum, mode) = (self.data.name(generation.datum), generation.mode);
        let text = format!("{datum} v{} g{} {mode}", generation.version, self.place(number));
        let style = style(generation.mode);
        writeln!(
            self.out,
            "{indent}g{number} [label=\"{text}\", {style}, fontsize=8, height=0.2, width=0.3, margin=\"0.04,0.02\", \
             color=\"#777777\", fillcolor=\"#fffff0\"]"
        )
    }

    /// The number of generations of its version before it.
    fn place(&self, number: Gen) -> usize {
        let after = |&number: &Gen| self.graph.generations[number as usize].after;
        std::iter::successors(Some(number), after).count() - 1
    }

    /// Draws the waits of bodies.
    fn waits(&mut self) -> io::Result<()> {
        let run = self.run;
        let style = "style=dashed, constraint=false, color=\"#c0392b\", fontcolor=\"#c0392b\"";
        let mut seen = BTreeSet::new();
        for op in &run.ops {
            let (from, what) = match op.what {
                Does::Wait(number) => match (run.waits[number as usize].on, self.graph.of_wait[number as usize]) {
                    (On::Body(on), _) => (self.end(on), "waits"),
                    (_, Some(before)) => (format!("g{before}"), "wait_on"),
                    _ => continue,
                },
                Does::Join(task) => (self.end(task), "joins"),
                Does::Meet(task) => {
                    writeln!(self.out, "  b{} -> b{task} [label=\"meets\", {style}]", op.body)?;
                    continue;
                }
                _ => continue,
            };
            if seen.insert((from.clone(), op.body)) {
                writeln!(self.out, "  {from} -> b{} [label=\"{what}\", {style}]", op.body)?;
            }
        }
        Ok(())
    }
}

/// The fill colour of a box, so that nested boxes differ.
fn shade(depth: usize) -> &'static str {
    ["#f4f6f8", "#e9edf1", "#dfe5ea"][(depth - 1) % 3]
}

/// The style of a generation, by its mode.
fn style(mode: Mode) -> &'static str {
    match mode {
        Mode::Read => "shape=ellipse, style=filled",
        Mode::Concurrent => "shape=ellipse, style=\"filled,dashed\"",
        Mode::Write => "shape=box, style=\"filled,bold\"",
        Mode::Inout => "shape=box, style=filled",
        Mode::Commutative => "shape=hexagon, style=filled",
        Mode::Reduce => "shape=invtrapezium, style=filled",
    }
}

/// A text for use within quotes.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                other if other.is_control() => f.write_str("\u{fffd}")?,
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}
