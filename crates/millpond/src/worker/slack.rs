//! Sleeps that end on time. By default the system may let a thread sleep about 50 µs longer than it
//! asked for.

use crate::sync::system;

/// While this value exists, the thread's sleeps end on time.
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
