//! Models of a session's count (`worker::count`, steps 8 and 9): no thread waits for its end, and
//! several wait for room. The drop of the last reference writes the cells, so that loom finds a
//! later access. A lost wake-up shows as a deadlock.

use loom::thread;

use super::*;
use crate::sync::atomic::AtomicBool;
use crate::sync::{Arc, Mutex};
use crate::worker::sleep::{Idle, Sleep};
use crate::worker::wait::Mailbox;

/// The core of a session, as far as the count needs it.
struct Session {
    own: OwnerCounts,
    shared: Shared,
    /// The thread that holds it is the owner.
    issuing: Mutex<()>,
    reserved: AtomicU64,
    waits: Mutex<Vec<*mut Waiter>>,
    /// Whether the scope knows its session, for `keep`. Like the `OnceLock`, the first caller that
    /// asks for room sets it.
    known: AtomicBool,
    /// A reference to itself, for the completer.
    end: Mutex<Option<Arc<Session>>>,
    ends: AtomicU64,
    /// The effects of the tasks, one per worker.
    done: [Guarded<u32>; 2],
    /// How often the session was freed. Outlives the session.
    freed: Arc<AtomicU64>,
}

// SAFETY: the models check whether accesses to the cells are ordered.
unsafe impl Sync for Session {}
// SAFETY: as above.
unsafe impl Send for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.word.with_mut(|_| ());
        assert_eq!(self.done.each_ref().map(|done| done.replace(2)), [1, 1]);
        self.freed.fetch_add(1, Ordering::Relaxed);
    }
}

/// A task's pointer to its session. It does not keep the session alive.
#[derive(Clone, Copy)]
struct Pointer(*const Session);

// SAFETY: as above.
unsafe impl Send for Pointer {}

impl Pointer {
    fn of(session: &Arc<Session>) -> Self {
        Pointer(Arc::as_ptr(session))
    }

    /// # Safety
    ///
    /// The session is not freed: loom checks it.
    unsafe fn get<'a>(self) -> &'a Session {
        // SAFETY: as the caller promises.
        unsafe { &*self.0 }
    }

    /// Like `ScopeState::finish_in_session`.
    fn finish(self, number: usize) {
        // SAFETY: the completion is not counted yet.
        let session = unsafe { self.get() };
        session.done[number].set(1);
        let mut kept = None;
        let upgrade = || {
            let known = session.known.load(Ordering::Acquire);
            // SAFETY: the session exists, so there is a reference.
            known.then(|| unsafe { another(self.0) })
        };
        let keep = || kept = kept.take().or_else(upgrade);
        let Subtracted { complete, wake, .. } = session.shared.subtract(1, || false, keep);
        let end = if complete { session.end.lock().take() } else { None };
        if let (Some(_), Some(session)) = (wake, kept) {
            session.tell_of_room();
        }
        if let Some(session) = end {
            session.end();
        }
    }
}

/// # Safety
///
/// There is a reference.
unsafe fn another(session: *const Session) -> Arc<Session> {
    // SAFETY: as the caller promises.
    unsafe { Arc::increment_strong_count(session) };
    // SAFETY: counted above.
    unsafe { Arc::from_raw(session) }
}

impl Session {
    fn with_tasks(tasks: u64) -> (Arc<Session>, Arc<AtomicU64>) {
        let freed = Arc::new(AtomicU64::new(0));
        let session = Session {
            own: OwnerCounts::new(),
            shared: Shared::new(),
            issuing: Mutex::new(()),
            reserved: AtomicU64::new(0),
            waits: Mutex::new(Vec::new()),
            known: AtomicBool::new(false),
            end: Mutex::new(None),
            ends: AtomicU64::new(0),
            done: [Guarded::new(1), Guarded::new(1)],
            freed: freed.clone(),
        };
        (0..tasks).for_each(|task| {
            session.own.count_spawn();
            session.done[task as usize].set(0);
        });
        (Arc::new(session), freed)
    }

    fn tell_of_room(&self) {
        let all = std::mem::take(&mut *self.waits.lock());
        all.into_iter().for_each(Waiter::wake_at);
    }

    fn end(&self) {
        self.ends.fetch_add(1, Ordering::Relaxed);
        self.tell_of_room();
    }

    /// Like `Core::close`.
    fn close(this: &Arc<Session>) {
        let issuing = this.issuing.lock();
        if this.own.outstanding(&this.shared) > 0 {
            *this.end.lock() = Some(this.clone());
        }
        let complete = this.own.close(&this.shared, None);
        if complete {
            this.end.lock().take();
        }
        drop(issuing);
        if complete {
            this.end();
        }
    }

    /// Like `ScopeState::ask_for_room`.
    fn ask_for_room(&self, seen: u64, limit: u64) -> bool {
        self.known.store(true, Ordering::Release);
        self.own.ask_for_room(&self.shared, seen, limit)
    }

