//! Task graphs in the text format of the Standard Task Graph Set (T. Tobita, H. Kasahara, *A
//! standard task graph set for fair evaluation of multiprocessor scheduling algorithms*, Journal of
//! Scheduling, 2002).
//!
//! ```text
//!  3                  three tasks, without the two dummies
//!  0   0   0          number, processing time, number of predecessors
//!  1   4   1   0      and their numbers
//!  2   5   1   0
//!  3   2   2   1   2
//!  4   0   1   3      the exit dummy
//! # Optimal Schedule Length on 2 processors : 7
//! ```
//!
//! Lines that begin with `#` are comments. The last comment above is this simulator's: the
//! published files have no optimum. In the prototype format the first line has a number of
//! processors, too, and there is no entry dummy.

use std::collections::BTreeSet;
use std::path::Path;

use millpond::depend::Mode::{Read, Write};

use crate::input::{InputError, text_of, wrong};
use crate::program::{Children, Costs, Program, Size, Work};

/// The maximum number of tasks. All are children of one task, and are in memory.
const MAX_TASKS: u64 = 1_000_000;

/// A task graph as a program. The root creates all tasks, which then wait for their predecessors.
///
/// ```
/// use std::path::Path;
///
/// use millpond_sim::{Config, Costs, Program, programs::TaskGraph, simulate};
///
/// let text = "2\n0 0 0\n1 4 1 0\n2 5 1 0\n3 0 2 1 2\n# Optimal Schedule Length on 2 processors : 5";
/// let second = 1_000_000_000;
/// let graph = TaskGraph::parse(Path::new("two.stg"), text, second, Costs::NONE)?;
/// assert_eq!((graph.span(), graph.optimum(2).unwrap().length), (Some(5 * second), 5));
/// let outcome = simulate(&graph, &Config::of(2))?;
/// assert!(outcome.seconds >= 5.0 && outcome.seconds < 5.001);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TaskGraph {
    /// In reference order: each task is behind its predecessors.
    nodes: Vec<Node>,
    body: Work,
    size: Size,
    span: Work,
    processors: Option<usize>,
    optima: Vec<Optimum>,
}

#[derive(Clone, Debug)]
struct Node {
    /// The number in the file.
    number: u64,
    work: Work,
    predecessors: Vec<u64>,
    /// The work of the root before its creation.
    created: Work,
}

/// A known optimal schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimum {
    /// The number of processors, of equal speed.
    pub processors: usize,
    /// The shortest possible time, in the file's units.
    pub length: u64,
}

/// The root, or a task by its position in reference order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Creates all tasks.
    All,
    /// A task of the graph.
    One(u32),
}

impl TaskGraph {
    /// Reads a file. A unit of processing time takes `unit` nanoseconds.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or as [`TaskGraph::parse`].
    pub fn read(file: &Path, unit: Work, costs: Costs) -> Result<Self, InputError> {
        Self::parse(file, &text_of(file)?, unit, costs)
    }

    /// Reads a text. Errors name `file`.
    ///
    /// # Errors
    ///
    /// - A number is missing, is none, or is out of range.
    /// - A task is missing or comes twice, or the number of its predecessors is wrong.
    /// - Tasks wait for each other.
    pub fn parse(file: &Path, text: &str, unit: Work, costs: Costs) -> Result<Self, InputError> {
        let mut reader = Reader::default();
        for (line, text) in (1..).zip(text.lines()) {
            reader.read(line, text).map_err(|says| wrong(file, line, says))?;
        }
        let last = text.lines().count().max(1);
        reader.is_complete().map_err(|says| wrong(file, last, says))?;
        let order = reader.in_order().map_err(|(line, says)| wrong(file, line, says))?;
        let (mut nodes, mut created) = (Vec::with_capacity(order.len()), 0_u64);
        for entry in order {
            created = created.saturating_add(costs.of(entry.predecessors.len() as u64 + 1));
            let Entry { number, time, predecessors, .. } = entry;
            nodes.push(Node { number, work: time.saturating_mul(unit), predecessors, created });
        }
        let below = nodes.iter().map(|node| Size { work: node.work, tasks: 1 }).sum::<Size>();
        let size = [Size { work: created, tasks: 1 }, below].into_iter().sum();
        let span = longest(&nodes);
        Ok(TaskGraph { nodes, body: created, size, span, processors: reader.processors, optima: reader.optima })
    }

