//! Panics of the user's code that the runtime has caught: their payload, and its drop.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::error::{Error, Kind, Label};

/// The payload of a panic. It may be any value, even one whose drop panics. So it is dropped inside
/// a catch: the runtime's frames must not unwind.
///
/// It takes one word, so that the result of a successful body stays in registers.
pub(crate) struct PanicPayload(Box<Option<Box<dyn Any + Send>>>);

/// Calls the user's code. If it panics, the caller must repair the state that it leaves.
#[inline(always)]
pub(crate) fn catch<R>(call: impl FnOnce() -> R) -> Result<R, PanicPayload> {
    catch_unwind(AssertUnwindSafe(call)).map_err(PanicPayload::new)
}

impl PanicPayload {
    #[cold]
    fn new(payload: Box<dyn Any + Send>) -> Self {
        PanicPayload(Box::new(Some(payload)))
    }

    /// Resumes the panic.
    pub(crate) fn resume(mut self) -> ! {
        resume_unwind(self.0.take().expect("there until the drop"))
    }

    /// The failure of the task that panicked.
    #[cold]
    pub(crate) fn error(&self, task: Label) -> Error {
        Error::new(task, Kind::Panicked(self.text()))
    }

    /// The panic's text.
    pub(crate) fn text(&self) -> String {
        let payload = self.0.as_deref().expect("there until the drop");
        if let Some(text) = payload.downcast_ref::<&'static str>() {
            (*text).to_owned()
        } else if let Some(text) = payload.downcast_ref::<String>() {
            text.clone()
        } else {
            "a payload that is not text".to_owned()
        }
    }
}

impl Drop for PanicPayload {
    fn drop(&mut self) {
        let Some(payload) = self.0.take() else { return };
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            // It is leaked, because dropping this value may panic, too, and so on.
            mem::forget(another);
        }
    }
}

impl std::fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PanicPayload").field(&self.text()).finish()
    }
}

/// Aborts the process when a panic drops it; successful code forgets it. A panic that would leave
/// tasks half done is a fault of the runtime.
pub(crate) struct MustNotUnwind;

impl Drop for MustNotUnwind {
    fn drop(&mut self) {
        eprintln!("millpond: a panic has left a task's frame; this is a fault of the runtime");
        std::process::abort();
    }
}
