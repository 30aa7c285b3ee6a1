//! Recording: a [`Sink`] learns what each task did, and when.
//!
//! A [`Runtime`](crate::Runtime) records while its [`Recorder`] has a sink. Each worker writes
//! [`Event`]s to its own event buffer (`record::buffer`). A buffer that is full or
//! [drained](Recorder::drain) goes to the sinks. The recording contains the scopes opened
//! meanwhile, with all their descendants, and what workers did in between. Without a sink,
//! recording costs a few tests of loaded words per task.
//!
//! The crate `millpond-trace` makes files, reports and pictures from events. Use this module for
//! your own tools.
//!
//! ```
//! use millpond::record::{Event, Sink, Track, What};
//! use millpond::{Runtime, Spawn};
//! use std::sync::{Arc, Mutex};
//!
//! #[derive(Default)]
//! struct Bodies(Mutex<u32>);
//! impl Sink for Bodies {
//!     fn take(&self, _track: Track, events: &[Event]) {
//!         let started = events.iter().filter(|event| matches!(event.what, What::Started { .. }));
//!         *self.0.lock().unwrap() += started.count() as u32;
//!     }
//! }
//!
//! let (rt, bodies) = (Runtime::new()?, Arc::new(Bodies::default()));
//! let recording = rt.recorder().add(bodies.clone());
//! rt.scope(|s| (0..10).for_each(|_| drop(s.spawn((), |()| ()))))?;
//! drop(recording);
//! assert_eq!(*bodies.0.lock().unwrap(), 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use crate::sync::atomic::{AtomicBool, Ordering, fence};
use crate::sync::global::atomic as global;
use crate::sync::{Mutex, process};
pub use crate::task::Id;
pub use event::{Cause, Event, Role, What};

pub(crate) mod buffer;
mod delivery;
pub mod dump;
mod event;
pub(crate) mod live;
pub(crate) mod log;

use crate::record::buffer::EventBuffer;
use delivery::{Batch, Delivery};

/// The number of tracks of this process so far. Bodies are numbered by track, and one runtime may
/// learn of another's bodies.
static TRACKS: global::AtomicU32 = global::AtomicU32::new(0);

/// The number of different track numbers: the numbers of bodies have room for this many. After the
/// last one, they start again.
const MAX_TRACKS: u32 = 1 << (u64::BITS - log::NUMBER_BITS);

/// Where recorded events go.
pub trait Sink: Send + Sync {
    /// Takes events of one track, in order, after the track's earlier events. The caller is a
    /// worker in the middle of its work, or a draining thread; one thread at a time calls it. It
    /// should not take long: it uses the time of the program's workers.
    ///
    /// It must not wait for a worker: if very many events are in transit to the sinks, workers wait
    /// for the sinks.
    ///
    /// The recorder holds no lock meanwhile: the sink may use it, and drop a [`Recording`] of it.
    /// Events that the sink drains go to the sinks after it returns. The caller may be in the
    /// middle of a spawn, so the sink cannot open a scope, spawn on a session or wait in one: that
    /// panics. A panic of a sink is caught, and this sink misses these events.
    fn take(&self, track: Track, events: &[Event]);
}

/// The track of one worker, or of a place that acts as a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track {
    /// Unique among the tracks of the recorder. In the process, the number repeats after 2^24
    /// others.
    pub number: u32,
    /// The worker's number. It is `None` for the seat of a further caller or of a session, and for
    /// threads without a seat.
    pub worker: Option<u32>,
}

/// Records what runtimes do, for sinks. A clone is cheap, and is the same recorder.
///
/// Every runtime has one ([`Runtime::recorder`](crate::Runtime::recorder)). A program that needs
/// the recorder before the runtime makes one, and gives it to
/// [`Builder::recorder`](crate::Builder::recorder).
///
/// Several runtimes may share one. Then several workers may have the same number, and tracks
/// distinguish them. If the closure of a scope spawns in an enclosing scope of another runtime, the
/// spawn is on a track of that other runtime, where the outer closure waits.
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

