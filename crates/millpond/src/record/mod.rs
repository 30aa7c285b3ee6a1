//! Recording: what each task did and when, told to a [`Sink`].
//!
//! A [`Runtime`](crate::Runtime) records while its [`Recorder`] has a sink. Each worker writes [`Event`]s to an event buffer of
//! its own (`record::buffer`); a full event buffer, or one that is [drained](Recorder::drain), goes to the sinks. Recorded is
//! what belongs to a scope that was opened meanwhile: its tasks, their descendants, and what workers did in between.
//! While there is no sink, the price is one test of a loaded word a task.
//!
//! The crate `millpond-trace` makes files, reports and pictures of it; this is for tools of one's own.
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

use std::panic::Location;
use std::sync::Arc;

use crate::depend::Mode;
use crate::sync::atomic::{AtomicBool, Ordering, fence};
use crate::sync::global::atomic as global;
use crate::sync::{Mutex, fork};

pub(crate) mod buffer;
mod delivery;
pub mod dump;
pub(crate) mod live;
pub(crate) mod log;

use crate::record::buffer::EventBuffer;
use delivery::{Batch, Delivery};

/// Tracks of this process so far: bodies are numbered by track, and one runtime may be told of another's.
static TRACKS: global::AtomicU32 = global::AtomicU32::new(0);

/// So many numbers of tracks there are: what the numbers of bodies have room for. Then they begin anew.
const MOST_TRACKS: u32 = 1 << (u64::BITS - log::NUMBER_BITS);

/// Where recorded events go.
pub trait Sink: Send + Sync {
    /// Takes what happened on one track, in its order, after what it was given before of that track. Called by a worker
    /// in the middle of its work, or by the thread that drains; by one thread at a time. It should not take long: the
    /// worker's time is that of the program.
    ///
    /// It must not wait for a worker: if very much is on its way to the sinks, workers wait for them.
    ///
    /// No lock of the runtime is held meanwhile. It may use the recorder, and drop a [`Recording`] of it: what is drained
    /// then is given to the sinks after it returns. It cannot open a scope, spawn on a session or wait in one: that panics.
    /// If it panics, the panic goes no further, and this sink misses these events.
    fn take(&self, track: Track, events: &[Event]);
}

/// What happens on one worker, or in one place that takes the part of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track {
    /// No other track of the recorder has it. In the process it comes again after 2^24 others.
    pub number: u32,
    /// The worker's number; `None` for the seat of a further caller or of a session, and for what threads without a
    /// seat do.
    pub worker: Option<u32>,
}

/// The number of a body in a recording: of a task, or of the closure of a root scope. Given once, as far as its
/// [track](Track)'s is; 0 is none.
pub type Id = u64;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When, by [`ticks`] (or the recorder's own clock). Along a track it does not run backwards, but for the clocks of
    /// different processors.
    pub at: u64,
    /// What.
    pub what: What,
}

/// What kind of task was spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// Complete with its body.
    Leaf = 0,
    /// Complete with its body and all descendants.
    Parent = 1,
    /// The runtime's own: combines a reduction.
    Combine = 2,
    /// The second half of a [`join`](crate::join).
    Fork = 3,
}

/// Why a body stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// For a task: `on` is the task, or 0 if it is not recorded. Or for a root scope that it opens on another runtime,
    /// which has the same recorder.
    Join = 0,
    /// For the earlier tasks on a datum (`wait_on`): `on` is the datum.
    Datum = 1,
    /// For the earlier writers of a datum, by a body that may only read it.
    Written = 2,
    /// For room in the window.
    Window = 3,
    /// For a future, or for a session: `on` is 0.
    Others = 4,
}

