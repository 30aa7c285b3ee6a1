//! Bodies that stand until they are told to go on, and looking at dumps.

use std::sync::mpsc::{Receiver, Sender, channel};

use millpond::Runtime;
use millpond::record::dump::{Dump, Unfinished};

use crate::common::Mutex;

/// Holds a body; lets it go when it is dropped, too, so that a failing test ends.
pub struct Gate {
    entered: Mutex<Receiver<()>>,
    open: Mutex<Option<Sender<()>>>,
}

/// A body that stands at a gate. Its task needs a priority: a lone task without one may be left to its spawner, who
/// does something else.
pub fn gate() -> (impl FnOnce() + Send, Gate) {
    let ((enter, entered), (open, opened)) = (channel(), channel::<()>());
    let body = move || {
        // Errors say that the gate is gone.
        let _ = enter.send(());
        let _ = opened.recv();
    };
    (body, Gate { entered: Mutex::new(entered), open: Mutex::new(Some(open)) })
}

impl Gate {
    /// Waits until the body stands there.
    pub fn entered(&self) {
        self.entered.lock().recv().expect("the body says so");
    }

    pub fn open(&self) {
        drop(self.open.lock().take());
    }
}

/// The body of that label.
pub fn find<'a>(dump: &'a Dump, label: &str) -> &'a Unfinished {
    let found = dump.unfinished.iter().find(|body| body.label.to_string() == label);
    found.unwrap_or_else(|| panic!("no {label} in\n{dump}"))
}

/// What it waits for: `access: names and how many more`, with a semicolon between.
pub fn after(body: &Unfinished) -> String {
    let one = |wait: &millpond::record::dump::WaitsFor| {
        let names: Vec<_> = wait.tasks.iter().map(|task| task.label.to_string()).collect();
        let more = if wait.more > 0 { format!(" and {}", wait.more) } else { String::new() };
        let access = wait.access.map_or("body".to_owned(), |access| access.to_string());
        format!("{access}: {}{more}", names.join(" "))
    };
    body.waits_for.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Dumps until the test agrees: what a body does next, cannot be waited for.
pub fn until(rt: &Runtime, test: impl Fn(&Dump) -> bool) -> Dump {
    loop {
        let dump = rt.dump();
        if test(&dump) {
            return dump;
        }
        std::thread::yield_now();
    }
}

/// Nothing is unfinished.
pub fn empty(rt: &Runtime) {
    let dump = rt.dump();
    assert!(dump.kept && dump.unfinished.is_empty(), "{dump}");
}
