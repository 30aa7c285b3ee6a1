//! The text format of task grammars: `docs/reference/grammars.md` describes it.

mod lexer;
mod parser;

pub use parser::parse;

/// A place in a file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// What is wrong with a grammar, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The place.
    pub at: Place,
    /// One line.
    pub what: String,
}

impl Fault {
    /// What is wrong at a place.
    pub fn new(at: Place, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A name, and where it stands.
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
    /// Shared variables and what they are at the start.
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

/// What a production says of an argument.
#[derive(Debug, PartialEq)]
pub enum Pattern {
    /// It is this.
    Is(i64),
    /// It is called this.
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

/// What a task does next.
#[derive(Debug, PartialEq)]
pub enum Item {
    /// `{ 100f }`.
    Time(Time, Place),
    /// `B(i - 1)`.
    Task(Task),
    /// `[ A(1) | 2: A(2) ]`: one of them, by their weights.
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

/// How long a task takes, in units.
#[derive(Debug, PartialEq)]
pub enum Time {
    Constant(Expr),
    /// `uniform(least, most)`, `exponential(mean)`, `normal(mean, deviation)`.
    Drawn(Distribution, Vec<Expr>),
}

/// How a time is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    Uniform,
    Exponential,
    Normal,
}

impl Distribution {
    /// Each with its name and how many arguments it takes.
    pub const ALL: [(&'static str, Distribution, usize); 3] = [
        ("uniform", Distribution::Uniform, 2),
        ("exponential", Distribution::Exponential, 1),
        ("normal", Distribution::Normal, 2),
    ];
}

/// A value: 64-bit integers; a comparison is 1 or 0.
#[derive(Debug, PartialEq)]
pub enum Expr {
    Number(i64),
    Name(Name),
    Negative(Box<Expr>, Place),
    Not(Box<Expr>),
    Binary(Operator, Box<[Expr; 2]>, Place),
}

/// What joins two values.
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
