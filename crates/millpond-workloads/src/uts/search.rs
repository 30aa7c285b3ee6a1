//! The shared parts of both workloads on these trees: a job with the counts.

use super::{Params, Published, Tally, Tree, serial};
use crate::Error;
use crate::form::Form;
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, Verdict};
use millpond::catalogue::AnyRuntime;
use std::cell::OnceCell;
use std::hint::black_box;
use std::marker::PhantomData;

/// A program that counts a tree.
pub(crate) trait Program: 'static {
    /// Whether its tasks can be portable, too.
    const HAS_FORMS: bool;

    /// The minimum number of its tasks, for a tree of at least these counts.
    fn count(tally: Tally) -> u64;
    /// The counts by tasks, and the number of tasks. If the workload has two forms, `form` selects
    /// one.
    fn tasks(tree: Tree, form: Form, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(Tally, u64), Error>;
}

/// Checks the options.
pub(crate) fn prepare<P: Program>(options: &Options) -> Result<Box<dyn Job>, Error> {
    let (params, form) = (Params::new(options)?, Form::new(options));
    let (answer, tasks, serial) = (None, None, OnceCell::new());
    Ok(Box::new(Search::<P> { params, form, answer, tasks, serial, program: PhantomData }))
}

struct Search<P> {
    params: Params,
    form: Form,
    /// The last answer.
    answer: Option<Tally>,
    /// The number of tasks in the last run.
    tasks: Option<u64>,
    /// The answer of the serial program.
    serial: OnceCell<Tally>,
    program: PhantomData<P>,
}

impl<P> Search<P> {
    /// The answer of the serial program, which runs once.
    fn known(&self) -> Tally {
        *self.serial.get_or_init(|| serial(black_box(&self.params.tree)))
    }
}

impl<P: Program> Job for Search<P> {
    fn params(&self) -> Vec<(&'static str, Value)> {
        let mut params = self.params.values();
        params.extend(P::HAS_FORMS.then(|| self.form.value()));
        params
    }

    /// Before the first run, a lower bound. For a published tree it does not run the serial
    /// program, which would take hours for the largest ones.
    fn tasks(&self) -> u64 {
        let least = || self.params.published.map_or_else(|| self.known(), Published::least);
        self.tasks.unwrap_or_else(|| P::count(least()))
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let (answer, tasks) = P::tasks(self.params.tree, self.form, runtime, probe)?;
        (self.answer, self.tasks) = (Some(answer), Some(tasks));
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        self.serial.take();
        probe.start();
        let tally = self.known();
        probe.stop();
        self.answer = Some(tally);
        Ok(())
    }

    /// Compares the answer with the published counts, if there are any. Otherwise compares it with
    /// the serial program, which would take hours for the largest published trees.
    fn check(&mut self) -> Result<Verdict, Error> {
        let answer = self.answer.unwrap_or_default();
        let published = self.params.published;
        let serial = if published.is_none() { Some(self.known()) } else { self.serial.get().copied() };
        let verified =
            serial.is_none_or(|serial| serial == answer) && published.is_none_or(|published| published.agrees(answer));
        Ok(Verdict { verified, result: answer.values() })
    }
}
