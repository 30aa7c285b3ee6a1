//! The calls of the Linux system that std does not offer.
//!
//! By libc, which the fibers need anyway: a crate with safe wrappers for these calls takes longer to compile than all
//! other dependencies together.

pub(crate) use super::faults::{SignalStack, on_fault};
use std::mem::{self, MaybeUninit};
use std::ptr::NonNull;

/// The processors that a thread may use.
#[derive(Clone, Copy)]
pub(crate) struct Processors(libc::cpu_set_t);

impl Processors {
    /// Those of the calling thread; none if the system does not say.
    pub(crate) fn of_this_thread() -> Option<Processors> {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: the system writes at most the size that it is told; 0 is this thread.
        let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) };
        // SAFETY: a set of bits, for which zeros are valid, and which the system has written.
        (failed == 0).then(|| Processors(unsafe { set.assume_init() }))
    }

    /// The one with this index among them, in ascending order, counted around.
    pub(crate) fn nth(&self, index: usize) -> Option<Processors> {
        // SAFETY: the processor's number is below the size of the set.
        let is_in = |&cpu: &usize| unsafe { libc::CPU_ISSET(cpu, &self.0) };
        let all: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(is_in).collect();
        let cpu = *all.get(index % all.len().max(1))?;
        // SAFETY: a set of bits, for which zeros are valid.
        let mut one: libc::cpu_set_t = unsafe { mem::zeroed() };
        // SAFETY: as above.
        unsafe { libc::CPU_SET(cpu, &mut one) };
        Some(Processors(one))
    }

    /// Binds the calling thread to them; whether the system does that.
    pub(crate) fn bind_this_thread(&self) -> bool {
        // SAFETY: the system reads as many bytes as it is told; 0 is this thread.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) == 0 }
    }
}

/// By how many nanoseconds the system may prolong the sleeps of the calling thread; none if it does not say.
pub(crate) fn timer_slack() -> Option<u64> {
    // SAFETY: this call of the system takes no pointer.
    let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    u64::try_from(slack).ok().filter(|&slack| slack > 0)
}

/// Sets that. Where the system refuses, sleeps are as they were.
pub(crate) fn set_timer_slack(nanoseconds: u64) {
    // SAFETY: this call of the system takes no pointer.
    let _refused = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanoseconds as libc::c_ulong) };
}

/// Asks for huge pages; no more than a hint.
pub(crate) fn advise_huge_pages(start: NonNull<u8>, bytes: usize) {
    // SAFETY: what memory holds stays as it is, and whether the system heeds the advice makes no difference.
    let _no_hint = unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
}

/// What [`barrier`](super::barrier) asks of the system.
#[cfg(not(loom))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Membarrier {
    /// To be able to use the other.
    Register = 1 << 4,
    /// Interrupts every thread of this process that runs.
    Heavy = 1 << 3,
}

/// Calls `membarrier(2)`; whether the system did it.
#[cfg(not(loom))]
pub(crate) fn membarrier(command: Membarrier) -> bool {
    // SAFETY: this call of the system takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command as libc::c_int, 0, 0) == 0 }
}

#[cfg(not(loom))]
unsafe extern "C" {
    /// Part of POSIX. Old versions of libc, the crate, do not have it.
    fn pthread_atfork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) -> libc::c_int;
}

/// Has a thread that forks call `prepare` before, and `parent` and `child` after, in either process. No memory, no handlers.
#[cfg(not(loom))]
pub(crate) fn at_fork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    // SAFETY: functions of this program, which stay.
    let _no_memory = unsafe { pthread_atfork(prepare, parent, child) };
}

/// Bytes of a page of memory.
pub(crate) fn page_size() -> usize {
    // SAFETY: takes no pointer. Safe in a signal handler.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// How many bytes of addresses this process may still map, if the system bounds them (`ulimit -v`). Found out without mapping any:
/// another thread might need them just then.
pub(crate) fn addresses_left() -> Option<usize> {
    let limit = limit_of_addresses()?;
    // In pages; the first number is what is mapped.
    let mapped = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mapped = mapped.split(' ').next()?.parse::<usize>().ok()?.saturating_mul(page_size());
    Some(limit.saturating_sub(mapped))
}

/// How many bytes of addresses this process may have, if the system bounds them.
fn limit_of_addresses() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the system writes the limit there.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    (told == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as usize)
}

/// The name of the calling thread, and zeros, as the system keeps it. Safe in a signal handler.
pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: the system writes at most 16 bytes.
    let _nameless = unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// Prints to the error output, at once. Safe in a signal handler.
pub(crate) fn print_error(text: &[u8]) {
    // SAFETY: so many bytes are there. There is no place to report a failure to.
    let _not_printed = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}
