//! A grammar whose names are resolved: what is run.

use super::syntax::{Distribution, Operator, Place};

/// The most arguments of a task type.
pub const MOST_ARGUMENTS: usize = 8;

/// The arguments of a task; those that its type does not have are 0.
pub type Arguments = [i64; MOST_ARGUMENTS];

/// A runtime grammar ([TP](crate#sources) §2.2): task types, initial tasks, shared variables, productions. The user's
/// parameters are numbers by now.
#[derive(Debug)]
pub struct Program {
    pub types: Vec<Type>,
    /// What each shared variable is at the start.
    pub shared: Vec<i64>,
    pub init: Vec<Init>,
}

/// A task type.
#[derive(Debug)]
pub struct Type {
    pub name: &'static str,
    pub arity: usize,
    pub productions: Vec<Production>,
    /// The shared variables that a task of this type, or one that comes of it, looks at and does not set, by their places.
    pub reads: Vec<usize>,
    /// Those that it sets.
    pub writes: Vec<usize>,
}

impl Type {
    /// Whether a task of this type may have children.
    pub fn creates(&self) -> bool {
        self.productions.iter().any(Production::creates)
    }
}

/// One production of a type.
#[derive(Debug)]
pub struct Production {
    pub at: Place,
    /// What an argument is, if the production says so.
    pub is: Vec<Option<i64>>,
    pub guard: Option<Expr>,
    pub code: Vec<Op>,
}

impl Production {
    /// Whatever its task's arguments are.
    pub fn applies_always(&self) -> bool {
        self.guard.is_none() && self.is.iter().all(Option::is_none)
    }

    pub fn creates(&self) -> bool {
        self.code.iter().any(|op| matches!(op, Op::Create(..)))
    }
}

/// A step of a production.
#[derive(Debug)]
pub enum Op {
    Time(Time, Place),
    /// A task of the type at that place.
    Create(usize, Vec<Expr>),
    /// Sets a shared variable.
    Set(usize, Expr),
    /// Goes on at one of these places, by their weights.
    Choose(Vec<(Option<Expr>, usize)>, Place),
    Jump(usize),
}

/// How long a task takes.
#[derive(Debug)]
pub enum Time {
    Constant(Expr),
    Drawn(Distribution, Vec<Expr>),
}

/// A value, in postfix notation: tasks evaluate it on stacks that may be small, so the evaluation does not recurse.
#[derive(Debug, Default)]
pub struct Expr {
    pub steps: Vec<Step>,
    /// The most values that wait for an operator at a time.
    pub depth: usize,
}

/// A step of an evaluation. An operator takes the values that came last.
#[derive(Debug)]
pub enum Step {
    Number(i64),
    Argument(usize),
    Shared(usize),
    Negative(Place),
    Not,
    /// `and` or `or`: if the last value decides, the evaluation goes on at that step, without the right side.
    Decide(Operator, usize),
    Binary(Operator, Place),
}

/// Initial tasks: one, or one for each value of the only argument of `arguments`, from the first to the last.
#[derive(Debug)]
pub struct Init {
    pub kind: usize,
    pub arguments: Vec<Expr>,
    pub range: Option<Range>,
}

/// The values of a variable.
#[derive(Debug)]
pub struct Range {
    pub first: Expr,
    pub last: Expr,
    pub down: bool,
}
