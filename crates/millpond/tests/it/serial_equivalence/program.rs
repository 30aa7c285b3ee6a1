//! Programs: what a random case consists of.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use super::value::ELEMENTS;

/// A number of a task, a datum, or something else that a program refers to; unique in the program.
pub type Id = usize;

#[derive(Clone, Debug)]
pub struct Program {
    /// The data of the caller, and whether they have a value at the start.
    pub roots: Vec<(Id, bool)>,
    /// The rows and columns of the grid that the first of them form, if they do.
    pub grid: Option<(usize, usize)>,
    pub body: Body,
    /// The data, the caller's and others, that are never renamed. The result is the same.
    pub in_place: BTreeSet<Id>,
    /// The runtime promises reference order for commutative tasks and reductions.
    pub ordered: bool,
    /// One more than the greatest id.
    pub ids: usize,
}

/// The operations of a scope, in order.
#[derive(Clone, Debug, Default)]
pub struct Body(pub Vec<Op>);

#[derive(Clone, Debug)]
pub enum Op {
    Spawn(Task),
    /// A datum of the scope's own.
    Own {
        slot: Id,
        set: bool,
    },
    /// A grid of the scope's own data, row by row.
    Grid {
        slots: Vec<Id>,
        rows: usize,
        set: bool,
    },
    /// Drops a datum of the scope, or the whole grid that it belongs to.
    Drop {
        slot: Id,
    },
    Set {
        id: Id,
        slot: Id,
    },
    WaitOn {
        id: Id,
        slot: Id,
        assign: bool,
        blind: bool,
    },
    /// Waits for a task whose join was kept.
    Join {
        id: Id,
        task: Id,
    },
    /// Waits for several tasks whose joins were kept, all with a value or all without.
    WaitAll {
        id: Id,
        tasks: Vec<Id>,
    },
    /// An external task, which waits for preconditions; only in the root scope.
    Pending {
        id: Id,
        nest: Option<Body>,
    },
    /// The scope itself meets a precondition, or drops it.
    Meet {
        pending: Id,
        satisfy: bool,
    },
    /// No further precondition will be added.
    Seal {
        pending: Id,
    },
    Cancel,
    Panic {
        id: Id,
    },
}

#[derive(Clone, Debug)]
pub struct Task {
    pub id: Id,
    /// In the order of [`Mode`], contributions last; those of a loop in the order of [`Loop`].
    pub uses: Vec<Use>,
    pub work: Work,
    pub returns: bool,
    pub keep: bool,
    pub named: bool,
    pub priority: i8,
    pub bytes: usize,
    /// Preconditions that it satisfies or drops at its end.
    pub holds: Vec<(Id, bool)>,
    /// It may name one datum twice, although that is misuse.
    pub twice: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub slot: Id,
    pub mode: Mode,
    /// The value depends on the schedule here: it is updated, and never read.
    pub blind: bool,
    /// It is a contribution: the parent accumulates the datum, and passes that on. It orders
    /// nothing, so it has no position among the accesses in errors.
    pub passed: bool,
}

impl Use {
    pub fn new(slot: Id, mode: Mode) -> Use {
        Use { slot, mode, blind: false, passed: false }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Read,
    Write,
    Inout,
    Commutative,
    Concurrent,
    Add,
    Xor,
    Compose,
}

impl Mode {
    pub const ALL: [Mode; 8] = [
        Mode::Read,
        Mode::Write,
        Mode::Inout,
        Mode::Commutative,
        Mode::Concurrent,
        Mode::Add,
        Mode::Xor,
        Mode::Compose,
    ];

    pub fn is_reduction(self) -> bool {
        matches!(self, Mode::Add | Mode::Xor | Mode::Compose)
    }

    /// Whether a task may have several accesses of this mode to one datum.
    pub fn repeats(self) -> bool {
        matches!(self, Mode::Read | Mode::Concurrent)
    }

    /// Whether consecutive accesses form one generation. Then the failure of one does not affect
    /// the others.
    pub fn is_group(self) -> bool {
        self.is_reduction() || matches!(self, Mode::Commutative | Mode::Concurrent)
    }
}

#[derive(Clone, Debug)]
pub enum Work {
    Leaf(Leaf),
    Nest(Body),
    Loop(Loop),
}

/// A parallel loop over declared data.
///
/// Its accesses are, in this order and each optional: an `inout` whose chunks the items change, a
/// `read` whose chunks they read, a `read` that is shared by all items, and a `concurrent`.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    pub over: Over,
    /// The items read the chunks of the first `read` even if there is an `inout`.
    pub zips: bool,
    /// The item that panics, modulo their number.
    pub panics: Option<usize>,
    /// How long an item takes: 0 is as short as can be.
    pub slow: u8,
}

#[derive(Clone, Copy, Debug)]
pub enum Over {
    Range { from: usize, to: usize },
    Chunks { size: usize },
}

