//! The results of bodies: a value, or a `Result`.
//!
//! The body of [`Spawn::spawn`](crate::Spawn::spawn) returns its task's value. The body of
//! [`Spawn::try_spawn`](crate::Spawn::try_spawn) returns a `Result`. Both are an [`Outcome`] of
//! that value. Each is compiled separately, so the first costs nothing.

use std::error::Error as StdError;

use crate::error::{Error, Label};
use crate::panics::PanicPayload;

/// An error of any type.
pub(crate) type Boxed = Box<dyn StdError + Send + Sync>;

/// The type that a body returns to make the value `O` of its task.
#[doc(hidden)]
pub trait Outcome<O> {
    /// The value, or the error.
    fn into_result(self) -> Result<O, Boxed>;

    /// Whether there is a value.
    fn has_succeeded(&self) -> bool;
}

impl<O> Outcome<O> for O {
    #[inline(always)]
    fn into_result(self) -> Result<O, Boxed> {
        Ok(self)
    }

    #[inline(always)]
    fn has_succeeded(&self) -> bool {
        true
    }
}

/// The result of a body that may fail.
#[doc(hidden)]
#[derive(Debug)]
pub struct Tried<O>(Result<O, Boxed>);

impl<O> Tried<O> {
    #[inline(always)]
    pub fn of<X: Into<Boxed>>(result: Result<O, X>) -> Self {
        Tried(result.map_err(Into::into))
    }
}

impl<O> Outcome<O> for Tried<O> {
    #[inline(always)]
    fn into_result(self) -> Result<O, Boxed> {
        self.0
    }

    #[inline(always)]
    fn has_succeeded(&self) -> bool {
        self.0.is_ok()
    }
}

/// Why a body left no value. One word, so that the result of a successful body stays in registers.
#[derive(Debug)]
pub(crate) struct NoValue(Box<Why>);

#[derive(Debug)]
enum Why {
    Panicked(PanicPayload),
    Returned(Boxed),
}

impl NoValue {
    #[cold]
    fn panicked(caught: PanicPayload) -> Self {
        NoValue(Box::new(Why::Panicked(caught)))
    }

    #[cold]
    fn returned(error: Boxed) -> Self {
        NoValue(Box::new(Why::Returned(error)))
    }

    /// The failure of the task.
    #[cold]
    pub(crate) fn error(self, task: Label) -> Error {
        match *self.0 {
            Why::Panicked(caught) => caught.error(task),
            Why::Returned(error) => Error::returned(task, error.into()),
        }
    }
}

/// The value of a body that has returned, or panicked.
#[inline(always)]
pub(crate) fn value_of<O, R: Outcome<O>>(ended: Result<R, PanicPayload>) -> Result<O, NoValue> {
    match ended {
        Ok(returned) => returned.into_result().map_err(NoValue::returned),
        Err(caught) => Err(NoValue::panicked(caught)),
    }
}
