//! The stacks on which bodies run: the message when one overflows, and the behaviour when the
//! system has no more.

use std::future::poll_fn;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;

use crate::common::{alone, builder, limit};
use millpond::item::Item;
use millpond::{BuildError, Engine, Handle, Inline, Kind, Runtime, Scope, Spawn, StackEngine};

/// Fills the stack.
#[expect(unconditional_recursion, reason = "it is to overflow")]
fn deep(bytes: &[u8; 1000]) -> u8 {
    let more = black_box([bytes[0]; 1000]);
    deep(&more) + more[999]
}

/// Runs an ignored test that ends its process. Returns its stderr.
fn dies(test: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", test, "--ignored", "--test-threads=1", "--nocapture"];
    let ended = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    // As std ends a process whose stack has overflowed.
    assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{:?}: {text}", ended.status);
    text
}

#[test]
#[cfg_attr(any(millpond_tsan, millpond_asan), ignore = "the sanitizer has handlers of its own")]
#[cfg_attr(millpond_scheme = "stack", ignore = "there most of them run on the thread's own stack")]
fn an_overflow_names_the_task() {
    let text = dies("stacks_of_bodies::a_leaf_overflows");
    assert!(text.contains("has overflowed its stack"), "{text}");
    assert!(text.contains("task `deep(3,4)` ran on a stack of 131072 bytes"), "{text}");
    assert!(text.contains("`Builder::stack_size`") && text.contains("stack overflow, aborting"), "{text}");
    let text = dies("stacks_of_bodies::a_future_overflows");
    assert!(text.contains("task `polled` ran on a stack of 131072 bytes"), "{text}");
    // Also on top of another body, and after another one on the same worker.
    let text = dies("stacks_of_bodies::a_parent_overflows");
    assert!(text.contains("task `parent` ran on a stack of 262144 bytes"), "{text}");
}

#[test]
#[ignore = "ends its process: run by `an_overflow_names_the_task`"]
fn a_leaf_overflows() {
    let rt = builder(2).stack_size(128 << 10).inline(Inline::Never).build().unwrap();
    let _ = rt.scope(|s| drop(s.task("deep").index([3, 4]).spawn((), |()| black_box(deep(&[1; 1000])))));
}

#[test]
#[ignore = "ends its process: run by `an_overflow_names_the_task`"]
fn a_future_overflows() {
    let rt = builder(2).stack_size(128 << 10).build().unwrap();
    let _ = rt.scope(|s| {
        let polled = s.external().task("polled").pending_future(async {
            black_box(deep(&[1; 1000]));
        });
        let precondition = polled.hold();
        drop(polled);
        // From here on it is in the pool.
        precondition.satisfy();
    });
}

#[test]
#[ignore = "ends its process: run by `an_overflow_names_the_task`"]
fn a_parent_overflows() {
    let rt = builder(1).stack_size(256 << 10).inline(Inline::Never).build().unwrap();
    let _ = rt.scope(|s| {
        s.task("parent").nest((), |s, ()| {
            let child = s.task("child").nest((), |s, ()| {
                // Suspends the stack.
                let mut polls = 0;
                s.block_on(poll_fn(|context| {
                    polls += 1;
                    context.waker().wake_by_ref();
                    if polls > 3 { Poll::Ready(()) } else { Poll::Pending }
                }));
            });
            s.wait(child).unwrap();
            drop(s.task("other").spawn((), |()| ()));
            black_box(deep(&[1; 1000]))
        });
    });
}

#[test]
#[cfg_attr(any(millpond_tsan, millpond_asan), ignore = "the sanitizer has handlers of its own")]
fn an_overflow_in_a_stack_names_the_task() {
    let text = dies("stacks_of_bodies::a_leaf_in_a_stack_overflows");
    assert!(text.contains("task `deep(3,4)` ran on a stack of 262144 bytes"), "{text}");
    let text = dies("stacks_of_bodies::a_parent_in_a_stack_overflows");
    assert!(text.contains("task `inner` ran on a stack of 262144 bytes"), "{text}");
    let text = dies("stacks_of_bodies::a_parent_alone_in_a_stack_overflows");
    assert!(text.contains("task `alone` ran on a stack of 262144 bytes"), "{text}");
}