    /// The number of processors for which the file is made: that of the prototype's first line, or
    /// of the first known optimum.
    pub fn processors(&self) -> Option<usize> {
        self.processors.or(self.optima.first().map(|optimum| optimum.processors))
    }

    /// The known optima, in the order of the file.
    pub fn optima(&self) -> &[Optimum] {
        &self.optima
    }

    /// The known optimum for this number of processors.
    pub fn optimum(&self, processors: usize) -> Option<Optimum> {
        self.optima.iter().copied().find(|optimum| optimum.processors == processors)
    }
}

/// The longest path: each task begins after its creation and after its predecessors.
fn longest(nodes: &[Node]) -> Work {
    let mut ends = vec![0_u64; nodes.iter().map(|node| node.number as usize + 1).max().unwrap_or(0)];
    for node in nodes {
        let before = node.predecessors.iter().map(|&number| ends[number as usize]).max().unwrap_or(0);
        ends[node.number as usize] = before.max(node.created).saturating_add(node.work);
    }
    ends.into_iter().max().unwrap_or(0)
}

/// A task's line.
#[derive(Clone, Debug)]
struct Entry {
    line: usize,
    number: u64,
    time: u64,
    predecessors: Vec<u64>,
}

#[derive(Debug, Default)]
struct Reader {
    /// The numbers of the first and the last task, from the first line.
    numbers: Option<(u64, u64)>,
    processors: Option<usize>,
    /// By number.
    entries: Vec<Option<Entry>>,
    optima: Vec<Optimum>,
}

