//! Dumps on a signal. Another process reads the output.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use millpond::{BuildError, Inline, Runtime, Spawn};
use signal_hook::consts::{SIGKILL, SIGSEGV, SIGSTOP, SIGUSR1, SIGUSR2};
use signal_hook::low_level::{raise, register, unregister};

use super::latch::latch;
use crate::common::{alone, builder, limit};

/// Whether the text contains that many dumps, each with its last line.
fn has_dumps(text: &str, dumps: usize) -> bool {
    text.matches("millpond: ").count() == dumps && text.ends_with('\n')
}

#[test]
fn a_dump_on_a_signal() {
    limit(60, "a signal", || {
        let text = alone("dump::signal::gets_a_signal", |text| has_dumps(text, 2));
        assert!(text.contains("millpond: 2 unfinished; 2 workers"), "{text}");
        assert!(text.contains(&format!("\nstuck(7)\n    leaf of {}:", file!())), "{text}");
        assert!(text.contains("\n    runs, on worker 1, for "), "{text}");
        assert!(text.contains("millpond: 0 unfinished; 1 worker,"), "the other runtime: {text}");
        assert!(has_dumps(&text, 2), "{text}");
    });
}

#[test]
#[ignore = "run by `a_dump_on_a_signal`, in a process of its own"]
fn gets_a_signal() {
    limit(50, "a signal got", || {
        static OTHER: AtomicUsize = AtomicUsize::new(0);
        // SAFETY: a signal handler may use an atomic addition.
        let other = unsafe { register(SIGUSR1, || _ = OTHER.fetch_add(1, SeqCst)) }.unwrap();
        let asks = |workers| builder(workers).inline(Inline::Never).dump_on_signal(SIGUSR1).build().unwrap();
        let (rt, idle) = (asks(2), asks(1));
        let _deaf = builder(1).dump_on_signal(SIGUSR2).build().unwrap();
        let (body, latch) = latch();
        rt.scope(|s| {
            s.task("stuck").index([7]).priority(1).spawn((), move |()| body());
            latch.entered();
            raise(SIGUSR1).unwrap();
            // Until the other process has read both dumps.
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
            latch.open();
        })
        .unwrap();
        assert_eq!(OTHER.load(SeqCst), 1, "the handler that was there before");
        drop((rt, idle));
        // The signal is still caught, so it ends nothing. It prints nothing, either.
        raise(SIGUSR1).unwrap();
        assert_eq!(OTHER.load(SeqCst), 2);
        unregister(other);
    });
}

/// The runtime threads of this process.
fn threads() -> usize {
    let names = std::fs::read_dir("/proc/self/task").expect("Linux has it");
    let name = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.ok()?.path().join("comm")).ok();
    names.filter_map(name).filter(|name| name.starts_with("millpond-")).count()
}

#[test]
fn threads_end_with_their_runtimes() {
    limit(60, "threads that print", || {
        alone("dump::signal::many_come_and_go", |_| false);
    });
}

#[test]
#[ignore = "run by `threads_end_with_their_runtimes`, in a process of its own"]
fn many_come_and_go() {
    limit(50, "threads that come and go", || {
        for n in 0..200 {
            let rt = builder(1 + n % 2).dump_on_signal(SIGUSR1).build().unwrap();
            assert!(rt.dump().kept);
            if n % 10 == 0 {
                raise(SIGUSR1).unwrap();
            }
        }
        // The printing threads end soon. No thread joins them, and they keep no runtime alive.
        while threads() > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let files = std::fs::read_dir("/proc/self/fd").expect("Linux has it").count();
        assert!(files < 50, "{files} open files");
    });
}

#[test]
fn signals_that_no_handler_may_take() {
    limit(20, "refused signals", || {
        for (signal, name) in
            [(SIGKILL, "9 (SIGKILL)"), (SIGSTOP, "19 (SIGSTOP)"), (SIGSEGV, "11 (SIGSEGV)"), (999, "999"), (-1, "-1")]
        {
            let error = Runtime::builder().dump_on_signal(signal).build().unwrap_err();
            assert!(matches!(error, BuildError::Signal { signal: given, .. } if given == signal));
            assert!(error.to_string().starts_with(&format!("cannot dump on signal {name}: ")), "{error}");
        }
    });
}
