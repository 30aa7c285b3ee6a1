//! User code that the runtime calls may use the runtime, wait, or be called again. The runtime
//! holds no lock over such a call.

use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use crate::common::{Mutex, builder, forever, limit, silence_expected_panics};
use millpond::item::Item;
use millpond::record::{Event, Recorder, Recording, Sink, Track};
use millpond::{Handle, Inline, Kind, Reducer, Runtime, Spawn};

/// A runtime that is never dropped, for values that use it at any time.
fn kept(workers: usize, inline: Inline) -> &'static Runtime {
    forever(builder(workers).inline(inline).build().unwrap())
}

/// Waits in a body: its worker runs other tasks meanwhile. It waits for another thread, so that it
/// does not return at once.
fn wait_a_little(rt: &Runtime) {
    let (session, told) = (rt.session(), Arc::new(Item::new()));
    let tells = told.clone();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(2));
        tells.put(()).unwrap();
    });
    session.block_on(poll_fn(|context| if told.wake(context.waker()) { Poll::Pending } else { Poll::Ready(()) }));
    thread.join().unwrap();
}

/// A reducer that adds. Its identity waits before it returns 0.
#[derive(Clone, Copy)]
struct Patient(&'static Runtime);

impl PartialEq for Patient {
    fn eq(&self, _: &Patient) -> bool {
        true
    }
}

impl Eq for Patient {}

impl Reducer<u64> for Patient {
    fn identity(&self, _: &u64) -> u64 {
        wait_a_little(self.0);
        0
    }

    fn combine(&self, into: &mut u64, part: u64) {
        *into += part;
    }
}

#[test]
fn an_identity_may_wait() {
    limit(60, "identities that wait", || {
        for (workers, inline) in [(1, Inline::Never), (2, Inline::Never), (2, Inline::Auto)] {
            let (rt, sum) = (kept(workers, inline), Handle::new(0));
            rt.scope(|s| {
                for _ in 0..20 {
                    s.spawn(sum.reduce(Patient(rt)), |part| *part += 1);
                }
            })
            .unwrap();
            assert_eq!(sum.into_inner().unwrap(), 20);
        }
    });
}

/// Its identity panics at every second call.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fickle;

static CALLS: AtomicUsize = AtomicUsize::new(0);

impl Reducer<u64> for Fickle {
    fn identity(&self, _: &u64) -> u64 {
        assert!(CALLS.fetch_add(1, Relaxed).is_multiple_of(2), "no identity");
        0
    }

    fn combine(&self, into: &mut u64, part: u64) {
        *into += part;
    }
}

/// The exclusive access is released.
#[test]
fn an_identity_may_panic_between_others() {
    limit(60, "identities that panic", || {
        let (rt, sum) = (kept(2, Inline::Never), Handle::new(0_u64));
        let result = rt.scope(|s| (0..20).for_each(|_| drop(s.spawn(sum.reduce(Fickle), |part| *part += 1))));
        let Err(error) = result else { panic!("each second identity panics") };
        assert_eq!(error.kind(), &Kind::Panicked("no identity".into()));
    });
}

/// An error that uses the runtime when it is dropped.
#[derive(Debug)]
struct Lingers(&'static Runtime);

impl fmt::Display for Lingers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lingers")
    }
}

impl std::error::Error for Lingers {}

static GONE: AtomicUsize = AtomicUsize::new(0);

impl Drop for Lingers {
    fn drop(&mut self) {
        wait_a_little(self.0);
        GONE.fetch_add(1, Relaxed);
    }
}

#[test]
fn an_error_may_wait_where_it_is_dropped() {
    limit(60, "errors that wait", || {
        for (workers, inline) in [(1, Inline::Never), (2, Inline::Never), (2, Inline::Auto)] {
            let rt = kept(workers, inline);
            GONE.store(0, Relaxed);
            let result = rt.scope(|s| {
                // Some tasks fail before the scope waits for a task, and forgets their failures.
                // Others fail while it waits.
                let fail = |priority| {
                    for _ in 0..10 {
                        s.task("fails").priority(priority).try_spawn((), |()| Err::<(), _>(Lingers(rt)));
                    }
                };
                fail(2);
                let well = s.task("well").priority(1).spawn((), |()| ());
                fail(0);
                s.wait(well).unwrap();
            });
            let Err(error) = result else { panic!("all tasks fail") };
            assert_eq!(error.kind(), &Kind::Failed);
            drop(error);
            assert_eq!(GONE.load(Relaxed), 20);
        }
    });
}

