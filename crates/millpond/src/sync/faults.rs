//! Memory faults: a signal handler that works together with other handlers, and its stack.

use std::alloc::{Layout, alloc, dealloc};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use libc::{c_int, c_void, sigaction, siginfo_t, stack_t};

use super::process;

/// Linux raises the first for an inaccessible address, and the second for a mapped file that has
/// become shorter.
const FAULTS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Returns whether a fault at this address must end the process. If so, it has printed a message.
type Tell = fn(usize) -> bool;

static TELL: OnceLock<Tell> = OnceLock::new();

/// The previous actions.
static BEFORE: [OnceLock<sigaction>; 2] = [const { OnceLock::new() }; 2];

/// Makes the signal handler call `tell` when an access of the program faults. Only the first call
/// has an effect.
pub(crate) fn on_fault(tell: Tell) {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    process::once(&INSTALLED, || {
        TELL.get_or_init(|| tell);
        for (signal, before) in FAULTS.into_iter().zip(&BEFORE) {
            let handler = handle as extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
            if let Some(action) = replace(signal, &action(handler as usize, libc::SA_SIGINFO | libc::SA_ONSTACK)) {
                before.get_or_init(|| action);
            }
        }
    });
}

fn action(handler: usize, flags: c_int) -> sigaction {
    // SAFETY: a structure of the system, for which zeros are valid. It blocks no signal.
    let mut action: sigaction = unsafe { mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (handler, flags);
    action
}

/// Sets the action of a signal. Returns the previous action, unless the system refuses.
fn replace(signal: c_int, by: &sigaction) -> Option<sigaction> {
    let mut before = action(libc::SIG_DFL, 0);
    // SAFETY: two structures of the system. The handler in the first is a function of this program,
    // or the system's own.
    let failed = unsafe { sigaction(signal, by, &mut before) };
    (failed == 0).then_some(before)
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system calls this function with the description of a signal.
    let info_here = unsafe { &*info };
    // SAFETY: a fault has an address. If a process has raised the signal, other fields are at that
    // place, and are read as an address.
    let address = unsafe { info_here.si_addr() }.addr();
    // If a process has raised the signal, no access has faulted.
    let is_fault = info_here.si_code > 0;
    if is_fault && TELL.get().is_some_and(|tell| tell(address)) {
        std::process::abort();
    }
    let before = FAULTS.iter().position(|&fault| fault == signal).and_then(|fault| BEFORE[fault].get());
    match before.filter(|before| ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction)) {
        Some(before) if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: by its flags, it is a function of this type.
            let before: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                unsafe { mem::transmute(before.sa_sigaction) };
            before(signal, info, context);
        }
        Some(before) => {
            // SAFETY: by its flags, it is a function of this type.
            let before: extern "C" fn(c_int) = unsafe { mem::transmute(before.sa_sigaction) };
            before(signal);
        }
        // A fault happens again when this returns, and ends the process. A raised signal does not
        // repeat, so this raises it again.
        None => {
            replace(signal, &action(libc::SIG_DFL, 0));
            if !is_fault {
                // SAFETY: takes no pointer; this thread gets the signal when the handler returns.
                let _ = unsafe { libc::raise(signal) };
            }
        }
    }
}

/// The stack for the signal handlers of a thread. It is used until this is dropped.
pub(crate) struct SignalStack(NonNull<u8>);

impl SignalStack {
    /// Many times the size that the handler uses, with the state that the system saves there.
    const LAYOUT: Layout = match Layout::from_size_align(64 << 10, 64) {
        Ok(layout) => layout,
        Err(_) => panic!("a power of 2"),
    };

    /// Makes a stack for this thread, unless it has one.
    pub(crate) fn if_there_is_none() -> Option<SignalStack> {
        let mut before = Self::described(ptr::null_mut(), 0);
        // SAFETY: the system writes the description of the current stack.
        let failed = unsafe { libc::sigaltstack(ptr::null(), &mut before) };
        if failed != 0 || before.ss_flags & libc::SS_DISABLE == 0 {
            return None;
        }
        // SAFETY: the size of the layout is not 0.
        let stack = SignalStack(NonNull::new(unsafe { alloc(Self::LAYOUT) })?);
        // SAFETY: nothing else uses this memory until the drop.
        let failed = unsafe { libc::sigaltstack(&Self::described(stack.0.as_ptr(), 0), ptr::null_mut()) };
        // If the call has failed, the drop frees the memory.
        (failed == 0).then_some(stack)
    }

    fn described(start: *mut u8, flags: c_int) -> stack_t {
        stack_t { ss_sp: start.cast(), ss_flags: flags, ss_size: Self::LAYOUT.size() }
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        // SAFETY: this thread has no other signal stack, and no handler runs on it now.
        let _had_none =
            unsafe { libc::sigaltstack(&Self::described(ptr::null_mut(), libc::SS_DISABLE), ptr::null_mut()) };
        // SAFETY: the memory was allocated with this layout, and the system does not use it any
        // more.
        unsafe { dealloc(self.0.as_ptr(), Self::LAYOUT) };
    }
}