impl Reader {
    fn read(&mut self, line: usize, text: &str) -> Result<(), String> {
        if let Some(comment) = text.trim_start().strip_prefix('#') {
            return self.comment(comment.trim());
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        match (fields.is_empty(), self.numbers) {
            (true, _) => Ok(()),
            (_, None) => self.first_line(&fields),
            (_, Some(numbers)) => self.task(line, &fields, numbers),
        }
    }

    /// `10`, or in the prototype format `10 3` with a number of processors.
    fn first_line(&mut self, fields: &[&str]) -> Result<(), String> {
        let (count, processors) = match fields {
            [count] => (*count, None),
            [count, processors] => (*count, Some(number("number of processors", processors, 1, MAX_TASKS)?)),
            _ => return Err("expected a number of tasks, alone or with a number of processors".to_owned()),
        };
        let count = number("number of tasks", count, 1, MAX_TASKS)?;
        self.processors = processors.map(|processors| processors as usize);
        self.numbers = Some((u64::from(processors.is_some()), count + 1));
        self.entries = vec![None; count as usize + 2];
        Ok(())
    }

    fn task(&mut self, line: usize, fields: &[&str], (first, last): (u64, u64)) -> Result<(), String> {
        let [task, time, count, names @ ..] = fields else {
            return Err("expected a task's number, its processing time, and the number of its predecessors".to_owned());
        };
        let task = number("task", task, first, last)?;
        let time = number("processing time", time, 0, u64::MAX)?;
        let count = number("number of predecessors", count, 0, last)?;
        if names.len() as u64 != count {
            let say = names.len();
            return Err(format!(
                "task {task} has {count} predecessors, and the line names {say} (without their costs)"
            ));
        }
        let mut predecessors = Vec::with_capacity(names.len());
        let mut known = BTreeSet::new();
        for name in names {
            let predecessor = number("predecessor", name, first, last)?;
            if predecessor == task {
                return Err(format!("task {task} is its own predecessor"));
            }
            if !known.insert(predecessor) {
                return Err(format!("task {task} names its predecessor {predecessor} twice"));
            }
            predecessors.push(predecessor);
        }
        let entry = &mut self.entries[task as usize];
        if let Some(other) = entry {
            return Err(format!("task {task} comes twice, first in line {}", other.line));
        }
        *entry = Some(Entry { line, number: task, time, predecessors });
        Ok(())
    }

    /// `Optimal Schedule Length on 2 processors : 7`.
    fn comment(&mut self, text: &str) -> Result<(), String> {
        const FORM: &str = "expected '# Optimal Schedule Length on P processors : UNITS'";
        let lower = text.to_lowercase();
        let Some(rest) = lower.strip_prefix("optimal schedule length") else { return Ok(()) };
        let (on, length) = rest.split_once(':').ok_or(FORM)?;
        let on = on.split_whitespace().collect::<Vec<_>>();
        let processors = match on[..] {
            [] => self.processors.ok_or(FORM)? as u64,
            ["on", processors, "processors" | "processor"] => number("number of processors", processors, 1, MAX_TASKS)?,
            _ => return Err(FORM.to_owned()),
        };
        let length = number("optimal schedule length", length.trim(), 0, u64::MAX)?;
        self.optima.push(Optimum { processors: processors as usize, length });
        Ok(())
    }

    fn is_complete(&self) -> Result<(), String> {
        let Some((first, last)) = self.numbers else { return Err("it has no number of tasks".to_owned()) };
        let missing = (first..=last).find(|&number| self.entries[number as usize].is_none());
        let Some(missing) = missing else { return Ok(()) };
        Err(format!("task {missing} is missing: the first line promises the tasks {first} to {last}"))
    }

    /// The tasks in reference order: by number, but behind their predecessors.
    fn in_order(&self) -> Result<Vec<Entry>, (usize, String)> {
        let mut unmet: Vec<usize> = vec![0; self.entries.len()];
        let mut successors: Vec<Vec<u64>> = vec![Vec::new(); self.entries.len()];
        for entry in self.entries.iter().flatten() {
            unmet[entry.number as usize] = entry.predecessors.len();
            entry.predecessors.iter().for_each(|&before| successors[before as usize].push(entry.number));
        }
        let is_free = |entry: &&Entry| entry.predecessors.is_empty();
        let mut free: BTreeSet<u64> = self.entries.iter().flatten().filter(is_free).map(|entry| entry.number).collect();
        let mut order = Vec::with_capacity(self.entries.len());
        while let Some(number) = free.pop_first() {
            order.extend(self.entries[number as usize].clone());
            for &successor in &successors[number as usize] {
                unmet[successor as usize] -= 1;
                if unmet[successor as usize] == 0 {
                    free.insert(successor);
                }
            }
        }
        match self.entries.iter().flatten().find(|entry| unmet[entry.number as usize] > 0) {
            None => Ok(order),
            Some(entry) => {
                let says = format!("task {} waits for a task that waits for it: there is a cycle", entry.number);
                Err((entry.line, says))
            }
        }
    }
}

/// A number in a range.
fn number(what: &str, text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{what} '{text}' is not a number from {least} to {most}"))
}

impl Program for TaskGraph {
    type Task = Task;

    fn root(&self) -> Task {
        Task::All
    }

    fn size(&self, &task: &Task) -> Size {
        match task {
            Task::All => self.size,
            Task::One(place) => Size { work: self.nodes[place as usize].work, tasks: 1 },
        }
    }

    fn body(&self, &task: &Task) -> Work {
        match task {
            Task::All => self.body,
            Task::One(place) => self.nodes[place as usize].work,
        }
    }

    fn children(&self, _: &Task, children: &mut Children<Task>) {
        for (place, node) in (0..).zip(&self.nodes) {
            children.at(node.created);
            let reads = node.predecessors.iter().map(|&number| (number, Read));
            children.spawn(Task::One(place), reads.chain([(node.number, Write)]));
        }
    }