/// A sink that calls everything that a sink may call.
#[derive(Default)]
struct Meddles {
    recorder: OnceLock<Recorder>,
    runtime: OnceLock<&'static Runtime>,
    own: Mutex<Option<Recording>>,
    events: AtomicUsize,
    calls: AtomicUsize,
}

impl Sink for Meddles {
    fn take(&self, _track: Track, events: &[Event]) {
        self.events.fetch_add(events.len(), Relaxed);
        if self.calls.fetch_add(1, Relaxed) > 3 {
            return;
        }
        let (recorder, rt) = (self.recorder.get().unwrap(), self.runtime.get().unwrap());
        recorder.drain();
        drop(recorder.add(Arc::new(Meddles::default())));
        assert!(!rt.dump().kept);
        // It may be called in the middle of a spawn.
        let scope = catch_unwind(AssertUnwindSafe(|| rt.scope(|s| drop(s.spawn((), |()| ())))));
        assert!(scope.is_err(), "a sink has opened a scope");
        millpond::join(|| (), || ());
        panic!("goes no further");
    }
}

/// A second sink. The events of the first one do not block it.
struct Counts(AtomicUsize);

impl Sink for Counts {
    fn take(&self, _track: Track, events: &[Event]) {
        self.0.fetch_add(events.len(), Relaxed);
    }
}

#[test]
fn a_sink_may_use_the_recorder() {
    silence_expected_panics();
    limit(60, "sinks that meddle", || {
        let rt = kept(2, Inline::Never);
        let (meddles, counts) = (Arc::new(Meddles::default()), Arc::new(Counts(AtomicUsize::new(0))));
        meddles.recorder.set(rt.recorder().clone()).ok().unwrap();
        meddles.runtime.set(rt).ok().unwrap();
        let (own, other) = (rt.recorder().add(meddles.clone()), rt.recorder().add(counts.clone()));
        *meddles.own.lock() = Some(own);
        // More events than fit into the event buffers.
        for _ in 0..5 {
            rt.scope(|s| (0..1000).for_each(|_| drop(s.spawn((), |()| ())))).unwrap();
        }
        drop(other);
        drop(meddles.own.lock().take());
        assert!(counts.0.load(Relaxed) >= 5 * 3 * 1000, "{}", counts.0.load(Relaxed));
        assert!(meddles.events.load(Relaxed) >= counts.0.load(Relaxed));
    });
}

/// Records more events than fit into an event buffer.
fn record_much(rt: &Runtime) {
    rt.scope(|s| (0..3000).for_each(|_| drop(s.spawn((), |()| ())))).unwrap();
}

/// A sink that waits for a thread that is recorded.
struct Waits {
    recorder: Recorder,
    calls: AtomicUsize,
}

impl Sink for Waits {
    fn take(&self, _track: Track, _events: &[Event]) {
        if self.calls.fetch_add(1, Relaxed) < 3 {
            let recorder = self.recorder.clone();
            let record = move || record_much(&builder(2).recorder(&recorder).build().unwrap());
            thread::spawn(record).join().unwrap();
        }
    }
}

#[test]
fn a_sink_may_wait_for_a_thread_that_is_recorded() {
    limit(60, "sinks that wait", || {
        let recorder = Recorder::new();
        let rt = builder(2).recorder(&recorder).build().unwrap();
        let waits = Arc::new(Waits { recorder: recorder.clone(), calls: AtomicUsize::new(0) });
        let recording = recorder.add(waits.clone());
        record_much(&rt);
        drop(recording);
        assert!(waits.calls.load(Relaxed) > 3);
    });
}
