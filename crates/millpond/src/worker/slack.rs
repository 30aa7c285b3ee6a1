//! Sleeps that end on time: the system lets a thread sleep some 50 µs longer than it asked for, unless it is told otherwise.

use std::num::NonZero;

/// The thread's sleeps end on time, until this is dropped.
#[derive(Debug)]
pub(crate) struct OnTime {
    before: Option<NonZero<u64>>,
}

impl OnTime {
    pub(crate) fn begin() -> Self {
        // Where the system refuses, sleeps are as they were, and no error.
        let before = rustix::thread::current_timer_slack().ok().and_then(NonZero::new);
        let _is_shorter = rustix::thread::set_current_timer_slack(NonZero::new(1));
        OnTime { before }
    }
}

impl Drop for OnTime {
    fn drop(&mut self) {
        if self.before.is_some() {
            let _is_as_before = rustix::thread::set_current_timer_slack(self.before);
        }
    }
}