/// The accesses of a loop, by their purpose.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopUses<'a> {
    pub changed: Option<&'a Use>,
    pub chunks: Option<&'a Use>,
    pub read: Option<&'a Use>,
    pub shared: Option<&'a Use>,
}

impl Loop {
    /// How many items it has.
    pub fn items(&self) -> usize {
        match self.over {
            Over::Range { from, to } => to - from,
            Over::Chunks { size } => ELEMENTS.div_ceil(size),
        }
    }

    /// The item that panics.
    pub fn panicking(&self) -> Option<usize> {
        self.panics.filter(|_| self.items() > 0).map(|item| item % self.items())
    }

    /// Whether the items read the chunks of the first `read`.
    pub fn reads_chunks(&self, changes: bool) -> bool {
        matches!(self.over, Over::Chunks { .. }) && (self.zips || !changes)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    pub fault: Fault,
    /// It cancels the root scope.
    pub cancels: bool,
    pub yields: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Panics before it changes anything.
    PanicFirst,
    /// Panics after it changed everything.
    PanicLast,
    /// Does not set this one of its writes.
    Unwritten(usize),
}

/// When the body of a parent itself adds to what it accumulates. In reference order, this comes
/// before what its tasks add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adds {
    Never,
    First,
    Last,
    /// Last, but it has its copies from the start.
    Throughout,
}

impl Task {
    /// The rows of the grid of this many data that a parent changes.
    pub fn rows(data: usize) -> usize {
        if data.is_multiple_of(2) { 2 } else { 1 }
    }

    /// Whether it accumulates where others reduce: some of the leaves and parents do, and all tasks
    /// that contribute.
    pub fn accumulates(&self) -> bool {
        let may_accumulate = match self.work {
            Work::Leaf(_) => self.id % 4 == 1,
            Work::Nest(_) => self.id % 2 == 1,
            Work::Loop(_) => false,
        };
        let reduces = self.uses.iter().any(|one| one.mode.is_reduction());
        self.contributes() || may_accumulate && self.named && !self.returns && reduces
    }

    /// Whether it has contributions.
    pub fn contributes(&self) -> bool {
        self.uses.iter().any(|one| one.passed)
    }

    /// When its body adds, if it is a parent that accumulates.
    pub fn adds(&self) -> Adds {
        [Adds::Never, Adds::First, Adds::Last, Adds::Throughout][self.id / 2 % 4]
    }

    /// The accesses that order the task. Its contributions come after them, so each has the same
    /// index here as in `uses`.
    pub fn dependences(&self) -> impl Iterator<Item = &Use> + Clone {
        self.uses.iter().filter(|one| !one.passed)
    }

    /// The dependences of one mode.
    pub fn of(&self, mode: Mode) -> impl Iterator<Item = &Use> {
        self.dependences().filter(move |one| one.mode == mode)
    }

    /// The contributions of one mode.
    pub fn contributions(&self, mode: Mode) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |one| one.passed && one.mode == mode)
    }

    /// Which access of a loop has which purpose.
    pub fn loop_uses(&self, one: &Loop) -> LoopUses<'_> {
        let (changed, mut reads) = (self.of(Mode::Inout).next(), self.of(Mode::Read));
        let chunks = if one.reads_chunks(changed.is_some()) { reads.next() } else { None };
        LoopUses { changed, chunks, read: reads.next(), shared: self.of(Mode::Concurrent).next() }
    }

    /// Whether it may be portable: it waits for nothing, holds nothing and passes on no
    /// accumulator, and neither do its children.
    pub fn may_be_portable(&self) -> bool {
        let may_be = |op: &Op| match op {
            Op::Spawn(task) => task.may_be_portable(),
            Op::Own { .. } | Op::Grid { .. } | Op::Drop { .. } | Op::Set { .. } | Op::Panic { .. } => true,
            _ => false,
        };
        self.holds.is_empty()
            && !self.contributes()
            && match &self.work {
                Work::Leaf(_) | Work::Loop(_) => true,
                Work::Nest(body) => !self.accumulates() && body.0.iter().all(may_be),
            }
    }

    /// The two accesses that name one datum and must not, and the datum.
    pub fn duplicate(&self) -> Option<(usize, usize, Id)> {
        let all = self.dependences().enumerate();
        all.clone().find_map(|(second, use_)| {
            let (first, earlier) = all.clone().take(second).find(|(_, one)| one.slot == use_.slot)?;
            (earlier.mode != use_.mode || !use_.mode.repeats()).then_some((first, second, use_.slot))
        })
    }

    /// The dependences without repetitions.
    pub fn distinct(&self) -> impl Iterator<Item = (usize, &Use)> {
        let all = move || self.dependences().enumerate();
        all().filter(move |(at, one)| all().take(*at).all(|(_, earlier)| earlier.slot != one.slot))
    }
}

impl Program {
    /// Whether its root can be a session, which has no external tasks, and whose own panic is its
    /// caller's.
    pub fn fits_a_session(&self) -> bool {
        !self.body.0.iter().any(|op| matches!(op, Op::Pending { .. } | Op::Panic { .. }))
    }