/// The kinds of events.
///
/// A *body* is the closure of a task or of a root scope. On one track bodies nest: what starts while another body runs
/// there ran on top of it, and that one goes on afterwards. A body that waits ([`Waits`](What::Waits)) runs not until
/// it is [`Resumed`](What::Resumed), and meanwhile others may run on its track.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum What {
    /// A root scope was opened; its closure runs now.
    Opened {
        /// The scope, as a body.
        scope: Id,
        /// The body that opened it, or 0: the one that ran on this track, or one that waits for the scope on another
        /// track, of another runtime.
        within: Id,
        /// Where.
        place: &'static Location<'static>,
    },
    /// A session was opened, whose tasks are spawned wherever it is used. It ends with `Completed`.
    Session {
        /// The session, as a body.
        scope: Id,
        /// Where.
        place: &'static Location<'static>,
    },
    /// A body calls for a task, or the closure of a scope does that it has opened: until `Issued` or `Started`, the time
    /// is the runtime's.
    Spawning {
        /// The body.
        body: Id,
    },
    /// A task was made. Its name, indices and accesses follow at once.
    Spawned {
        /// What kind of task.
        role: Role,
        /// The task.
        task: Id,
        /// The body that it is a child of.
        spawner: Id,
        /// Its place among the children in reference order.
        order: u64,
        /// Where it was spawned.
        place: &'static Location<'static>,
    },
    /// The name of the task that was just made.
    Named {
        /// The name.
        name: &'static str,
    },
    /// Its indices.
    Indexed {
        /// How many there are.
        count: u8,
        /// These, then zeros.
        indices: [u32; 4],
    },
    /// One of its accesses, in order.
    Declared {
        /// The mode by which it is ordered: `inout` for the combination of a reduction.
        mode: Mode,
        /// The datum: what two accesses share. 0 is never one.
        datum: u64,
    },
    /// It is with the scheme or in the pool; the body goes on.
    Issued {
        /// The body that spawned it.
        body: Id,
    },
    /// An access for which a task had to wait was granted; for a body that waits for a datum, its access. Where a task
    /// waits for several, this is told of the one that is granted last, and of others as the scheme comes to know them.
    /// Under a scheme that searches it is told of all, when the task is found, and nobody knows whose release led to it.
    Granted {
        /// The task or body that waited.
        task: Id,
        /// The task (or body that had waited for the datum) whose release led to this, or 0.
        by: Id,
        /// Which of its accesses; [`Event::PRECONDITION`] for the last precondition of a pending task, [`Event::WAIT`]
        /// for a body that waits.
        access: u16,
    },
    /// A task was handed an exclusion for which it had waited after its accesses were granted.
    Handed {
        /// The task.
        task: Id,
        /// Who had the exclusion.
        by: Id,
        /// Which of its accesses.
        access: u16,
    },
    /// A task's body runs now.
    Started {
        /// The task.
        task: Id,
    },
    /// A body has ended; a task whose body was not to run ends without a start. A leaf is complete with it.
    Ended {
        /// The task or scope.
        body: Id,
        /// Whether it neither failed nor was refused.
        ok: bool,
    },
    /// A parent or a root scope is complete.
    Completed {
        /// The task or scope.
        body: Id,
    },
    /// A body stands still.
    Waits {
        /// The body.
        body: Id,
        /// Why.
        cause: Cause,
        /// For what.
        on: u64,
    },
    /// It goes on. What it waited for, if it was a task or a datum, is complete.
    Resumed {
        /// The body.
        body: Id,
    },
    /// A body has got the result of a task, without `Waits`: it awaited the join.
    Joined {
        /// The body.
        body: Id,
        /// The task.
        task: Id,
    },
    /// A body has set a datum: a new version.
    Set {
        /// The body, or the session, whose scope it is.
        body: Id,
        /// Its place among the children in reference order.
        order: u64,
        /// The datum.
        datum: u64,
    },
    /// The worker took tasks from another one.
    Stole,
    /// By one look into a stack the worker took closures that were ready there (the stack's scheme).
    Looted {
        /// How many.
        closures: u32,
    },
    /// What comes next in the stack that the worker runs was stolen and is not finished: it waits for that, until the next
    /// event of its track.
    AtTheft,
    /// The worker has nothing to do.
    Idle,
    /// It looks for work again.
    Awake,
}

impl Event {
    /// What [`What::Granted`] says in place of an access if a pending task's last precondition was met.
    pub const PRECONDITION: u16 = u16::MAX;

    /// What [`What::Granted`] says in place of an access if a body waited for a datum.
    pub const WAIT: u16 = u16::MAX - 1;

    pub(crate) const NONE: Event = Event { at: 0, what: What::Idle };
}

/// What a runtime records, and for whom. Cheap to clone; a clone is the same recorder.
///
/// Every runtime has one ([`Runtime::recorder`](crate::Runtime::recorder)); a program that wants to have it before the
/// runtime makes it ([`Builder::recorder`](crate::Builder::recorder)). Several runtimes may share one: then a worker's
/// number may be there several times, and tracks tell them apart. If the closure of a scope on one of them spawns in a
/// scope further out, of another one, the spawn is told on a track of that one, where the outer closure waits.
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

struct Inner {
    on: AtomicBool,
    clock: Option<fn() -> u64>,
    event_buffers: Mutex<Vec<Arc<EventBuffer>>>,
    /// Copied when it changes: what is on its way goes to those that were there.
    sinks: Mutex<Sinks>,
    delivery: Delivery,
    /// In which process it was made.
    generation: u32,
}