struct Inner {
    on: AtomicBool,
    clock: Option<fn() -> u64>,
    event_buffers: Mutex<Vec<Arc<EventBuffer>>>,
    /// Copied when it changes, so that events in transit go to the earlier sinks.
    sinks: Mutex<Sinks>,
    delivery: Delivery,
    /// The generation of the process that made it (`sync::process`).
    generation: u32,
}

type Sinks = Arc<Vec<Arc<dyn Sink>>>;

/// A recording in progress. It ends when this is dropped. See [`Recorder::add`].
#[must_use = "dropped, it ends"]
pub struct Recording {
    recorder: Recorder,
    sink: Arc<dyn Sink>,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder::new()
    }
}

impl Recorder {
    /// A recorder without a sink.
    pub fn new() -> Self {
        Recorder::made(None)
    }

    /// A recorder that reads `clock` instead of the processor's time. Use it for simulated time,
    /// and for tests.
    ///
    /// ```
    /// use millpond::record::Recorder;
    /// use millpond::{Runtime, Spawn};
    ///
    /// thread_local! {
    ///     static NOW: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    /// }
    /// let recorder = Recorder::with_clock(|| NOW.get());
    /// let rt = Runtime::builder().recorder(&recorder).build()?;
    /// // Each body takes as long as it says, on whatever thread it runs.
    /// rt.scope(|s| drop(s.spawn((), |()| NOW.set(NOW.get() + 1000))))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_clock(clock: fn() -> u64) -> Self {
        Recorder::made(Some(clock))
    }

    fn made(clock: Option<fn() -> u64>) -> Self {
        Recorder(Arc::new(Inner {
            on: AtomicBool::new(false),
            clock,
            event_buffers: Mutex::new(Vec::new()),
            sinks: Mutex::default(),
            delivery: Delivery::default(),
            generation: process::generation(),
        }))
    }

    /// Whether this process is the child of a fork. There, the recorder gives the sinks nothing: a
    /// thread of the parent may have held any of its locks, and the sinks write to what the parent
    /// has opened.
    pub(crate) fn is_forked(&self) -> bool {
        self.0.generation != process::generation()
    }

    /// Records for `sink` until the returned value is dropped. A scope and its tasks are recorded
    /// if it was opened while there was any sink, and as long as there is one. So a later sink may
    /// get events of tasks without the opening of their scope.
    ///
    /// After the drop of the value, the sink has got all events of scopes that have returned. This
    /// does not hold if a sink drops the value ([`Sink::take`]), or in the child of a
    /// [fork](crate::Runtime#forks), where sinks get nothing.
    pub fn add(&self, sink: Arc<dyn Sink>) -> Recording {
        // The events in the buffers are not for this sink.
        self.drain();
        self.change_sinks(|sinks| sinks.push(sink.clone()));
        Recording { recorder: self.clone(), sink }
    }

    /// Gives the events in the event buffers to the sinks. It stops no thread. They include all
    /// events from before the call, and perhaps some from during the call. If another thread is
    /// giving events to the sinks, it waits for that thread.
    pub fn drain(&self) {
        if self.is_forked() {
            return;
        }
        let event_buffers: Vec<_> = self.0.event_buffers.lock().clone();
        event_buffers
            .iter()
            .for_each(|event_buffer| event_buffer.drain(|events| self.send(event_buffer.track(), events)));
        drop(event_buffers);
        self.0.delivery.deliver_all();
        self.0.event_buffers.lock().retain(|event_buffer| !is_dead(event_buffer) || !event_buffer.is_drained());
    }

    /// The current time, as in events.
    #[inline]
    pub fn now(&self) -> u64 {
        self.0.clock.map_or_else(ticks, |clock| clock())
    }

    /// Whether the time is the processor's, in [`ticks`].
    pub fn is_real(&self) -> bool {
        self.0.clock.is_none()
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.0.on.load(Ordering::Relaxed)
    }

    /// Makes an event buffer for one more seat.
    pub(crate) fn event_buffer(&self, worker: Option<u32>) -> Arc<EventBuffer> {
        let mut event_buffers = self.0.event_buffers.lock();
        if !self.is_on() {
            // There is no sink for the events of these. Without this, a recorder whose runtimes
            // come and go would grow.
            event_buffers.retain(|event_buffer| !is_dead(event_buffer));
        }
        let mut numbers = std::iter::repeat_with(|| TRACKS.fetch_add(1, global::Ordering::Relaxed) % MAX_TRACKS);
        let free =
            numbers.find(|&number| event_buffers.iter().all(|event_buffer| event_buffer.track().number != number));
        let number = free.expect("a recorder has fewer tracks than there are numbers");
        let event_buffer = Arc::new(EventBuffer::new(Track { number, worker }));
        event_buffers.push(Arc::clone(&event_buffer));
        event_buffer
    }

    pub(crate) fn is(&self, other: &Recorder) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Queues events of an event buffer for the sinks, in the order of the calls.
    /// [`deliver`](Recorder::deliver) follows, without the lock of the event buffer.
    pub(crate) fn send(&self, track: Track, events: &[Event]) {
        let sinks = { self.0.sinks.lock().clone() };
        self.0.delivery.send(Batch { track, events: events.into(), sinks });
    }

    /// Gives the queued events to the sinks, unless another thread does that.
    pub(crate) fn deliver(&self) {
        self.0.delivery.deliver();
    }

    fn change_sinks(&self, change: impl FnOnce(&mut Vec<Arc<dyn Sink>>)) {
        let mut sinks = self.0.sinks.lock();
        let mut changed = Vec::clone(&sinks);
        change(&mut changed);
        self.0.on.store(!changed.is_empty(), Ordering::Release);
        let before = std::mem::replace(&mut *sinks, Arc::new(changed));
        drop(sinks);
        // This may drop the last reference to a sink.
        drop(before);
    }
}

