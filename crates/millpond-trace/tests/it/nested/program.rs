//! Programs: the contents of a random case.
//!
//! A program without one of its parts is a program, too.

/// The operations of a scope: the closure of a root scope, or the body of a parent.
#[derive(Clone, Debug)]
pub struct Body {
    /// The number of its data: those that the parent declared, in that order, then its own.
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
    /// Waits for the task with this number. Does nothing if there is none, or if its join was used.
    Join(usize),
}

/// The operations that every body can do, including a leaf's.
#[derive(Clone, Debug)]
pub enum Step {
    /// Computes for this time, in nanoseconds.
    Work(u64),
    /// Runs both, perhaps at the same time.
    Fork(Vec<Step>, Vec<Step>),
    /// Opens a root scope, and continues when it is complete.
    Scope(Body),
}

#[derive(Clone, Debug)]
pub struct Task {
    /// On different data, in the order of [`Mode`].
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
    /// The only access of its task, which no body joins. The schedule chooses the order of several
    /// such tasks. The time at which all are complete does not depend on it: they can start in the
    /// order of their spawns. Nothing waits for only one of them. With other accesses, each order
    /// would have a different span, and the best one would be hard to find.
    Commutative,
    Concurrent,
    /// Reductions with different operators. Between two of them the parts are combined, which takes
    /// no time.
    Sum,
    Max,
}

/// The accesses of a body to a datum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    Full,
    Read,
    Write,
    Share,
}

impl Right {
    /// The rights of a body whose task has declared these accesses. Other data are its own.
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
