//! Sleeps that end on time: the system lets a thread sleep some 50 µs longer than it asked for, unless it is told otherwise.

use crate::sync::system;

/// The thread's sleeps end on time, until this is dropped.
#[derive(Debug)]
pub(crate) struct OnTime {
    before: Option<u64>,
}

impl OnTime {
    pub(crate) fn begin() -> Self {
        let before = system::timer_slack();
        system::set_timer_slack(1);
        OnTime { before }
    }
}

impl Drop for OnTime {
    fn drop(&mut self) {
        self.before.into_iter().for_each(system::set_timer_slack);
    }
}
