//! The watchdog names the body that keeps a worker busy. Another process reads the output.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use millpond::{BuildError, Handle, Inline, Runtime, Spawn};

use super::latch::latch;
use crate::common::{alone, builder, limit};

fn watched(workers: usize) -> Runtime {
    watched_for(workers, Duration::from_millis(20))
}

fn watched_for(workers: usize, time: Duration) -> Runtime {
    builder(workers).inline(Inline::Never).watchdog(time).build().expect("in range")
}

#[test]
fn it_names_a_body_that_keeps_its_worker() {
    limit(60, "a watchdog", || {
        let told = |text: &str| text.matches("has been in `long(7)` for").count() >= 2;
        let text = alone("dump::watchdog::a_body_keeps_its_worker", told);
        assert!(text.contains("millpond: worker 1 has been in `long(7)` for "), "{text}");
        assert!(!text.contains("short") && !text.contains("no body has run"), "{text}");
    });
}

/// Ends after the watchdog has reported it and stdin is closed.
#[test]
#[ignore = "run by `it_names_a_body_that_keeps_its_worker`, in a process of its own"]
fn a_body_keeps_its_worker() {
    limit(50, "a body", || {
        // On a busy machine, a thread may not run for tens of milliseconds. That is no long body.
        let (rt, (body, latch)) = (watched_for(2, Duration::from_millis(500)), latch());
        rt.scope(|s| {
            let latch = latch;
            s.task("long").index([7]).priority(1).spawn((), move |()| body());
            latch.entered();
            (0..100).for_each(|_| drop(s.task("short").spawn((), |()| ())));
            _ = std::io::stdin().read_line(&mut String::new());
            latch.open();
        })
        .expect("nothing fails");
    });
}

#[test]
fn it_counts_the_bodies_that_cannot_go_on() {
    limit(60, "a watchdog", || {
        let told = |text: &str| text.contains("suspended bod");
        let text = alone("dump::watchdog::a_body_waits_below_another", told);
        assert!(
            text.contains("has been in `inner` for ") && text.contains("while it holds 1 suspended body"),
            "{text}"
        );
    });
}

#[test]
#[ignore = "run by `it_counts_the_bodies_that_cannot_go_on`, in a process of its own"]
fn a_body_waits_below_another() {
    limit(50, "a body", || {
        let rt = watched(1);
        rt.scope(|s| {
            s.task("outer").nest((), |s, ()| {
                let inner = s.task("inner").spawn((), |()| _ = std::io::stdin().read_line(&mut String::new()));
                s.wait(inner).expect("it does not fail");
            });
        })
        .expect("nothing fails");
    });
}

#[test]
fn it_is_silent_where_nothing_is_long() {
    limit(60, "a watchdog", || {
        let text = alone("dump::watchdog::nothing_is_long", |_| true);
        assert!(!text.contains("millpond:"), "{text}");
    });
}

#[test]
#[ignore = "run by `it_is_silent_where_nothing_is_long`, in a process of its own"]
fn nothing_is_long() {
    limit(50, "short bodies", || {
        let rt = builder(2).watchdog(Duration::from_secs(10)).build().expect("in range");
        let (session, sum) = (rt.session(), Handle::new(0));
        (0..100).for_each(|_| drop(session.spawn(sum.inout(), |sum| *sum += 1)));
        // While no scope or session is open, the watchdog sleeps.
        session.close().wait().expect("nothing fails");
        std::thread::sleep(Duration::from_millis(50));
    });
}

#[test]
fn the_runtime_ends_while_the_error_output_is_not_read() {
    limit(60, "a watchdog", || {
        let program = std::env::current_exe().expect("this program has a path");
        let test = "dump::watchdog::the_error_output_is_full";
        let mut command = Command::new(program);
        command.args(["--exact", test, "--ignored", "--test-threads=1", "--nocapture"]);
        let mut run =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (mut output, _unread) = (run.stdout.take().expect("a pipe"), run.stderr.take());
        let mut report = String::new();
        output.read_to_string(&mut report).expect("a pipe can be read");
        assert!(run.wait().expect("it ends").success(), "{report}");
        assert!(report.contains("1 passed"), "{report}");
    });
}

#[test]
#[ignore = "run by `the_runtime_ends_while_the_error_output_is_not_read`, in a process of its own"]
fn the_error_output_is_full() {
    // A thread that is late could not report it.
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(50));
        std::process::abort();
    });
    let (rt, (body, latch)) = (watched(2), latch());
    let written = Arc::new(AtomicUsize::new(0));
    let fills = Arc::clone(&written);
    std::thread::spawn(move || {
        while std::io::stderr().write_all(&[b'.'; 1024]).is_ok() {
            fills.fetch_add(1, Relaxed);
        }
    });
    let mut before = 0;
    while before == 0 || written.load(Relaxed) > before {
        before = written.load(Relaxed);
        std::thread::sleep(Duration::from_millis(100));
    }
    rt.scope(|s| {
        let latch = latch;
        s.task("long").priority(1).spawn((), move |()| body());
        latch.entered();
        // Longer than the watchdog's limit.
        std::thread::sleep(Duration::from_millis(200));
    })
    .expect("nothing fails");
    drop(rt);
}

#[test]
fn the_time_is_checked() {
    let error = builder(1).watchdog(Duration::ZERO).build().unwrap_err();
    assert!(matches!(error, BuildError::OutOfRange { given: 0, .. }), "{error}");
    assert!(error.to_string().starts_with("watchdog (in milliseconds) is 0, must be 1 to "), "{error}");
}
