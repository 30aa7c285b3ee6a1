//! Turns a file's statements into a program: every name is defined, and every task has its
//! arguments.

use super::label;
use super::program::{Expr, Init, MAX_ARGUMENTS, Op, Production, Program, Range, Step, Time, Type};
use super::syntax::{self, Fault, File, Item, Name, Operator, Pattern, Place};
use std::collections::BTreeSet;

/// Resolves a file with one value for each of its parameters.
pub fn resolve(file: &File, values: &[i64]) -> Result<Program, Fault> {
    few_enough(file)?;
    let globals: Vec<&Name> = file.params.iter().chain(&file.shared).map(|(name, _)| name).collect();
    each_once(&globals, "is defined twice")?;
    let mut names = Names { file, values, kinds: Vec::new() };
    for production in &file.productions {
        names.note_type(production)?;
    }
    let mut types: Vec<Type> = names.kinds.iter().map(|kind| kind.as_type()).collect();
    for production in &file.productions {
        let kind = names.kind(&production.kind, production.arguments.len())?;
        if let Some(always) = types[kind].productions.iter().find(|before| before.applies_always()) {
            let what = format!("this production never applies: that of line {} always does", always.at.line);
            return Err(Fault::new(production.kind.at, what));
        }
        types[kind].productions.push(names.production(production)?);
    }
    let init: Vec<_> = file.init.iter().map(|init| names.init(init)).collect::<Result<_, _>>()?;
    if init.is_empty() {
        let at = Place { line: 1, column: 1 };
        return Err(Fault::new(at, "no initial tasks: a line `init A` says of which types there are some"));
    }
    close_over_children(&mut types);
    let shared = file.shared.iter().map(|(_, start)| *start).collect();
    Ok(Program { types, shared, init })
}

/// The maximum number of productions, and of parameters and shared variables together. Every name
/// is compared with every other.
const MAX_STATEMENTS: usize = 2000;

fn few_enough(file: &File) -> Result<(), Fault> {
    let globals = file.params.iter().chain(&file.shared).map(|(name, _)| name);
    let productions = file.productions.iter().map(|production| &production.kind);
    let too_many = |name: &Name, what| Fault::new(name.at, format!("more than {MAX_STATEMENTS} {what}"));
    if let Some(name) = productions.clone().nth(MAX_STATEMENTS) {
        return Err(too_many(name, "productions"));
    }
    globals.clone().nth(MAX_STATEMENTS).map_or(Ok(()), |name| Err(too_many(name, "parameters and shared variables")))
}

fn each_once(names: &[&Name], says: &str) -> Result<(), Fault> {
    for (nth, name) in names.iter().enumerate() {
        if names[..nth].iter().any(|before| before.text == name.text) {
            return Err(Fault::new(name.at, format!("`{}` {says}", name.text)));
        }
    }
    Ok(())
}

/// The meanings of names.
struct Names<'a> {
    file: &'a File,
    values: &'a [i64],
    kinds: Vec<Kind<'a>>,
}

/// The meanings of names in one context.
struct Scope<'a> {
    /// The named arguments.
    arguments: Vec<Option<&'a Name>>,
    /// Whether shared variables have values.
    shared: bool,
}

/// A task type, from its first production.
struct Kind<'a> {
    name: &'a Name,
    arity: usize,
}

impl Kind<'_> {
    fn as_type(&self) -> Type {
        let name = label::name(&self.name.text);
        Type { name, arity: self.arity, productions: Vec::new(), reads: Vec::new(), writes: Vec::new() }
    }
}

impl<'a> Names<'a> {
    /// Records the type of a production.
    fn note_type(&mut self, production: &'a syntax::Production) -> Result<(), Fault> {
        let (name, arity) = (&production.kind, production.arguments.len());
        if arity > MAX_ARGUMENTS {
            return Err(Fault::new(
                name.at,
                format!("`{}` has {arity} arguments, of {MAX_ARGUMENTS} at most", name.text),
            ));
        }
        if self.kinds.iter().any(|kind| kind.name.text == name.text) {
            return Ok(());
        }
        self.kinds.push(Kind { name, arity });
        Ok(())
    }

    /// The index of a type with this number of arguments.
    fn kind(&self, name: &Name, arguments: usize) -> Result<usize, Fault> {
        let Some(place) = self.kinds.iter().position(|kind| kind.name.text == name.text) else {
            let valid = among(self.kinds.iter().map(|kind| kind.name));
            return Err(Fault::new(name.at, format!("unknown task type `{}`: {valid}", name.text)));
        };
        let Kind { name: first, arity } = &self.kinds[place];
        if *arity != arguments {
            let what =
                format!("`{}` takes {arity} arguments (line {}), here are {arguments}", name.text, first.at.line);
            return Err(Fault::new(name.at, what));
        }
        Ok(place)
    }

