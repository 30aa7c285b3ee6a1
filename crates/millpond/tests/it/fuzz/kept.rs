//! What keeps a runtime. The drop of the last one waits for the bodies of sessions that run.

use std::cell::{Cell, RefCell};
use std::mem;
use std::ops::Deref;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use millpond::catalogue::AnyRuntime;

thread_local! {
    static NEVER_WAITS: Cell<bool> = const { Cell::new(false) };
    static DROPPERS: RefCell<Vec<JoinHandle<()>>> = const { RefCell::new(Vec::new()) };
}

/// This thread is a hand: bodies wait for it, so another thread drops what it would drop.
pub fn never_wait() {
    NEVER_WAITS.set(true);
}

/// Waits for the threads that have dropped what this one would have dropped.
pub fn join_droppers() {
    for dropper in DROPPERS.take() {
        dropper.join().expect("the drop of a runtime does not panic");
    }
}

/// Keeps a runtime.
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
        if let (Some(runtime), true) = (last, NEVER_WAITS.get()) {
            DROPPERS.with_borrow_mut(|droppers| droppers.push(thread::spawn(move || drop(runtime))));
        }
    }
}