#[test]
#[ignore = "ends its process: run by `an_overflow_in_a_stack_names_the_task`"]
fn a_leaf_in_a_stack_overflows() {
    let rt = builder(2).stack_size(256 << 10).inline(Inline::Never).build_with::<StackEngine>().unwrap();
    let _ = rt.scope(|s| {
        s.nest((), |s, ()| {
            drop(s.task("before").spawn((), |()| ()));
            let deep = s.task("deep").index([3, 4]).spawn((), |()| black_box(deep(&[1; 1000])));
            s.wait(deep)
        });
    });
}

#[test]
#[ignore = "ends its process: run by `an_overflow_in_a_stack_names_the_task`"]
fn a_parent_in_a_stack_overflows() {
    let rt = builder(2).stack_size(256 << 10).inline(Inline::Never).build_with::<StackEngine>().unwrap();
    let _ = rt.scope(|s| {
        s.nest((), |s, ()| {
            let inner = s.task("inner").nest((), |s, ()| {
                let child = s.task("child").spawn((), |()| 1);
                s.wait(child).unwrap();
                black_box(deep(&[1; 1000]))
            });
            s.wait(inner)
        });
    });
}

#[test]
#[ignore = "ends its process: run by `an_overflow_in_a_stack_names_the_task`"]
fn a_parent_alone_in_a_stack_overflows() {
    let rt = builder(2).stack_size(256 << 10).inline(Inline::Never).build_with::<StackEngine>().unwrap();
    let _ = rt.scope(|s| drop(s.task("alone").nest((), |_, ()| black_box(deep(&[1; 1000])))));
}

/// A fault that is not an overflow goes to the previous handler. So does an overflow of a thread's
/// own stack.
#[test]
#[cfg_attr(any(millpond_tsan, millpond_asan), ignore = "the sanitizer has handlers of its own")]
fn other_faults_are_passed_on() {
    let text = dies("stacks_of_bodies::a_closure_overflows");
    assert!(text.contains("has overflowed its stack") && !text.contains("Builder::stack_size"), "{text}");
    let program = std::env::current_exe().unwrap();
    let test = "stacks_of_bodies::a_body_faults";
    let arguments = ["--exact", test, "--ignored", "--test-threads=1", "--nocapture"];
    let ended = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert_eq!(ended.status.signal(), Some(libc::SIGSEGV), "{ended:?}");
    assert!(!String::from_utf8_lossy(&ended.stderr).contains("overflowed"), "{ended:?}");
}

#[test]
#[ignore = "ends its process: run by `other_faults_are_passed_on`"]
fn a_closure_overflows() {
    let rt = builder(1).stack_size(128 << 10).build().unwrap();
    let _ = rt.scope(|_| black_box(deep(&[1; 1000])));
}

#[test]
#[ignore = "ends its process: run by `other_faults_are_passed_on`"]
fn a_body_faults() {
    let rt = builder(1).inline(Inline::Never).build().unwrap();
    // SAFETY: nothing is mapped there, so the access faults, as this test needs.
    let _ = rt
        .scope(|s| drop(s.spawn((), |()| unsafe { black_box(std::ptr::without_provenance::<u8>(8)).read_volatile() })));
}

/// Moves an array of 40 KB into a task that a body spawns, and returns it.
fn capture_much<E: Engine>(rt: &Runtime<E>) {
    rt.scope(|s| {
        s.nest((), |s, ()| {
            let much = [1_u8; 40_000];
            let join = s.spawn((), move |()| much);
            assert!(s.wait(join).unwrap().iter().all(|&byte| byte == 1));
        });
    })
    .unwrap();
}

/// On stacks of the default size, also without optimization.
#[test]
fn a_closure_of_40_kb_fits() {
    alone("stacks_of_bodies::bodies_move_40_kb", |_| false);
}

