//! A running task: it executes its production, step by step, up to the next child.

use super::program::{Arguments, Expr, Init, MAX_ARGUMENTS, Op, Production, Program, Range, Step, Time, Type};
use super::random::Random;
use super::syntax::{Distribution, Fault, Operator, Place};

/// An instance of a task type. Its actions depend only on this and on the shared variables.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    pub kind: usize,
    pub arguments: Arguments,
    /// The seed of its random draws. It depends on the task's position in the tree.
    pub seed: u64,
}

/// The shared variables, as seen by a task.
pub trait Variables {
    fn get(&mut self, shared: usize) -> i64;
    fn set(&mut self, shared: usize, value: i64);
}

/// A task that has begun.
pub struct Frame<'p> {
    program: &'p Program,
    task: Task,
    production: &'p Production,
    /// The next step.
    next: usize,
    random: Random,
    children: u64,
}

impl Program {
    /// The initial tasks, in order.
    pub fn initial(&self, seed: u64) -> Result<Vec<Task>, Fault> {
        let mut tasks = Vec::new();
        for init in &self.init {
            for value in init.values()? {
                if tasks.len() == MAX_INITIAL {
                    let at = self.types[init.kind].productions[0].at;
                    return Err(Fault::new(at, format!("more than {MAX_INITIAL} initial tasks")));
                }
                let mut given = [0; MAX_ARGUMENTS];
                given[0] = value;
                let arguments = arguments(&init.arguments, &given, &mut NoVariables)?;
                tasks.push(Task { kind: init.kind, arguments, seed: Random::of_child(seed, tasks.len() as u64) });
            }
        }
        Ok(tasks)
    }
}

impl Init {
    /// The values of its variable; without a variable, any single value.
    fn values(&self) -> Result<Box<dyn Iterator<Item = i64>>, Fault> {
        let Some(Range { first, last, down }) = &self.range else { return Ok(Box::new(std::iter::once(0))) };
        let given = [0; MAX_ARGUMENTS];
        let [first, last] = [first.value(&given, &mut NoVariables)?, last.value(&given, &mut NoVariables)?];
        Ok(if *down { Box::new((last..=first).rev()) } else { Box::new(first..=last) })
    }
}

/// The maximum number of initial tasks, which all exist at once.
const MAX_INITIAL: usize = 1_000_000;

/// The variables of a task without shared ones.
pub struct NoVariables;

impl Variables for NoVariables {
    fn get(&mut self, _shared: usize) -> i64 {
        unreachable!("resolved: nothing here looks at shared variables")
    }

    fn set(&mut self, _shared: usize, _value: i64) {}
}

impl<'p> Frame<'p> {
    /// Begins a task with the first production whose arguments and guard apply.
    pub fn new(program: &'p Program, task: Task, variables: &mut impl Variables) -> Result<Self, Fault> {
        let production = choose(&program.types[task.kind], &task.arguments, variables)?;
        Ok(Self { program, task, production, next: 0, random: Random::new(task.seed), children: 0 })
    }

    /// The position of its production in the file.
    pub fn at(&self) -> Place {
        self.production.at
    }

    /// Whether it may have children.
    pub fn creates(&self) -> bool {
        self.production.creates()
    }

    /// The type of its task.
    pub fn kind(&self) -> usize {
        self.task.kind
    }

    /// Continues to the next child, or to the end. Calls `takes` for each time.
    pub fn step(&mut self, variables: &mut impl Variables, mut takes: impl FnMut(u64)) -> Result<Option<Task>, Fault> {
        let given = self.task.arguments;
        while let Some(op) = self.production.code.get(self.next) {
            self.next += 1;
            match op {
                Op::Time(time, at) => takes(time.units(*at, &given, variables, &mut self.random)?),
                Op::Set(shared, value) => {
                    let value = value.value(&given, variables)?;
                    variables.set(*shared, value);
                }
                Op::Choose(targets, at) => self.next = drawn(targets, *at, &given, variables, &mut self.random)?,
                Op::Jump(target) => self.next = *target,
                Op::Create(kind, values) => {
                    let arguments = arguments(values, &given, variables)?;
                    let seed = Random::of_child(self.task.seed, self.children);
                    self.children += 1;
                    return Ok(Some(Task { kind: *kind, arguments, seed }));
                }
            }
        }
        Ok(None)
    }

