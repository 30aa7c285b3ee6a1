//! References that keep a runtime. The drop of the last one waits for running bodies of sessions.

use std::cell::RefCell;
use std::mem;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use millpond::catalogue::AnyRuntime;

/// The threads that have dropped runtimes in place of hands.
pub type Droppers = Arc<Mutex<Vec<JoinHandle<()>>>>;

thread_local! {
    static DROPPERS: RefCell<Option<Droppers>> = const { RefCell::new(None) };
}

/// This thread is a hand. Bodies wait for it, so another thread drops its values.
pub fn never_wait(droppers: &Droppers) {
    DROPPERS.set(Some(droppers.clone()));
}

/// Keeps a runtime alive.
#[derive(Clone)]
pub struct Kept(Option<Arc<AnyRuntime>>);

impl Kept {
    pub fn new(runtime: AnyRuntime) -> Self {
        Kept(Some(Arc::new(runtime)))
    }
}

impl Deref for Kept {
    type Target = AnyRuntime;

    fn deref(&self) -> &AnyRuntime {
        self.0.as_ref().expect("it is there until the drop")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let last = mem::take(&mut self.0).and_then(Arc::into_inner);
        let Some(runtime) = last else { return };
        DROPPERS.with_borrow(|droppers| {
            if let Some(droppers) = droppers {
                let dropper = thread::spawn(move || drop(runtime));
                droppers.lock().unwrap_or_else(PoisonError::into_inner).push(dropper);
            }
        });
    }
}