    fn span(&self) -> Option<Work> {
        Some(self.span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TaskGraph, String> {
        TaskGraph::parse(Path::new("g.stg"), text, 1, Costs::NONE).map_err(|error| error.to_string())
    }

    #[test]
    fn both_formats_are_read() {
        let text = "    3\n 0 0 0\n 1 4 1 0\n 2 5 1 0\n 3 2 2 1 2\n 4 0 1 3\n# CP Length : 7\n";
        let graph = parse(text).unwrap();
        assert_eq!((graph.size, graph.span, graph.processors()), (Size { work: 11, tasks: 6 }, 7, None));
        let prototype = parse("3 2\n1 4 0\n2 5 0\n3 2 2 1 2\n4 0 1 3\n# Optimal Schedule Length: 7\n").unwrap();
        assert_eq!((prototype.size, prototype.span), (Size { work: 11, tasks: 5 }, 7));
        assert_eq!(
            (prototype.processors(), prototype.optimum(2)),
            (Some(2), Some(Optimum { processors: 2, length: 7 }))
        );
    }

    #[test]
    fn tasks_come_behind_their_predecessors() {
        let graph = parse("3\n0 0 0\n1 4 1 3\n2 5 1 1\n3 2 1 0\n4 0 1 2\n").unwrap();
        assert_eq!(graph.nodes.iter().map(|node| node.number).collect::<Vec<_>>(), [0, 3, 1, 2, 4]);
        assert_eq!(graph.span, 11);
    }

    #[test]
    fn creation_delays_a_task() {
        let costs = Costs { task: 10, argument: 1 };
        let graph = TaskGraph::parse(Path::new("g"), "1\n0 0 0\n1 4 1 0\n2 0 1 1\n", 1, costs).unwrap();
        // The dummies and the task have one, two and two arguments.
        assert_eq!((graph.body, graph.span, graph.size.work), (35, 35, 39));
    }

    #[test]
    fn what_is_wrong_and_where() {
        let refused = |text: &str| parse(text).unwrap_err();
        assert_eq!(refused(""), "g.stg:1: it has no number of tasks");
        assert_eq!(refused("# a\n# b\n"), "g.stg:2: it has no number of tasks");
        assert_eq!(refused("x\n"), "g.stg:1: number of tasks 'x' is not a number from 1 to 1000000");
        assert_eq!(refused("1 0\n"), "g.stg:1: number of processors '0' is not a number from 1 to 1000000");
        let says = "g.stg:1: expected a number of tasks, alone or with a number of processors";
        assert_eq!(refused("1 2 3\n"), says);
        let says = "g.stg:2: expected a task's number, its processing time, and the number of its predecessors";
        assert_eq!(refused("1\n0 0\n"), says);
        assert_eq!(refused("1\n3 0 0\n"), "g.stg:2: task '3' is not a number from 0 to 2");
        let says = "g.stg:2: processing time '-1' is not a number from 0 to 18446744073709551615";
        assert_eq!(refused("1\n0 -1 0\n"), says);
        let says = "g.stg:3: task 1 has 2 predecessors, and the line names 1 (without their costs)";
        assert_eq!(refused("1\n0 0 0\n1 1 2 0\n"), says);
        assert_eq!(refused("1\n0 0 0\n1 1 1 3\n"), "g.stg:3: predecessor '3' is not a number from 0 to 2");
        assert_eq!(refused("1\n0 0 0\n1 1 1 1\n"), "g.stg:3: task 1 is its own predecessor");
        assert_eq!(refused("1\n0 0 0\n1 1 2 0 0\n"), "g.stg:3: task 1 names its predecessor 0 twice");
        assert_eq!(refused("1\n0 0 0\n0 1 0\n"), "g.stg:3: task 0 comes twice, first in line 2");
        let says = "g.stg:3: task 2 is missing: the first line promises the tasks 0 to 2";
        assert_eq!(refused("1\n0 0 0\n1 1 1 0\n"), says);
        let says = "g.stg:3: task 1 waits for a task that waits for it: there is a cycle";
        assert_eq!(refused("2\n0 0 0\n1 1 1 2\n2 1 1 1\n3 0 0\n"), says);
        let form = "expected '# Optimal Schedule Length on P processors : UNITS'";
        assert_eq!(refused("1\n# Optimal schedule length 7\n"), format!("g.stg:2: {form}"));
        assert_eq!(refused("1\n# Optimal schedule length: 7\n"), format!("g.stg:2: {form}"));
        let says = "g.stg:2: optimal schedule length 'x' is not a number from 0 to 18446744073709551615";
        assert_eq!(refused("1\n# Optimal schedule length on 2 processors: x\n"), says);
    }
}