type Sinks = Arc<Vec<Arc<dyn Sink>>>;

/// A recording in progress: ends when it is dropped. See [`Recorder::add`].
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

    /// A recorder that asks `clock` instead of the processor: for simulated time, and for tests.
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
            generation: fork::generation(),
        }))
    }

    /// Whether this is the child of a fork, in which it gives the sinks nothing: a thread of the parent may have held any of its
    /// locks, and the sinks write to what the parent has opened.
    pub(crate) fn is_forked(&self) -> bool {
        self.0.generation != fork::generation()
    }

    /// Records for `sink` until what is returned is dropped. A scope is recorded, with its tasks, if it was opened
    /// while there was any sink, and for as long as there is one. So a sink that is not the first may be told of tasks
    /// whose scope's opening it has not seen.
    ///
    /// When it is dropped, the sink has got all that belongs to scopes which have returned; but not if a sink drops it
    /// ([`Sink::take`]), nor in the child of a [fork](crate::Runtime#forks), where sinks get nothing.
    pub fn add(&self, sink: Arc<dyn Sink>) -> Recording {
        // What is on the event buffers is not for this one.
        self.drain();
        self.change_sinks(|sinks| sinks.push(sink.clone()));
        Recording { recorder: self.clone(), sink }
    }

    /// Gives what is on the event buffers to the sinks. Stops nobody: what happens meanwhile may or may not be among it, what
    /// happened before is. If another thread is giving events to the sinks, it waits for that.
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

    /// The time, as events have it.
    #[inline]
    pub fn now(&self) -> u64 {
        self.0.clock.map_or_else(ticks, |clock| clock())
    }

    /// Whether time is the processor's, in [`ticks`].
    pub fn is_real(&self) -> bool {
        self.0.clock.is_none()
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.0.on.load(Ordering::Relaxed)
    }

    /// An event buffer for one more seat.
    pub(crate) fn event_buffer(&self, worker: Option<u32>) -> Arc<EventBuffer> {
        let mut event_buffers = self.0.event_buffers.lock();
        if !self.is_on() {
            // Nobody will want what is on them: else a recorder whose runtimes come and go would grow.
            event_buffers.retain(|event_buffer| !is_dead(event_buffer));
        }
        let mut numbers = std::iter::repeat_with(|| TRACKS.fetch_add(1, global::Ordering::Relaxed) % MOST_TRACKS);
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

    /// Puts events of an event buffer on their way to the sinks, in the order of the calls. [`deliver`](Recorder::deliver) follows,
    /// without the lock of the event buffer.
    pub(crate) fn send(&self, track: Track, events: &[Event]) {
        let sinks = { self.0.sinks.lock().clone() };
        self.0.delivery.send(Batch { track, events: events.into(), sinks });
    }

    /// Gives the sinks what is on its way, unless another thread does that.
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
        // May be the last to have a sink.
        drop(before);
    }
}

/// Whether an event buffer belongs to a runtime that is gone: the recorder's list alone knows it. Its worker's last event was
/// before that, and is seen by who has asked this.
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
                // Not the last to have it.
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

/// The processor's time stamp, in units of its own: of constant rate, and the same on all processors of a machine since
/// a decade. OutOfLine than on x86-64, nanoseconds.
#[inline]
pub fn ticks() -> u64 {
    crate::clock::ticks()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::limit::limit;
    use crate::{Inline, Runtime, Spawn};

    /// Numbers of bodies stay apart, and a dump is right, where the numbers of tracks begin anew.
    #[test]
    fn more_tracks_than_numbers() {
        let recorder = Recorder::default();
        let first = recorder.event_buffer(None);
        // As if so many had come since: the next ones meet the first again.
        TRACKS.store((MOST_TRACKS - 3).wrapping_add(first.track().number), global::Ordering::Relaxed);
        let later: Vec<_> = (0..6).map(|_| recorder.event_buffer(None).track().number).collect();
        assert!(later.iter().all(|&number| number < MOST_TRACKS && number != first.track().number), "{later:?}");
        TRACKS.store(MOST_TRACKS, global::Ordering::Relaxed);
        limit(60, "more tracks than numbers", dump_meanwhile);
    }

    fn dump_meanwhile() {
        let rt = Runtime::builder().workers(4).inline(Inline::Never).dumps(true).build().unwrap();
        let done = AtomicBool::new(false);
        // What is dumped meanwhile is read of one track before the others.
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