    fn production(&self, production: &syntax::Production) -> Result<Production, Fault> {
        let scope = Scope { arguments: production.arguments.iter().map(Pattern::name).collect(), shared: true };
        let given: Vec<_> = scope.arguments.iter().copied().flatten().collect();
        each_once(&given, "is the name of two arguments")?;
        let globals = self.file.params.iter().chain(&self.file.shared);
        if let Some(name) = given.iter().find(|name| globals.clone().any(|(global, _)| global.text == name.text)) {
            return Err(Fault::new(name.at, format!("`{}` is a parameter or a shared variable already", name.text)));
        }
        let mut code = Vec::new();
        self.items(&production.items, &scope, &mut code)?;
        Ok(Production {
            at: production.kind.at,
            is: production.arguments.iter().map(Pattern::value).collect(),
            guard: production.guard.as_ref().map(|guard| self.expr(guard, &scope)).transpose()?,
            code,
        })
    }

    fn items(&self, items: &[Item], scope: &Scope<'_>, code: &mut Vec<Op>) -> Result<(), Fault> {
        for item in items {
            match item {
                Item::Time(time, at) => code.push(Op::Time(self.time(time, scope)?, *at)),
                Item::Task(task) => {
                    let kind = self.kind(&task.kind, task.arguments.len())?;
                    code.push(Op::Create(kind, self.exprs(&task.arguments, scope)?));
                }
                Item::Set(name, value) => {
                    let value = self.expr(value, scope)?;
                    code.push(Op::Set(self.shared(name)?, value));
                }
                Item::Choice(alternatives, at) => self.choice(alternatives, *at, scope, code)?,
            }
        }
        Ok(())
    }

    fn time(&self, time: &syntax::Time, scope: &Scope<'_>) -> Result<Time, Fault> {
        Ok(match time {
            syntax::Time::Constant(value) => Time::Constant(self.expr(value, scope)?),
            syntax::Time::Drawn(distribution, values) => Time::Drawn(*distribution, self.exprs(values, scope)?),
        })
    }

    fn choice(
        &self,
        alternatives: &[(Option<syntax::Expr>, Vec<Item>)],
        at: Place,
        scope: &Scope<'_>,
        code: &mut Vec<Op>,
    ) -> Result<(), Fault> {
        let here = code.len();
        code.push(Op::Choose(Vec::new(), at));
        let (mut targets, mut ends) = (Vec::new(), Vec::new());
        for (weight, items) in alternatives {
            let weight = weight.as_ref().map(|weight| self.expr(weight, scope)).transpose()?;
            targets.push((weight, code.len()));
            self.items(items, scope, code)?;
            ends.push(code.len());
            code.push(Op::Jump(0));
        }
        let behind = code.len();
        ends.into_iter().for_each(|end| code[end] = Op::Jump(behind));
        code[here] = Op::Choose(targets, at);
        Ok(())
    }

    fn shared(&self, name: &Name) -> Result<usize, Fault> {
        let found = self.file.shared.iter().position(|(shared, _)| shared.text == name.text);
        found.ok_or_else(|| {
            let valid = among(self.file.shared.iter().map(|(shared, _)| shared));
            Fault::new(name.at, format!("unknown shared variable `{}`: {valid}", name.text))
        })
    }

    fn exprs(&self, values: &[syntax::Expr], scope: &Scope<'_>) -> Result<Vec<Expr>, Fault> {
        values.iter().map(|value| self.expr(value, scope)).collect()
    }

    fn expr(&self, value: &syntax::Expr, scope: &Scope<'_>) -> Result<Expr, Fault> {
        let mut steps = Vec::new();
        let depth = self.steps(value, scope, &mut steps)?;
        Ok(Expr { steps, depth })
    }

    /// Appends the steps of a value. Returns the maximum number of values waiting for an operator.
    fn steps(&self, value: &syntax::Expr, scope: &Scope<'_>, steps: &mut Vec<Step>) -> Result<usize, Fault> {
        let (step, depth) = match value {
            syntax::Expr::Number(number) => (Step::Number(*number), 1),
            syntax::Expr::Name(name) => (self.value(name, scope)?, 1),
            syntax::Expr::Negative(of, at) => (Step::Negative(*at), self.steps(of, scope, steps)?),
            syntax::Expr::Not(of) => (Step::Not, self.steps(of, scope, steps)?),
            syntax::Expr::Binary(operator, of, at) => {
                let [left, right] = &**of;
                let left = self.steps(left, scope, steps)?;
                let decide = steps.len();
                if matches!(operator, Operator::And | Operator::Or) {
                    steps.push(Step::Decide(*operator, 0));
                }
                let right = self.steps(right, scope, steps)?;
                let behind = steps.len() + 1;
                if let Some(Step::Decide(_, end @ 0)) = steps.get_mut(decide) {
                    *end = behind;
                }
                (Step::Binary(*operator, *at), left.max(right + 1))
            }
        };
        steps.push(step);
        Ok(depth)
    }