    /// Like `Core::wait_for_room`, repeated until at most `most` tasks are in flight.
    fn wait_for_room(&self, most: u64, mailbox: &Mailbox) {
        loop {
            let waiter = Waiter::new(mailbox);
            let issuing = self.issuing.lock();
            let (seen, reserved) = (self.own.outstanding(&self.shared), self.reserved.load(Ordering::Acquire));
            if self.own.outstanding(&self.shared) + reserved <= most {
                return;
            }
            let at = ptr::from_ref(&waiter).cast_mut();
            self.waits.lock().push(at);
            let limit = most.saturating_sub(reserved);
            let same = self.ask_for_room(seen, limit);
            let sure = same && self.reserved.load(Ordering::Acquire) == reserved;
            drop(issuing);
            if (sure || !self.take_back(at)) && waiter.park() {
                mailbox.sleep_until_delivered(&waiter);
            }
            waiter.end();
        }
    }

    fn take_back(&self, waiter: *mut Waiter) -> bool {
        let mut waits = self.waits.lock();
        let before = waits.len();
        waits.retain(|&other| other != waiter);
        waits.len() < before
    }
}

/// Where a thread waits. Lives as long as the runtime.
fn mailbox() -> Arc<Mailbox> {
    Arc::new(Mailbox::new(0, Arc::new(Sleep::new(1, Idle::Sleep))))
}

/// The session's value is dropped while two tasks end: it is freed once, after both.
#[test]
fn loom_a_session_is_dropped() {
    loom::model(|| {
        let (session, freed) = Session::with_tasks(2);
        let workers = [0, 1].map(|number| {
            let session = Pointer::of(&session);
            thread::spawn(move || session.finish(number))
        });
        Session::close(&session);
        drop(session);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(freed.load(Ordering::Relaxed), 1);
    });
}

/// A thread waits for room. As soon as it is notified, it ends the session, before the notifying
/// worker has left.
#[test]
fn loom_room_and_the_end_of_a_session() {
    loom::model(|| {
        let ((session, freed), mailbox) = (Session::with_tasks(2), mailbox());
        let workers = [0, 1].map(|number| {
            let session = Pointer::of(&session);
            thread::spawn(move || session.finish(number))
        });
        session.wait_for_room(1, &mailbox);
        Session::close(&session);
        drop(session);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(freed.load(Ordering::Relaxed), 1);
    });
}

/// Two threads wait until no task is in flight. Each overwrites what the other has asked for.
#[test]
fn loom_room_for_two() {
    loom::model(|| {
        let ((session, freed), mailboxes) = (Session::with_tasks(1), [mailbox(), mailbox()]);
        let worker = {
            let session = Pointer::of(&session);
            thread::spawn(move || session.finish(0))
        };
        let other = {
            let (session, mailbox) = (session.clone(), mailboxes[0].clone());
            thread::spawn(move || session.wait_for_room(0, &mailbox))
        };
        session.wait_for_room(0, &mailboxes[1]);
        other.join().unwrap();
        Session::close(&session);
        drop(session);
        worker.join().unwrap();
        assert_eq!(freed.load(Ordering::Relaxed), 1);
    });
}

/// The last task ends while a thread asks for room, as the first one to ask. Either the worker sees
/// what the thread wrote, or the thread sees the end. (With a relaxed load in `subtract`, the
/// worker finds no session to notify.)
#[test]
fn loom_room_is_asked_for_the_first_time() {
    loom::model(|| {
        let ((session, _freed), mailbox) = (Session::with_tasks(1), mailbox());
        let worker = {
            let session = Pointer::of(&session);
            thread::spawn(move || session.finish(0))
        };
        session.wait_for_room(0, &mailbox);
        worker.join().unwrap();
        Session::close(&session);
    });
}

/// One caller has asked for a lower count than the task leaves. Another asks for a higher one, just
/// as that task ends.
#[test]
fn loom_room_after_a_wish_for_less() {
    loom::model(|| {
        let ((session, _freed), mailbox) = (Session::with_tasks(2), mailbox());
        // Like a caller that waits until nothing is left. Only the end notifies it.
        assert!(session.ask_for_room(2, 0));
        let worker = {
            let session = Pointer::of(&session);
            thread::spawn(move || session.finish(0))
        };
        session.wait_for_room(1, &mailbox);
        worker.join().unwrap();
        Pointer::of(&session).finish(1);
        Session::close(&session);
    });
}

/// A permit is returned while a thread asks for room. No task ends.
#[test]
fn loom_a_permit_is_given_back() {
    loom::model(|| {
        let ((session, _freed), mailbox) = (Session::with_tasks(0), mailbox());
        session.reserved.store(1, Ordering::Relaxed);
        let permit = {
            let session = session.clone();
            thread::spawn(move || {
                session.reserved.fetch_sub(1, Ordering::Release);
                session.tell_of_room();
            })
        };
        session.wait_for_room(0, &mailbox);
        permit.join().unwrap();
        Session::close(&session);
    });
}

/// A caller still waits for room when the session is closed. The session's end notifies it.
#[test]
fn loom_a_session_ends_while_a_thread_waits() {
    loom::model(|| {
        let (session, freed) = Session::with_tasks(1);
        assert!(session.ask_for_room(1, 0));
        let worker = {
            let session = Pointer::of(&session);
            thread::spawn(move || session.finish(0))
        };
        Session::close(&session);
        drop(session);
        worker.join().unwrap();
        assert_eq!(freed.load(Ordering::Relaxed), 1);
    });
}