    /// The task as text: `A(3)`.
    pub fn describe(&self) -> String {
        describe(&self.program.types[self.task.kind], &self.task.arguments)
    }
}

/// A task of a type, as text.
pub fn describe(kind: &Type, arguments: &Arguments) -> String {
    if kind.arity == 0 {
        return kind.name.to_owned();
    }
    let all: Vec<_> = arguments[..kind.arity].iter().map(i64::to_string).collect();
    format!("{}({})", kind.name, all.join(", "))
}

fn choose<'p>(kind: &'p Type, given: &Arguments, variables: &mut impl Variables) -> Result<&'p Production, Fault> {
    for production in &kind.productions {
        let is = production.is.iter().zip(given).all(|(is, given)| is.is_none_or(|is| is == *given));
        let applies = is && production.guard.as_ref().map_or(Ok(1), |guard| guard.value(given, variables))? != 0;
        if applies {
            return Ok(production);
        }
    }
    Err(Fault::new(kind.productions[0].at, format!("no production applies to {}", describe(kind, given))))
}

fn arguments(values: &[Expr], given: &Arguments, variables: &mut impl Variables) -> Result<Arguments, Fault> {
    let mut arguments = [0; MAX_ARGUMENTS];
    for (argument, value) in arguments.iter_mut().zip(values) {
        *argument = value.value(given, variables)?;
    }
    Ok(arguments)
}

/// Draws the next target.
fn drawn(
    targets: &[(Option<Expr>, usize)],
    at: Place,
    given: &Arguments,
    variables: &mut impl Variables,
    random: &mut Random,
) -> Result<usize, Fault> {
    let mut weights = Vec::with_capacity(targets.len());
    for (weight, _) in targets {
        weights.push(weight.as_ref().map_or(Ok(1), |weight| weight.value(given, variables))?);
    }
    if let Some(negative) = weights.iter().find(|weight| **weight < 0) {
        return Err(Fault::new(at, format!("an alternative's weight is negative: {negative}")));
    }
    let all: u128 = weights.iter().map(|weight| *weight as u128).sum();
    if all == 0 {
        return Err(Fault::new(at, "all alternatives have the weight 0"));
    }
    let mut left = random.below(all);
    for (weight, (_, target)) in weights.into_iter().zip(targets) {
        match left.checked_sub(weight as u128) {
            Some(less) => left = less,
            None => return Ok(*target),
        }
    }
    unreachable!("less than all weights together")
}

impl Time {
    fn units(
        &self,
        at: Place,
        given: &Arguments,
        variables: &mut impl Variables,
        random: &mut Random,
    ) -> Result<u64, Fault> {
        let units = match self {
            Time::Constant(value) => value.value(given, variables)?,
            Time::Drawn(distribution, values) => {
                let values = arguments(values, given, variables)?;
                return draw(*distribution, [values[0], values[1]], at, random);
            }
        };
        u64::try_from(units).map_err(|_| Fault::new(at, format!("a time is negative: {units}")))
    }
}

/// Draws a time from a distribution. The result is rounded, and is at least 0.
fn draw(distribution: Distribution, [one, other]: [i64; 2], at: Place, random: &mut Random) -> Result<u64, Fault> {
    let refuse = |what: String| Err(Fault::new(at, what));
    match distribution {
        Distribution::Uniform if one < 0 || other < one => refuse(format!("no time is between {one} and {other}")),
        Distribution::Uniform => Ok(one as u64 + random.below((other - one) as u128 + 1) as u64),
        Distribution::Exponential if one < 0 => refuse(format!("the mean of a time is negative: {one}")),
        Distribution::Exponential => Ok((one as f64 * random.exponential()).round() as u64),
        Distribution::Normal if other < 0 => refuse(format!("the deviation of a time is negative: {other}")),
        Distribution::Normal => Ok((one as f64 + other as f64 * random.normal()).round().max(0.0) as u64),
    }
}

