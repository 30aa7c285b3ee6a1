//! A runnable grammar, with resolved names.

use super::syntax::{Distribution, Operator, Place};

/// The maximum number of arguments of a task type.
pub const MAX_ARGUMENTS: usize = 8;

/// The arguments of a task. Unused ones are 0.
pub type Arguments = [i64; MAX_ARGUMENTS];

/// A runtime grammar ([TP](crate#sources) §2.2): task types, initial tasks, shared variables,
/// productions. The user's parameters are already numbers.
#[derive(Debug)]
pub struct Program {
    pub types: Vec<Type>,
    /// The initial value of each shared variable.
    pub shared: Vec<i64>,
    pub init: Vec<Init>,
}

/// A task type.
#[derive(Debug)]
pub struct Type {
    pub name: &'static str,
    pub arity: usize,
    pub productions: Vec<Production>,
    /// The indices of the shared variables that a task of this type or its descendants read, but do
    /// not set.
    pub reads: Vec<usize>,
    /// The indices of those that they set.
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
    /// The required value of each argument, if the production has one.
    pub is: Vec<Option<i64>>,
    pub guard: Option<Expr>,
    pub code: Vec<Op>,
}

impl Production {
    /// Whether it applies to all arguments.
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
    /// Creates a task of the type with this index.
    Create(usize, Vec<Expr>),
    /// Sets a shared variable.
    Set(usize, Expr),
    /// Continues at one of these steps, drawn by their weights.
    Choose(Vec<(Option<Expr>, usize)>, Place),
    Jump(usize),
}

/// The time of a task.
#[derive(Debug)]
pub enum Time {
    Constant(Expr),
    Drawn(Distribution, Vec<Expr>),
}

/// A value in postfix notation. Tasks evaluate it on perhaps small stacks, so the evaluation does
/// not recurse.
#[derive(Debug, Default)]
pub struct Expr {
    pub steps: Vec<Step>,
    /// The maximum number of values waiting for an operator.
    pub depth: usize,
}

/// A step of an evaluation. An operator takes the last values.
#[derive(Debug)]
pub enum Step {
    Number(i64),
    Argument(usize),
    Shared(usize),
    Negative(Place),
    Not,
    /// `and` or `or`. If the last value determines the result, the evaluation continues at this
    /// step, without the right side.
    Decide(Operator, usize),
    Binary(Operator, Place),
}

/// Initial tasks: one, or one for each value of the only argument in `arguments`, from the first to
/// the last.
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
