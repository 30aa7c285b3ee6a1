//! Several joins at once: the values in order, or one failure.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use crate::error::Error;
use crate::runtime::session::SessionJoin;

/// The results of several joins so far: their values, or the first failure. Causes come before
/// consequences, as for a scope.
#[derive(Debug)]
pub(crate) struct Gathered<O> {
    values: Vec<O>,
    failure: Option<Error>,
}

impl<O> Gathered<O> {
    pub(crate) fn of(joins: usize) -> Self {
        Gathered { values: Vec::with_capacity(joins), failure: None }
    }

    /// Adds the next join's result.
    pub(crate) fn add(&mut self, result: Result<O, Error>) {
        match (result, &self.failure) {
            (Ok(value), None) => self.values.push(value),
            (Ok(_), Some(_)) => {}
            (Err(error), Some(first)) if error.is_consequence() || !first.is_consequence() => drop(error),
            (Err(error), _) => {
                self.failure = Some(error);
                // No caller gets them.
                self.values = Vec::new();
            }
        }
    }

    pub(crate) fn result(self) -> Result<Vec<O>, Error> {
        match self.failure {
            None => Ok(self.values),
            Some(error) => Err(error),
        }
    }
}

/// The values of several tasks of sessions, as one future. Made by [`SessionJoin::all`].
#[must_use = "a future does nothing until it is awaited; its tasks run anyway"]
#[derive(Debug)]
pub struct SessionJoins<O> {
    current: Option<SessionJoin<O>>,
    left: vec::IntoIter<SessionJoin<O>>,
    /// `None` after it was ready.
    gathered: Option<Gathered<O>>,
}

impl<O> SessionJoins<O> {
    pub(crate) fn new(joins: Vec<SessionJoin<O>>) -> Self {
        let gathered = Some(Gathered::of(joins.len()));
        SessionJoins { current: None, left: joins.into_iter(), gathered }
    }
}

impl<O> Future for SessionJoins<O> {
    type Output = Result<Vec<O>, Error>;

    /// # Panics
    ///
    /// If polled again after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let gathered = this.gathered.as_mut().expect("joins are not polled after they were ready");
        // One after the other: the tasks run meanwhile, so no time is lost.
        while let Some(mut join) = this.current.take().or_else(|| this.left.next()) {
            match Pin::new(&mut join).poll(context) {
                Poll::Ready(result) => gathered.add(result),
                Poll::Pending => {
                    this.current = Some(join);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(this.gathered.take().expect("checked above").result())
    }
}

impl<O> Unpin for SessionJoins<O> {}
