//! Bodies that wait until a test opens a latch, and functions that read dumps.

use std::sync::mpsc::{Receiver, Sender, channel};

use millpond::Runtime;
use millpond::record::dump::{Dump, Unfinished};

use crate::common::Mutex;

/// Holds a body. It also opens when it is dropped, so that a failing test ends.
pub struct Latch {
    entered: Mutex<Receiver<()>>,
    open: Mutex<Option<Sender<()>>>,
}

/// A body that waits at a latch. Its task needs a priority: otherwise a lone task may be left to
/// its spawner, which is busy.
pub fn latch() -> (impl FnOnce() + Send, Latch) {
    let ((enter, entered), (open, opened)) = (channel(), channel::<()>());
    let body = move || {
        // An error means that the latch was dropped.
        let _ = enter.send(());
        let _ = opened.recv();
    };
    (body, Latch { entered: Mutex::new(entered), open: Mutex::new(Some(open)) })
}

impl Latch {
    /// Waits until the body has reached the latch.
    pub fn entered(&self) {
        self.entered.lock().recv().expect("the body says so");
    }

    pub fn open(&self) {
        drop(self.open.lock().take());
    }
}

/// The unfinished body with that label.
pub fn find<'a>(dump: &'a Dump, label: &str) -> &'a Unfinished {
    let found = dump.unfinished.iter().find(|body| body.label.to_string() == label);
    found.unwrap_or_else(|| panic!("no {label} in\n{dump}"))
}

/// What it waits for, as `access: names and how many more`, separated by semicolons.
pub fn after(body: &Unfinished) -> String {
    let one = |wait: &millpond::record::dump::WaitsFor| {
        let names: Vec<_> = wait.tasks.iter().map(|task| task.label.to_string()).collect();
        let more = if wait.more > 0 { format!(" and {}", wait.more) } else { String::new() };
        let access = wait.access.map_or("body".to_owned(), |access| access.to_string());
        format!("{access}: {}{more}", names.join(" "))
    };
    body.waits_for.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Dumps until the test holds. There is no event for what a body does next.
pub fn until(rt: &Runtime, test: impl Fn(&Dump) -> bool) -> Dump {
    loop {
        let dump = rt.dump();
        if test(&dump) {
            return dump;
        }
        std::thread::yield_now();
    }
}

/// Asserts that nothing is unfinished.
pub fn empty(rt: &Runtime) {
    let dump = rt.dump();
    assert!(dump.kept && dump.unfinished.is_empty(), "{dump}");
}