    /// Whether something may be cancelled.
    pub fn cancels(&self) -> bool {
        self.body.any(&|op| match op {
            Op::Cancel => true,
            Op::Spawn(Task { work: Work::Leaf(leaf), .. }) => leaf.cancels,
            _ => false,
        })
    }
}

impl Op {
    /// The scope that the operation opens.
    pub fn inner(&self) -> Option<&Body> {
        match self {
            Op::Spawn(Task { work: Work::Nest(body), .. }) | Op::Pending { nest: Some(body), .. } => Some(body),
            _ => None,
        }
    }

    pub fn inner_mut(&mut self) -> Option<&mut Body> {
        match self {
            Op::Spawn(Task { work: Work::Nest(body), .. }) | Op::Pending { nest: Some(body), .. } => Some(body),
            _ => None,
        }
    }
}

/// The name of a named task: that of every second one is built at run time.
pub fn name_of(id: Id) -> Cow<'static, str> {
    if id.is_multiple_of(2) { "t".into() } else { format!("task {}", id % 7).into() }
}

impl Body {
    pub fn any(&self, test: &dyn Fn(&Op) -> bool) -> bool {
        self.0.iter().any(|op| test(op) || op.inner().is_some_and(|body| body.any(test)))
    }

    /// Calls `each` with every operation, outer ones first.
    pub fn each<'a>(&'a self, each: &mut dyn FnMut(&'a Op)) {
        for op in &self.0 {
            each(op);
            if let Some(body) = op.inner() {
                body.each(each);
            }
        }
    }

    fn show(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        for op in &self.0 {
            write!(f, "{:1$}", "", 4 * depth)?;
            op.show(f)?;
            writeln!(f)?;
            if let Some(body) = op.inner() {
                body.show(f, depth + 1)?;
            }
        }
        Ok(())
    }
}

impl Op {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Spawn(task) => task.show(f),
            Op::Own { slot, set } => write!(f, "d{slot} = {}", if *set { "handle" } else { "unset" }),
            Op::Grid { slots, rows, set } => {
                write!(f, "d{slots:?} = grid of {rows} rows{}", if *set { "" } else { ", unset" })
            }
            Op::Drop { slot } => write!(f, "drop d{slot}"),
            Op::Set { slot, .. } => write!(f, "set d{slot}"),
            Op::WaitOn { slot, assign, .. } => {
                write!(f, "wait_on d{slot}{}", if *assign { " and assign" } else { "" })
            }
            Op::Join { task, .. } => write!(f, "wait t{task}"),
            Op::WaitAll { tasks, .. } => write!(f, "wait_all t{tasks:?}"),
            Op::Pending { id, nest } => {
                write!(f, "t{id} = pending{}", if nest.is_some() { "_nest" } else { "" })
            }
            Op::Meet { pending, satisfy: true } => write!(f, "satisfy one of t{pending}"),
            Op::Meet { pending, satisfy: false } => write!(f, "abandon one of t{pending}"),
            Op::Seal { pending } => write!(f, "seal t{pending}"),
            Op::Cancel => write!(f, "cancel"),
            Op::Panic { .. } => write!(f, "panic"),
        }
    }
}

impl Task {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.work {
            Work::Leaf(_) => "spawn",
            Work::Nest(_) => "nest",
            Work::Loop(_) => "for_each",
        };
        write!(f, "t{} = {verb} (", self.id)?;
        for (at, one) in self.uses.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let (blind, passed) = (if one.blind { "~" } else { "" }, if one.passed { "^" } else { "" });
            write!(f, "{comma}d{}.{:?}{blind}{passed}", one.slot, one.mode)?;
        }
        write!(f, ")")?;
        if let Work::Leaf(leaf) = &self.work {
            match leaf.fault {
                Fault::None => {}
                fault => write!(f, " {fault:?}")?,
            }
            if leaf.cancels {
                write!(f, " cancels")?;
            }
            if leaf.yields > 0 {
                write!(f, " yields {}", leaf.yields)?;
            }
        }
        if let Work::Loop(one) = &self.work {
            write!(f, " {one:?}")?;
        }
        for (what, said) in [
            ("returns", self.returns),
            ("kept", self.keep),
            ("unnamed", !self.named),
            ("urgent", self.priority > 0),
            ("bytes", self.bytes > 0),
        ] {
            if said {
                write!(f, " {what}")?;
            }
        }
        for (pending, satisfy) in &self.holds {
            write!(f, " {} t{pending}", if *satisfy { "satisfies" } else { "abandons" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (slot, set) in &self.roots {
            writeln!(f, "d{slot} = {}", if *set { "handle" } else { "unset" })?;
        }
        if let Some((rows, cols)) = self.grid {
            writeln!(f, "a grid of {rows} × {cols}")?;
        }
        for slot in &self.in_place {
            writeln!(f, "d{slot} is in place")?;
        }
        self.body.show(f, 0)
    }
}
