//! The text format of task grammars: `docs/reference/grammars.md` describes it.

mod lexer;
mod parser;

pub use parser::parse;

/// A position in a file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// An error of a grammar, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The position.
    pub at: Place,
    /// The message, one line.
    pub what: String,
}

impl Fault {
    /// An error at a position.
    pub fn new(at: Place, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A name and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    pub text: String,
    pub at: Place,
}

/// A file, statement by statement.
#[derive(Debug, Default, PartialEq)]
pub struct File {
    /// User parameters and their defaults.
    pub params: Vec<(Name, i64)>,
    /// Shared variables and their initial values.
    pub shared: Vec<(Name, i64)>,
    pub init: Vec<Init>,
    pub productions: Vec<Production>,
}

/// Initial tasks: one, or one for each value of a variable.
#[derive(Debug, PartialEq)]
pub struct Init {
    pub task: Task,
    pub range: Option<Range>,
}

/// `for i from FIRST to LAST`, or `down to`.
#[derive(Debug, PartialEq)]
pub struct Range {
    pub variable: Name,
    pub first: Expr,
    pub last: Expr,
    pub down: bool,
}

/// `KIND(ARGUMENTS) -> ITEMS for GUARD`.
#[derive(Debug, PartialEq)]
pub struct Production {
    pub kind: Name,
    pub arguments: Vec<Pattern>,
    pub items: Vec<Item>,
    pub guard: Option<Expr>,
}

/// The pattern of an argument in a production.
#[derive(Debug, PartialEq)]
pub enum Pattern {
    /// It has this value.
    Is(i64),
    /// It has this name.
    Called(Name),
}

impl Pattern {
    pub fn name(&self) -> Option<&Name> {
        if let Pattern::Called(name) = self { Some(name) } else { None }
    }

    pub fn value(&self) -> Option<i64> {
        if let Pattern::Is(value) = self { Some(*value) } else { None }
    }
}

/// A step of a production.
#[derive(Debug, PartialEq)]
pub enum Item {
    /// `{ 100f }`.
    Time(Time, Place),
    /// `B(i - 1)`.
    Task(Task),
    /// `[ A(1) | 2: A(2) ]`: one of them, drawn by their weights.
    Choice(Vec<(Option<Expr>, Vec<Item>)>, Place),
    /// `<s = s + 1>`.
    Set(Name, Expr),
}

/// A task type with arguments.
#[derive(Debug, PartialEq)]
pub struct Task {
    pub kind: Name,
    pub arguments: Vec<Expr>,
}

/// The time of a task, in units.
#[derive(Debug, PartialEq)]
pub enum Time {
    Constant(Expr),
    /// `uniform(least, most)`, `exponential(mean)`, `normal(mean, deviation)`.
    Drawn(Distribution, Vec<Expr>),
}

/// The distribution of a drawn time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    Uniform,
    Exponential,
    Normal,
}

impl Distribution {
    /// All distributions, with their names and numbers of arguments.
    pub const ALL: [(&'static str, Distribution, usize); 3] = [
        ("uniform", Distribution::Uniform, 2),
        ("exponential", Distribution::Exponential, 1),
        ("normal", Distribution::Normal, 2),
    ];
}

/// A value: a 64-bit integer. A comparison is 1 or 0.
#[derive(Debug, PartialEq)]
pub enum Expr {
    Number(i64),
    Name(Name),
    Negative(Box<Expr>, Place),
    Not(Box<Expr>),
    Binary(Operator, Box<[Expr; 2]>, Place),
}

/// An operator of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
    And,
    Or,
}
