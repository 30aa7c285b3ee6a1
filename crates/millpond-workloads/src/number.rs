//! The shared parts of workloads whose answer is a number: a size, a cutoff, and a job with the
//! number.

use crate::Error;
use crate::form::{Form, TASKS};
use crate::options::{Opt, Options, Value};
use crate::workload::{Job, Probe, Verdict};
use millpond::catalogue::AnyRuntime;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::marker::PhantomData;

/// The size, and the cutoff of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// The size of the problem.
    pub n: u64,
    /// Parts up to this size run without tasks.
    pub cutoff: u64,
}

/// The option for the size.
pub(crate) const fn n(help: &'static str, range: (u64, u64), default: u64) -> Opt {
    Opt::integer("n", help, range, Some(default))
}

/// The option for the cutoff. A cutoff above the size has the same effect as the size.
pub(crate) const fn cutoff(help: &'static str, max: u64) -> Opt {
    Opt::integer("cutoff", help, (0, max), Some(0))
}

/// A program whose answer is one number.
pub(crate) trait Program: 'static {
    /// Its options: the size, the cutoff, and [`TASKS`] if its tasks can be portable, too.
    const OPTIONS: &'static [Opt];
    /// The name of the answer in `result`.
    const ANSWER: &'static str;

    /// The number of its tasks.
    fn count(params: Params) -> u64;
    /// The answer by tasks. If the workload has two forms, `form` selects one.
    fn tasks(params: Params, form: Form, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<u64, Error>;
    /// The answer without tasks.
    fn serial(params: Params) -> u64;
    /// The known answer.
    fn known(params: Params) -> Option<u64>;
}

/// Checks the options of `P`.
pub(crate) fn prepare<P: Program>(options: &Options) -> Result<Box<dyn Job>, Error> {
    let params = Params { n: options.get(&P::OPTIONS[0])?, cutoff: options.get(&P::OPTIONS[1])? };
    Ok(Box::new(Number::<P> { params, form: Form::new(options), answer: 0, program: PhantomData }))
}

struct Number<P> {
    params: Params,
    form: Form,
    answer: u64,
    program: PhantomData<P>,
}

impl<P: Program> Job for Number<P> {
    fn params(&self) -> Vec<(&'static str, Value)> {
        let mut params = vec![("n", Value::Integer(self.params.n)), ("cutoff", Value::Integer(self.params.cutoff))];
        params.extend(P::OPTIONS.iter().any(|opt| opt.name == TASKS.name).then(|| self.form.value()));
        params
    }

    fn tasks(&self) -> u64 {
        P::count(self.params)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        self.answer = P::tasks(self.params, self.form, runtime, probe)?;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        self.answer = P::serial(black_box(self.params));
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let verified = P::known(self.params) == Some(self.answer);
        Ok(Verdict { verified, result: vec![(P::ANSWER, Value::Integer(self.answer))] })
    }
}