#[test]
#[ignore = "run by `a_closure_of_40_kb_fits`, in a process of its own, which an overflow ends"]
fn bodies_move_40_kb() {
    for inline in [Inline::Auto, Inline::Never] {
        capture_much(&builder(1).inline(inline).build().unwrap());
        capture_much(&builder(1).inline(inline).build_with::<StackEngine>().unwrap());
    }
}

/// Under a limit on addresses, a runtime with many workers runs or is refused.
#[test]
#[cfg_attr(any(millpond_tsan, millpond_asan), ignore = "the sanitizer takes more addresses")]
fn addresses_run_out() {
    let program = std::env::current_exe().unwrap();
    // The program itself takes at most as much as its file. It does not start with less.
    let own = program.metadata().unwrap().len() >> 20;
    for megabytes in [10, 30, 100, 200, 300, 500, 700, 1500, 6000].map(|more| own + more) {
        let limited = format!("ulimit -v {}; exec \"$0\" \"$@\"", megabytes << 10);
        let test = "stacks_of_bodies::many_workers_under_a_limit";
        let arguments = ["--exact", test, "--ignored", "--test-threads=1", "--nocapture"];
        let ended = Command::new("sh").args(["-c", &limited]).arg(&program).args(arguments).output().unwrap();
        let (out, error) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(
            ended.status.success() && out.contains("1 passed"),
            "with {megabytes} MB: {:?}: {out}{error}",
            ended.status
        );
    }
}

#[test]
#[ignore = "run by `addresses_run_out`, under a limit"]
fn many_workers_under_a_limit() {
    let sum = Handle::new(0);
    match builder(32).build() {
        Ok(rt) => {
            let waits = |s: &Scope<'_, '_, _>| {
                for _ in 0..1000 {
                    s.nest(sum.inout(), |s, sum| {
                        let join = s.spawn(sum.inout(), |sum| *sum += 1);
                        s.wait(join)
                    });
                }
            };
            // A wait may be refused. Everything else works.
            if rt.scope(waits).is_ok() {
                assert!(sum.into_inner().is_ok_and(|sum| sum == 1000));
            }
        }
        Err(BuildError::Stack { .. } | BuildError::Thread(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn stacks_run_out() {
    alone("stacks_of_bodies::bodies_take_all_stacks", |_| false);
}

/// As many bodies wait as there are stacks. Then a wait fails, and everything else works.
#[test]
#[ignore = "run by `stacks_run_out`, in a process of its own, whose stacks these are"]
fn bodies_take_all_stacks() {
    let bodies = 40_000;
    limit(120, "more bodies wait than there are stacks", || {
        let rt = builder(1).stack_size(128 << 10).inline(Inline::Never).window(100_000).build().unwrap();
        let (end, waited, refused) = (Item::new(), AtomicUsize::new(0), AtomicUsize::new(0));
        rt.scope(|s| {
            for n in 0..bodies {
                let (end, waited, refused) = (&end, &waited, &refused);
                s.nest((), move |s, ()| {
                    let mut own = s.handle(n);
                    let leaf = s.spawn(own.inout(), |own| *own += 1);
                    let waits = s.wait(leaf).and_then(|()| s.wait_on(&mut own).map(|own| assert_eq!(*own, n + 1)));
                    if let Err(error) = waits {
                        let Kind::NoStack { waiting } = error.kind() else { panic!("{error}") };
                        assert!(*waiting > 1000, "{error}");
                        refused.fetch_add(1, Relaxed);
                    } else {
                        waited.fetch_add(1, Relaxed);
                        s.block_on(poll_fn(|context| match end.get() {
                            None if n > 0 && end.wake(context.waker()) => Poll::Pending,
                            _ => Poll::Ready(()),
                        }));
                    }
                    if n == 0 || refused.load(Relaxed) > 100 {
                        let _ = end.put(());
                    }
                });
            }
        })
        .unwrap();
        let (waited, refused) = (waited.into_inner(), refused.into_inner());
        assert_eq!(waited + refused, bodies, "{waited} have waited, {refused} were refused");
    });
}
