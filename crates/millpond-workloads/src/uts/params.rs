use super::tree::{MAX_CHILDREN, VALUES};
use super::{PUBLISHED, Published, Shape, Tree};
use crate::Error;
use crate::form::TASKS;
use crate::options::{Kind, Opt, Options, Value};
use crate::text::short;

/// The maximum depth to choose. The levels of a cyclic tree then fit 32 bits.
const MAX_DEPTH: u64 = 1_000_000;

/// The maximum number of children of a root.
const MAX_B0: f64 = 1e6;

/// The tree of the other options.
const CUSTOM: &str = "custom";

/// The names of trees.
const NAMES: [&str; PUBLISHED.len() + 1] = {
    let mut names = [CUSTOM; PUBLISHED.len() + 1];
    let mut tree = 0;
    while tree < PUBLISHED.len() {
        names[tree + 1] = PUBLISHED[tree].name;
        tree += 1;
    }
    names
};

/// The names of shapes.
const SHAPES: [&str; Shape::ALL.len()] = {
    let mut names = [""; Shape::ALL.len()];
    let mut shape = 0;
    while shape < names.len() {
        names[shape] = Shape::ALL[shape].name();
        shape += 1;
    }
    names
};

const TREE: Opt = Opt {
    name: "tree",
    help: "A published tree, or `custom`: the tree of the options below",
    kind: Kind::Choice(&NAMES),
};
const SHAPE: Opt = Opt { name: "shape", help: "The rule for the number of children", kind: Kind::Choice(&SHAPES) };
const B0: Opt = Opt::text("b0", "B", "Children of the root, on average [default: 4, or 2000 if binomial]");
const Q: Opt = Opt::text("q", "Q", "Probability that a node of a binomial or hybrid tree has children [default: 0.12]");
const M: Opt = Opt::integer(
    "m",
    "Children of a node that has any, in a binomial or hybrid tree [default: 8]",
    (1, MAX_CHILDREN as u64),
    None,
);
const DEPTH: Opt = Opt::integer(
    "depth",
    "Maximum depth (fixed, linear), period (cyclic), depth of mean 1 (exponential), \
     twice the depth where binomial begins (hybrid) [default: 6]",
    (1, MAX_DEPTH),
    None,
);
const SEED: Opt = Opt::integer("seed", "Seed of the tree [default: 19]", (0, u32::MAX as u64), None);

/// The options for a tree.
pub(crate) const TREES: [Opt; 7] = [TREE, SHAPE, B0, Q, M, DEPTH, SEED];

/// The options of this workload.
pub const OPTIONS: [Opt; 8] = [TREE, SHAPE, B0, Q, M, DEPTH, SEED, TASKS];

/// The tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// Its parameters.
    pub tree: Tree,
    /// The published tree of the given name.
    pub published: Option<&'static Published>,
}

impl Params {
    /// Checks the options.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let name = options.get_choice(&TREE);
        let Some(published) = PUBLISHED.iter().find(|published| published.name == name) else {
            return Ok(Self { tree: custom(options)?, published: None });
        };
        if let Some(own) = TREES[1..].iter().find(|own| options.has(own)) {
            let why = "a published tree has its own parameters";
            return Err(Error::Conflict { one: TREE.name, other: own.name, why });
        }
        Ok(Self { tree: published.tree, published: Some(published) })
    }

    /// Every parameter after defaults. A shape does not have all of them.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let Tree { shape, b0, q, m, depth, seed } = self.tree;
        let only_if = |has: bool, value| if has { value } else { Value::None };
        let name = self.published.map_or(CUSTOM, |published| published.name);
        vec![
            (TREE.name, Value::Text(name.to_owned())),
            (SHAPE.name, Value::Text(shape.name().to_owned())),
            (B0.name, Value::Float(b0)),
            (Q.name, only_if(shape.is_binomial(), Value::Float(q))),
            (M.name, only_if(shape.is_binomial(), Value::Integer(m.into()))),
            (DEPTH.name, only_if(shape.has_depth(), Value::Integer(depth.into()))),
            (SEED.name, Value::Integer(seed.into())),
        ]
    }
}

/// The tree of the options.
fn custom(options: &Options) -> Result<Tree, Error> {
    let name = options.get_choice(&SHAPE);
    let shape = Shape::ALL.into_iter().find(|shape| shape.name() == name).unwrap_or(Shape::Fixed);
    unused(options, shape)?;
    let tree = Tree {
        shape,
        b0: number(options, &B0, MAX_B0)?.unwrap_or(if shape == Shape::Binomial { 2000.0 } else { 4.0 }),
        q: number(options, &Q, 1.0)?.unwrap_or(0.12),
        m: options.get_integer(&M)?.unwrap_or(8) as u32,
        depth: options.get_integer(&DEPTH)?.unwrap_or(6) as u32,
        seed: options.get_integer(&SEED)?.unwrap_or(19) as u32,
    };
    let m = f64::from(tree.m);
    // A node has children for `ceil(q * VALUES)` values of its uniform number.
    if shape.is_binomial() && (tree.q * VALUES).ceil() * m >= VALUES {
        let most = short(((VALUES / m).ceil() - 1.0) / VALUES);
        let why = format!("with --m {m} such a tree may have no end: expected at most {most}");
        return Err(Error::Value { option: Q.name, value: short(tree.q), why });
    }
    if shape == Shape::Exponential && tree.b0 <= 1.0 {
        let why =
            "with at most 1 child on average, an exponential tree may have no end: expected more than 1".to_owned();
        return Err(Error::Value { option: B0.name, value: short(tree.b0), why });
    }
    Ok(tree)
}

/// Refuses options that the shape does not have.
fn unused(options: &Options, shape: Shape) -> Result<(), Error> {
    let has = |own: &Opt| match own.name {
        "q" | "m" => shape.is_binomial(),
        "depth" => shape.has_depth(),
        _ => true,
    };
    let Some(unused) = TREES[1..].iter().find(|own| options.has(own) && !has(own)) else { return Ok(()) };
    let own: Vec<_> = TREES[2..].iter().filter(|own| has(own)).map(|own| format!("--{}", own.name)).collect();
    let why = format!("a tree of this shape has no {}; its own options: {}", unused.name, own.join(", "));
    Err(Error::Value { option: SHAPE.name, value: shape.name().to_owned(), why })
}

/// The number given for `opt`, from 0 to `max`.
fn number(options: &Options, opt: &Opt, max: f64) -> Result<Option<f64>, Error> {
    let text = options.get_text(opt);
    if !options.has(opt) {
        return Ok(None);
    }
    // `abs` turns -0 into 0.
    let valid = text.parse().ok().filter(|number| (0.0..=max).contains(number)).map(f64::abs);
    let why = || format!("expected a number in 0..={max}");
    valid.map(Some).ok_or_else(|| Error::Value { option: opt.name, value: text.to_owned(), why: why() })
}
