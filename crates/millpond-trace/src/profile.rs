//! Records and reports in one call.

use millpond::{Engine, Error, Root, Runtime, Scope};

use crate::format::{Recording, Writer};
use crate::report::Report;

/// Methods of a [`Runtime`], available when this trait is in scope.
pub trait Profile {
    /// The parts of the runtime.
    type Engine: Engine;

    /// Runs `f` like [`Runtime::scope`], and reports on it. To return values, `f` writes to
    /// captured variables.
    ///
    /// The recording is kept in memory: about 50 bytes per task. To inspect a recording further,
    /// use [`record`](Profile::record). For a large one, use a [`Writer`] to a file.
    ///
    /// # Errors
    ///
    /// Like [`Runtime::scope`].
    ///
    /// # Panics
    ///
    /// Like [`Runtime::scope`].
    #[track_caller]
    fn profile<'env, F>(&self, f: F) -> Result<Report, Error>
    where
        F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, Self::Engine>);

    /// Records all scopes opened while `f` runs. Returns the result of `f` and the recording.
    ///
    /// ```
    /// use millpond::{Runtime, Spawn};
    /// use millpond_trace::Profile;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let (answer, recording) = rt.record(|| rt.scope(|s| s.wait(s.spawn((), |()| 42))));
    /// assert_eq!((answer??, recording.report()?.tasks), (42, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn record<R>(&self, f: impl FnOnce() -> R) -> (R, Recording);
}

impl<E: Engine> Profile for Runtime<E> {
    type Engine = E;

    #[track_caller]
    fn profile<'env, F>(&self, f: F) -> Result<Report, Error>
    where
        F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, Self::Engine>),
    {
        let (result, recording) = self.record(|| self.scope(f));
        result?;
        Ok(recording.report().expect("what was just written can be read"))
    }

    fn record<R>(&self, f: impl FnOnce() -> R) -> (R, Recording) {
        let program = std::env::args().next().unwrap_or_default();
        let recorder = self.recorder();
        let writer = if recorder.is_real() {
            Writer::to_memory(&program, self.workers())
        } else {
            Writer::of_clock(&program, self.workers())
        };
        let recording = recorder.add(writer.clone());
        let result = f();
        drop(recording);
        (result, writer.finish_in_memory().expect("what was just written can be read"))
    }
}