/// Whether an event buffer belongs to a runtime that is gone: then only the recorder's list refers
/// to it. The last event of its worker happens before this returns `true`.
fn is_dead(event_buffer: &Arc<EventBuffer>) -> bool {
    let dead = Arc::strong_count(event_buffer) == 1;
    fence(Ordering::Acquire);
    dead
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("on", &self.is_on()).finish_non_exhaustive()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.recorder.is_forked() {
            return;
        }
        self.recorder.drain();
        self.recorder.change_sinks(|sinks| {
            if let Some(at) = sinks.iter().position(|sink| Arc::ptr_eq(sink, &self.sink)) {
                // `self` has another reference to the sink.
                sinks.swap_remove(at);
            }
        });
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}

/// The processor's time stamp, in its own unit. On machines of the last decade, its rate is
/// constant, and it is the same on all processors. On architectures other than x86-64, the unit is
/// nanoseconds.
#[inline]
pub fn ticks() -> u64 {
    crate::clock::ticks()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::limit::limit;
    use crate::{Inline, Runtime, Spawn};

    /// When the numbers of tracks start again, the numbers of bodies stay distinct, and a dump is
    /// right.
    #[test]
    fn more_tracks_than_numbers() {
        let recorder = Recorder::default();
        let first = recorder.event_buffer(None);
        // As if that many tracks had been made since: the next ones get to the number of the first
        // again.
        TRACKS.store((MAX_TRACKS - 3).wrapping_add(first.track().number), global::Ordering::Relaxed);
        let later: Vec<_> = (0..6).map(|_| recorder.event_buffer(None).track().number).collect();
        assert!(later.iter().all(|&number| number < MAX_TRACKS && number != first.track().number), "{later:?}");
        TRACKS.store(MAX_TRACKS, global::Ordering::Relaxed);
        limit(60, "more tracks than numbers", dump_meanwhile);
    }

    fn dump_meanwhile() {
        let rt = Runtime::builder().workers(4).inline(Inline::Never).dumps(true).build().unwrap();
        let done = AtomicBool::new(false);
        // A dump meanwhile reads one track before the others.
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert!(rt.dump().kept);
                }
            });
            for _ in 0..1000 {
                rt.scope(|s| (0..100).for_each(|_| drop(s.spawn((), |()| ())))).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(rt.dump().unfinished.is_empty(), "{}", rt.dump());
    }
}