/// An evaluation with at most this depth needs no allocation.
const FEW_VALUES: usize = 16;

impl Expr {
    fn value(&self, given: &Arguments, variables: &mut impl Variables) -> Result<i64, Fault> {
        match self.steps[..] {
            [Step::Number(number)] => Ok(number),
            [Step::Argument(place)] => Ok(given[place]),
            _ if self.depth <= FEW_VALUES => self.evaluate(&mut [0; FEW_VALUES], given, variables),
            _ => self.evaluate(&mut vec![0; self.depth], given, variables),
        }
    }

    /// Evaluates on a stack of values. Values in `stack[..height]` wait for an operator.
    fn evaluate(&self, stack: &mut [i64], given: &Arguments, variables: &mut impl Variables) -> Result<i64, Fault> {
        let (mut height, mut next) = (0, 0);
        while let Some(step) = self.steps.get(next) {
            next += 1;
            let pushed = match step {
                Step::Number(number) => *number,
                Step::Argument(place) => given[*place],
                Step::Shared(shared) => variables.get(*shared),
                Step::Not => {
                    stack[height - 1] = i64::from(stack[height - 1] == 0);
                    continue;
                }
                Step::Negative(at) => {
                    let value = stack[height - 1];
                    let negative = value.checked_neg();
                    stack[height - 1] =
                        negative.ok_or_else(|| Fault::new(*at, format!("-({value}) is beyond 64 bits")))?;
                    continue;
                }
                Step::Decide(operator, end) => {
                    if let Some(decided) = operator.decided_by(stack[height - 1]) {
                        stack[height - 1] = decided;
                        next = *end;
                    }
                    continue;
                }
                Step::Binary(operator, at) => {
                    height -= 1;
                    let (left, right) = (stack[height - 1], stack[height]);
                    let applied = operator.apply(left, right);
                    stack[height - 1] = applied.ok_or_else(|| Fault::new(*at, operator.complaint(left, right)))?;
                    continue;
                }
            };
            stack[height] = pushed;
            height += 1;
        }
        Ok(stack[0])
    }
}

impl Operator {
    /// The result of `and` or `or`, if the left side determines it, without evaluating the right
    /// side.
    fn decided_by(self, left: i64) -> Option<i64> {
        match self {
            Operator::And if left == 0 => Some(0),
            Operator::Or if left != 0 => Some(1),
            _ => None,
        }
    }

    fn apply(self, left: i64, right: i64) -> Option<i64> {
        match self {
            Operator::Add => left.checked_add(right),
            Operator::Subtract => left.checked_sub(right),
            Operator::Multiply => left.checked_mul(right),
            Operator::Divide => left.checked_div_euclid(right),
            Operator::Remainder => left.checked_rem_euclid(right),
            Operator::Less => Some((left < right).into()),
            Operator::LessOrEqual => Some((left <= right).into()),
            Operator::Equal => Some((left == right).into()),
            Operator::NotEqual => Some((left != right).into()),
            Operator::GreaterOrEqual => Some((left >= right).into()),
            Operator::Greater => Some((left > right).into()),
            // The left side did not determine the result.
            Operator::And | Operator::Or => Some((right != 0).into()),
        }
    }

    fn complaint(self, left: i64, right: i64) -> String {
        match self {
            Operator::Divide | Operator::Remainder if right == 0 => format!("{left} is divided by 0"),
            Operator::Add => format!("{left} + {right} is beyond 64 bits"),
            Operator::Subtract => format!("{left} - {right} is beyond 64 bits"),
            Operator::Multiply => format!("{left} * {right} is beyond 64 bits"),
            _ => format!("{left} / {right} is beyond 64 bits"),
        }
    }
}
