//! Names of tasks that are made at run time. Errors, dumps and recordings show them.

use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::{Arc, Barrier};
use std::thread;

use crate::common::{Mutex, alone, builder, limit, must_not_run, runtime, silence_expected_panics};
use crate::conformance::on_every_row;
use millpond::record::{Event, Recorder, Sink, Track, What};
use millpond::{Handle, Inline, Kind, Spawn};

/// The number of texts that the process keeps (`millpond::TaskName`).
const MAX_NAMES: usize = 65_536;

#[test]
fn errors_have_them() {
    silence_expected_panics();
    for inline in [Inline::Never, Inline::Always] {
        on_every_row!(60, "built names", builder(2).inline(inline), rt => {
            let (x, word) = (Handle::<u32>::unset(), Handle::new(String::from("mill")));
            let error = rt.scope(|s| {
                // The text outlives the value that it was built from.
                let name = format!("read {}", 7);
                s.task(name).index([1, 2]).spawn(x.read(), |_| must_not_run());
            });
            let error = error.unwrap_err();
            assert_eq!((error.task().name(), error.task().indices()), (Some("read 7"), &[1, 2][..]));
            assert_eq!(error.to_string(), "task `read 7(1,2)` reads a handle that was never written (access 0)");
            let error = rt.scope(|s| {
                s.task(format!("break {}", 3)).spawn(word.inout(), |_| resume_unwind(Box::new("expected")));
                s.task(Cow::Borrowed("look")).nest(word.read(), |_, _| must_not_run());
            });
            assert_eq!(error.unwrap_err().task().name(), Some("break 3"));
            match word.into_inner().unwrap_err().kind() {
                Kind::Poisoned { by } => assert_eq!(by.to_string(), "break 3"),
                other => panic!("{other}"),
            }
            let session = rt.session();
            let join = session.task(format!("session {}", 1)).try_spawn((), |()| Err::<(), _>("no"));
            assert_eq!(session.wait(join).unwrap_err().to_string(), "task `session 1` failed: no");
            assert!(session.close().wait().is_err());
        });
    }
}

/// Without a name, an error shows the place of the spawn, although a pool may have linked the task
/// (decision 46).
#[test]
fn errors_without_them_have_the_place() {
    silence_expected_panics();
    on_every_row!(60, "places", builder(1).inline(Inline::Never), rt => {
        let place = |line: u32| format!("{}:{line}", file!());
        let fails = |n: usize| if n > 2 { resume_unwind(Box::new("expected")) };
        let line = line!() + 3;
        let error = rt.scope(|s| {
            for n in 0..5 {
                s.spawn((), move |()| fails(n));
            }
        });
        assert_eq!(error.unwrap_err().task().to_string(), place(line));
        let session = rt.session();
        let line = line!() + 1;
        let joins: Vec<_> = (0..5).map(|n| session.spawn((), move |()| fails(n))).collect();
        for (n, join) in joins.into_iter().enumerate() {
            let error = session.wait(join).err().map(|error| error.task().to_string());
            assert_eq!(error, (n > 2).then(|| place(line)));
        }
        assert!(session.close().wait().is_err());
    });
}

#[test]
fn external_tasks_have_them() {
    limit(20, "names of external tasks", || {
        let rt = runtime(2);
        let error = rt.scope(|s| drop(s.external().task(format!("wait {}", 1)).pending(|| ()).hold()));
        assert_eq!(error.unwrap_err().to_string(), "task `wait 1` waited for a precondition that was dropped");
        let error = rt.scope(|s| {
            s.external().task(format!("poll {}", 2)).run_future(async { resume_unwind(Box::new("expected")) });
        });
        assert_eq!(error.unwrap_err().task().name(), Some("poll 2"));
        let error = rt.scope(|s| {
            let later = s.scope_handle().task(format!("later {}", 3)).pending(|| ());
            drop(later.unwrap().hold());
        });
        assert_eq!(error.unwrap_err().task().name(), Some("later 3"));
    });
}

#[test]
fn dumps_have_them() {
    limit(20, "names in dumps", || {
        let rt = builder(2).inline(Inline::Never).dumps(true).build().unwrap();
        let (begun, go_on) = (Barrier::new(2), Barrier::new(2));
        rt.scope(|s| {
            s.task(format!("body {}", 5)).priority(1).spawn((), |()| {
                begun.wait();
                go_on.wait();
            });
            begun.wait();
            let dump = rt.dump();
            assert!(dump.unfinished.iter().any(|body| body.label.to_string() == "body 5"), "{dump}");
            go_on.wait();
        })
        .unwrap();
    });
}

#[derive(Default)]
struct Names(Mutex<Vec<&'static str>>);

impl Sink for Names {
    fn take(&self, _track: Track, events: &[Event]) {
        let name = |event: &Event| if let What::Named { name } = event.what { Some(name) } else { None };
        self.0.lock().extend(events.iter().filter_map(name));
    }
}

#[test]
fn recordings_have_them() {
    limit(20, "names in recordings", || {
        let (recorder, names) = (Recorder::new(), Arc::new(Names::default()));
        let recording = recorder.add(names.clone());
        let rt = builder(1).recorder(&recorder).build().unwrap();
        rt.scope(|s| (0..3).for_each(|n| drop(s.task(format!("step {}", n % 2)).spawn((), |()| ())))).unwrap();
        drop(rt);
        drop(recording);
        let names = names.0.lock();
        assert_eq!(*names, ["step 0", "step 1", "step 0"]);
        // Sinks may compare addresses: equal texts are stored once.
        assert_eq!(names[0].as_ptr(), names[2].as_ptr());
    });
}

#[test]
fn equal_texts_of_several_threads_are_one() {
    limit(60, "names of threads", || {
        let label = |n: usize| {
            let error = runtime(1).scope(|s| {
                s.task(format!("of threads {n}")).try_spawn((), |()| Err::<(), _>("no"));
            });
            error.unwrap_err().task().name().unwrap()
        };
        let all = || (0..20).map(label).collect::<Vec<_>>();
        let (mine, theirs) = thread::scope(|threads| {
            let other = threads.spawn(all);
            (all(), other.join().unwrap())
        });
        assert!(mine.iter().zip(&theirs).all(|(a, b)| std::ptr::eq(*a, *b)));
    });
}

/// Beyond the limit a task is named by its place. Earlier names continue to work.
#[test]
#[ignore = "run by `names_are_bounded`, in a process of its own"]
fn more_names_than_are_kept() {
    let rt = runtime(1);
    let label = |name: String| {
        let result = rt.scope(|s| drop(s.task(name).index([4]).try_spawn((), |()| Err::<(), _>("no"))));
        *result.unwrap_err().task()
    };
    for n in 0..MAX_NAMES {
        assert!(label(format!("name {n}")).name().is_some());
    }
    let further = label("one more".to_owned());
    assert_eq!((further.name(), further.indices()), (None, &[4][..]));
    assert!(further.to_string().contains("names.rs:"), "{further}");
    assert_eq!(label("name 17".to_owned()).name(), Some("name 17"));
    let result = rt.scope(|s| drop(s.task("static").try_spawn((), |()| Err::<(), _>("no"))));
    assert_eq!(result.unwrap_err().task().name(), Some("static"));
}

#[test]
fn names_are_bounded() {
    alone("names::more_names_than_are_kept", |_| false);
}
