//! Linux system calls that std does not offer.
//!
//! They go through libc, which the fibers need anyway. A crate with safe wrappers for these calls
//! takes longer to compile than all other dependencies together.

pub(crate) use super::faults::{SignalStack, on_fault};
use std::mem::{self, MaybeUninit};
use std::ptr::NonNull;

/// The processors that a thread may use.
#[derive(Clone, Copy)]
pub(crate) struct Processors(libc::cpu_set_t);

impl Processors {
    /// The processors of the calling thread; `None` if the system does not say.
    pub(crate) fn of_this_thread() -> Option<Processors> {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: the system writes at most the given size; 0 is this thread.
        let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) };
        // SAFETY: a set of bits, for which zeros are valid, and which the system has written.
        (failed == 0).then(|| Processors(unsafe { set.assume_init() }))
    }

    /// The processor with this index among them, in ascending order. Indices wrap around.
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

    /// Binds the calling thread to these processors. Returns whether the system does that.
    pub(crate) fn bind_this_thread(&self) -> bool {
        // SAFETY: the system reads the given number of bytes; 0 is this thread.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) == 0 }
    }
}

/// The number of nanoseconds by which the system may prolong the sleeps of the calling thread;
/// `None` if the system does not say.
pub(crate) fn timer_slack() -> Option<u64> {
    // SAFETY: this call of the system takes no pointer.
    let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    u64::try_from(slack).ok().filter(|&slack| slack > 0)
}

/// Sets the timer slack. If the system refuses, sleeps stay as they were.
pub(crate) fn set_timer_slack(nanoseconds: u64) {
    // SAFETY: this call of the system takes no pointer.
    let _refused = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanoseconds as libc::c_ulong) };
}

/// Asks for huge pages. Only a hint.
pub(crate) fn advise_huge_pages(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the contents of the memory stay as they are. The system may ignore the advice.
    let _no_hint = unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
}

/// The requests of [`barrier`](super::barrier) to the system.
#[cfg(not(loom))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Membarrier {
    /// Registers the process, so that it can use the other request.
    Register = 1 << 4,
    /// Interrupts every running thread of this process.
    Heavy = 1 << 3,
}

/// Calls `membarrier(2)`. Returns whether the system did it.
#[cfg(not(loom))]
pub(crate) fn membarrier(command: Membarrier) -> bool {
    // SAFETY: this call of the system takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command as libc::c_int, 0, 0) == 0 }
}

#[cfg(not(loom))]
unsafe extern "C" {
    /// Part of POSIX. Old versions of the crate libc do not have it.
    fn pthread_atfork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) -> libc::c_int;
}

/// Makes a forking thread call `prepare` before the fork, and afterwards `parent` in the parent and
/// `child` in the child. Without memory, no handlers are installed.
#[cfg(not(loom))]
pub(crate) fn at_fork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    // SAFETY: functions of this program, which stay loaded.
    let _no_memory = unsafe { pthread_atfork(prepare, parent, child) };
}

/// The number of bytes of a memory page.
pub(crate) fn page_size() -> usize {
    // SAFETY: takes no pointer. Safe in a signal handler.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// The number of bytes of addresses that this process may still map, if the system limits them
/// (`ulimit -v`). It maps none to find out, because another thread might need them at that moment.
pub(crate) fn addresses_left() -> Option<usize> {
    let limit = limit_of_addresses()?;
    // The first number is the mapped size, in pages.
    let mapped = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mapped = mapped.split(' ').next()?.parse::<usize>().ok()?.saturating_mul(page_size());
    Some(limit.saturating_sub(mapped))
}

/// The number of bytes of addresses that this process may have, if the system limits them.
fn limit_of_addresses() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the system writes the limit there.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    (told == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as usize)
}

/// The name of the calling thread, padded with zeros. Safe in a signal handler.
pub(crate) fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: the system writes at most 16 bytes.
    let _nameless = unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// Prints to standard error, at once. Safe in a signal handler.
pub(crate) fn print_error(text: &[u8]) {
    // SAFETY: `text` has this many bytes. A failure cannot be reported.
    let _not_printed = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}