    fn value(&self, name: &Name, scope: &Scope<'_>) -> Result<Step, Fault> {
        let is_it = |other: &Name| other.text == name.text;
        if let Some(place) = scope.arguments.iter().position(|argument| argument.is_some_and(is_it)) {
            return Ok(Step::Argument(place));
        }
        if let Some(place) = self.file.params.iter().position(|(param, _)| is_it(param)) {
            return Ok(Step::Number(self.values[place]));
        }
        match self.file.shared.iter().position(|(shared, _)| is_it(shared)) {
            Some(place) if scope.shared => Ok(Step::Shared(place)),
            Some(_) => {
                let says = "is a shared variable, and initial tasks are made before any task runs";
                Err(Fault::new(name.at, format!("`{}` {says}", name.text)))
            }
            None => Err(self.unknown_variable(name, scope)),
        }
    }

    fn unknown_variable(&self, name: &Name, scope: &Scope<'_>) -> Fault {
        let shared = if scope.shared { &self.file.shared[..] } else { &[] };
        let globals = self.file.params.iter().chain(shared).map(|(global, _)| global);
        let valid = among(scope.arguments.iter().copied().flatten().chain(globals));
        Fault::new(name.at, format!("unknown variable `{}`: {valid}", name.text))
    }

    fn init(&self, init: &syntax::Init) -> Result<Init, Fault> {
        let scope = Scope { arguments: vec![init.range.as_ref().map(|range| &range.variable)], shared: false };
        let outside = Scope { arguments: Vec::new(), shared: false };
        let kind = self.kind(&init.task.kind, init.task.arguments.len())?;
        let range = init.range.as_ref().map(|range| {
            let [first, last] = [self.expr(&range.first, &outside)?, self.expr(&range.last, &outside)?];
            Ok(Range { first, last, down: range.down })
        });
        Ok(Init { kind, arguments: self.exprs(&init.task.arguments, &scope)?, range: range.transpose()? })
    }
}

/// The valid names, for a message.
fn among<'a>(names: impl Iterator<Item = &'a Name>) -> String {
    let all: Vec<_> = names.map(|name| name.text.as_str()).collect();
    if all.is_empty() { "there are none".to_owned() } else { format!("there are {}", all.join(", ")) }
}

/// Adds the variables of descendants to each type, because a task declares the reads and sets of
/// itself and its descendants.
fn close_over_children(types: &mut [Type]) {
    let mut uses: Vec<Uses> = types.iter().map(Uses::of).collect();
    let mut grows = uses.iter().any(|uses| !uses.reads.is_empty() || !uses.writes.is_empty());
    while grows {
        grows = false;
        for parent in 0..types.len() {
            for child in children(&types[parent]) {
                let of_child = uses[child].clone();
                grows |= uses[parent].add(of_child);
            }
        }
    }
    for (kind, Uses { reads, writes }) in types.iter_mut().zip(uses) {
        kind.reads = reads.difference(&writes).copied().collect();
        kind.writes = writes.into_iter().collect();
    }
}

/// The shared variables read by a type's tasks, and those set by them.
#[derive(Clone, Default)]
struct Uses {
    reads: BTreeSet<usize>,
    writes: BTreeSet<usize>,
}

impl Uses {
    fn of(kind: &Type) -> Self {
        let mut uses = Uses::default();
        for production in &kind.productions {
            production.guard.iter().for_each(|guard| uses.read(guard));
            production.code.iter().for_each(|op| uses.step(op));
        }
        uses
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Time(Time::Constant(value), _) => self.read(value),
            Op::Time(Time::Drawn(_, values), _) | Op::Create(_, values) => values.iter().for_each(|v| self.read(v)),
            Op::Set(shared, value) => {
                self.writes.insert(*shared);
                self.read(value);
            }
            Op::Choose(targets, _) => {
                targets.iter().filter_map(|(weight, _)| weight.as_ref()).for_each(|v| self.read(v))
            }
            Op::Jump(_) => {}
        }
    }

    fn read(&mut self, value: &Expr) {
        let shared = |step: &Step| if let Step::Shared(shared) = step { Some(*shared) } else { None };
        self.reads.extend(value.steps.iter().filter_map(shared));
    }

    /// Adds variables. Returns whether there are more than before.
    fn add(&mut self, other: Uses) -> bool {
        let before = (self.reads.len(), self.writes.len());
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        before != (self.reads.len(), self.writes.len())
    }
}

fn children(kind: &Type) -> Vec<usize> {
    let code = kind.productions.iter().flat_map(|production| &production.code);
    code.filter_map(|op| if let Op::Create(child, _) = op { Some(*child) } else { None }).collect()
}
