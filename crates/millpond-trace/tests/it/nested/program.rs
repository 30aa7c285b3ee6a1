//! Programs: what a random case consists of.
//!
//! Whatever is taken out of one, the rest is a program.

/// What a scope does: the closure of a root scope, or the body of a parent.
#[derive(Clone, Debug)]
pub struct Body {
    /// The number of its data: those that the parent declared, in that order, then others of its own.
    pub data: usize,
    pub ops: Vec<Op>,
}

#[derive(Clone, Debug)]
pub enum Op {
    Step(Step),
    Spawn(Task),
    /// Waits for a datum.
    WaitOn(usize),
    /// Sets a datum: a new version.
    Set(usize),
    /// Waits for the task that was spawned as that one; nothing if there is none, or it has no join any more.
    Join(usize),
}

/// What every body can do, a leaf's too.
#[derive(Clone, Debug)]
pub enum Step {
    /// Computes for so long, in nanoseconds.
    Work(u64),
    /// Does both, perhaps at once.
    Fork(Vec<Step>, Vec<Step>),
    /// Opens a root scope, and goes on when that is complete.
    Scope(Body),
}

#[derive(Clone, Debug)]
pub struct Task {
    /// To different data, in the order of [`Mode`].
    pub accesses: Vec<Access>,
    pub does: Does,
}

#[derive(Clone, Debug)]
pub enum Does {
    Leaf(Vec<Step>),
    Parent(Body),
}

#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub datum: usize,
    pub mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Read,
    Write,
    Inout,
    /// The only access of its task, which no body joins. The schedule chooses the order of several such tasks; when all
    /// of them are complete does not depend on it, since they can start in the order of their spawns, and nothing waits
    /// for one of them alone. With other accesses each order has a span of its own, and the best is hard to find.
    Commutative,
    Concurrent,
    /// Reductions by different operators: between two of them the parts are combined, which takes no time.
    Sum,
    Max,
}

/// What a body may do with a datum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    Full,
    Read,
    Write,
    Share,
}

impl Right {
    /// That of a body whose task has declared these accesses: what it did not declare is its own.
    pub fn of(datum: usize, declared: &[Access]) -> Right {
        match declared.get(datum).map(|access| access.mode) {
            Some(Mode::Read) => Right::Read,
            Some(Mode::Write) => Right::Write,
            Some(Mode::Concurrent) => Right::Share,
            Some(Mode::Inout | Mode::Commutative | Mode::Sum | Mode::Max) | None => Right::Full,
        }
    }

    pub fn reads(self) -> bool {
        self != Right::Write
    }

    pub fn writes(self) -> bool {
        matches!(self, Right::Full | Right::Write)
    }
}

impl Task {
    pub fn is_commutative(&self) -> bool {
        self.accesses.iter().any(|access| access.mode == Mode::Commutative)
    }
}
