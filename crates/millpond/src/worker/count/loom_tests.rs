//! Models of the count. After the owner has left a scope, it writes to the scope, so that loom
//! finds a later access. A lost wake-up shows as a deadlock.

use loom::thread;

use super::*;
use crate::sync::Arc;
use crate::worker::external::Admission;
use crate::worker::sleep::{Idle, Sleep};
use crate::worker::wait::Mailbox;

struct World {
    mailbox: Mailbox,
    sleep: Arc<Sleep>,
    own: OwnerCounts,
    shared: std::cell::UnsafeCell<Shared>,
    /// The waiter to notify when the scope is quiet.
    quiet: Guarded<*mut Waiter>,
    admission: Admission,
    /// The effects of the tasks, one per worker.
    done: [Guarded<u32>; 2],
}

// SAFETY: the models check whether accesses to the cells are ordered.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<World> {
        let sleep = Arc::new(Sleep::new(1, Idle::Sleep));
        Arc::new(World {
            mailbox: Mailbox::new(0, sleep.clone()),
            sleep,
            own: OwnerCounts::new(),
            shared: std::cell::UnsafeCell::new(Shared::new()),
            quiet: Guarded::new(ptr::null_mut()),
            admission: Admission::unowned(3),
            done: [Guarded::new(0), Guarded::new(0)],
        })
    }

    fn shared(&self) -> &Shared {
        // SAFETY: exclusive only in `gone`, where loom checks for other users.
        unsafe { &*self.shared.get() }
    }

    /// The owner has left the scope.
    fn gone(&self) {
        // SAFETY: loom checks it.
        let shared = unsafe { &mut *self.shared.get() };
        shared.word.with_mut(|_| ());
        shared.waiter.set(ptr::null_mut());
    }

    /// A worker that has collected the completions of `count` tasks of a root scope.
    fn finish(&self, number: usize, count: u64) -> bool {
        self.done[number].set(1);
        let Subtracted { complete, wake, quiet } = self.shared().subtract(count, || true, || ());
        if let Some(waiter) = wake.or(quiet.then(|| self.quiet.get())) {
            Waiter::wake_at(waiter);
        }
        complete
    }

    /// A thread that lets in a task and has no completion to withhold.
    fn let_in(&self, seat: usize) {
        self.shared().count_spawn();
        self.admission.count_let_in(seat);
    }

    /// Asks for a notification when the scope is quiet. Waits for it, unless `at_once` says that no
    /// wait is needed.
    fn wait_for_quiet(&self, at_once: impl FnOnce(bool) -> bool) -> bool {
        let waiter = Waiter::new(&self.mailbox);
        self.quiet.set(ptr::from_ref(&waiter).cast_mut());
        let quiet = self.shared().watch_for_quiet();
        let taken_back = if at_once(quiet) { self.shared().unwatch_quiet() } else { None };
        if taken_back.is_none() && waiter.park() {
            self.carry_until(|| waiter.is_delivered());
        }
        waiter.end();
        taken_back == Some(true)
    }

    /// Like the owner of a root scope before the end.
    fn wait_for_admission(&self) {
        self.own.lend(self.shared());
        while !self.wait_for_quiet(|quiet| quiet && self.admission.held() == 0) {}
        self.own.reclaim();
    }

    /// The worker's loop, reduced to waiters.
    fn carry_until(&self, done: impl Fn() -> bool) {
        loop {
            self.mailbox.take_mail(Waiter::deliver);
            if done() {
                return;
            }
            self.sleep.wait(0, &|| self.mailbox.has_mail() || done());
        }
    }

    fn spawn_tasks(&self, tasks: u64) {
        (0..tasks).for_each(|_| _ = self.own.count_spawn());
    }

    /// Waits for room like a root scope.
    fn wait_for_room(&self, has_room: impl Fn() -> bool) {
        while !has_room() {
            let waiter = Waiter::new(&self.mailbox);
            let seen = self.own.outstanding(self.shared());
            if !self.own.watch_for_room(self.shared(), &waiter, seen) || !waiter.park() {
                continue;
            }
            self.carry_until(|| waiter.is_delivered() || has_room());
            if !waiter.is_delivered() && !self.shared().unwatch_room() {
                self.carry_until(|| waiter.is_delivered());
            }
            waiter.end();
        }
    }

    /// Ends a root scope.
    fn end(&self) -> bool {
        let waiter = Waiter::new(&self.mailbox);
        let complete = self.own.close(self.shared(), Some(&waiter));
        if !complete && waiter.park() {
            self.carry_until(|| waiter.is_delivered());
        }
        waiter.end();
        complete
    }
}

fn worker<R: 'static>(world: &Arc<World>, body: impl FnOnce(&World) -> R + 'static) -> thread::JoinHandle<R> {
    let world = world.clone();
    thread::spawn(move || body(&world))
}

/// Two workers count their completions while the owner closes: one of the three completes the
/// scope.
#[test]
fn loom_completions_and_close() {
    loom::model(|| {
        let world = World::new();
        world.spawn_tasks(3);
        let workers = [0, 1].map(|number| worker(&world, move |world| world.finish(number, 1)));
        world.own.count_finished();
        let complete = world.end();
        assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
        world.gone();
        let completers = workers.into_iter().filter_map(|worker| worker.join().unwrap().then_some(())).count();
        assert_eq!(completers + usize::from(complete), 1);
    });
}

/// A nested scope: no thread waits; the thread that completes it has it alone.
#[test]
fn loom_a_nested_scope_is_completed_once() {
    loom::model(|| {
        let world = World::new();
        world.spawn_tasks(2);
        let workers = [0, 1].map(|number| {
            worker(&world, move |world| {
                world.done[number].set(1);
                let Subtracted { complete, wake, quiet } = world.shared().subtract(1, || false, || ());
                assert!(wake.is_none() && !quiet);
                if complete {
                    assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
                    world.gone();
                }
                complete
            })
        });
        let complete = world.own.close(world.shared(), None);
        if complete {
            assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
            world.gone();
        }
        let completers = workers.into_iter().filter_map(|worker| worker.join().unwrap().then_some(())).count();
        assert_eq!(completers + usize::from(complete), 1);
    });
}

/// The owner waits until all tasks are complete, then ends the scope at once.
fn model_room_for_all(wait: fn(&World)) {
    loom::model(move || {
        let world = World::new();
        world.spawn_tasks(2);
        let workers = [0, 1].map(|number| worker(&world, move |world| world.finish(number, 1)));
        wait(&world);
        assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
        assert!(world.end());
        world.gone();
        workers.into_iter().for_each(|worker| _ = worker.join().unwrap());
    });
}

#[test]
fn loom_room_and_two_flushes() {
    model_room_for_all(|world| world.wait_for_room(|| world.own.outstanding(world.shared()) == 0));
}

/// The owner waits for some room, then waits for the end while the other task completes.
#[test]
fn loom_room_then_the_end() {
    loom::model(|| {
        let world = World::new();
        world.spawn_tasks(2);
        let workers = [0, 1].map(|number| worker(&world, move |world| world.finish(number, 1)));
        world.wait_for_room(|| world.own.outstanding(world.shared()) <= 1);
        world.end();
        assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
        world.gone();
        workers.into_iter().for_each(|worker| _ = worker.join().unwrap());
    });
}

/// A task of the scope lets in another task. Tasks that were let in complete on another worker, or
/// here.
#[test]
fn loom_an_external_task() {
    loom::model(|| {
        let world = World::new();
        world.spawn_tasks(1);
        let task = worker(&world, |world| {
            world.shared().count_spawn();
            let inner = world.done[0].get();
            assert_eq!(inner, 0);
            world.finish(0, 2)
        });
        // These complete on the owner's worker: the difference of its cells wraps.
        for _ in 0..2 {
            world.shared().count_spawn();
            world.own.count_finished();
        }
        let complete = world.end();
        assert_eq!(world.done[0].get(), 1);
        world.gone();
        assert!(task.join().unwrap() ^ complete);
    });
}

/// Like the model before, but another worker completes the new task.
#[test]
fn loom_an_external_task_and_two_workers() {
    loom::model(|| {
        let world = World::new();
        world.spawn_tasks(1);
        let task = worker(&world, |world| {
            world.shared().count_spawn();
            let other = {
                // SAFETY: the thread below is joined before the world is dropped.
                let world: &'static World = unsafe { &*ptr::from_ref(world) };
                thread::spawn(move || world.finish(1, 1))
            };
            let complete = world.finish(0, 1);
            complete ^ other.join().unwrap()
        });
        let complete = world.end();
        assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
        world.gone();
        assert!(task.join().unwrap() ^ complete);
    });
}

/// A worker withholds a completion for the task that it lets in. Another worker completes that
/// task.
#[test]
fn loom_a_spared_completion() {
    loom::model(|| {
        let world = World::new();
        world.spawn_tasks(2);
        // The first task has ended. The second one runs and lets a task in.
        let task = worker(&world, |world| {
            let other = {
                // SAFETY: the thread below is joined before the world is dropped.
                let world: &'static World = unsafe { &*ptr::from_ref(world) };
                thread::spawn(move || world.finish(1, 1))
            };
            let complete = world.finish(0, 1);
            complete ^ other.join().unwrap()
        });
        let complete = world.end();
        assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
        world.gone();
        assert!(task.join().unwrap() ^ complete);
    });
}

/// The owner waits until the scope is quiet. A task lets another one in meanwhile.
#[test]
fn loom_quiet() {
    loom::model(|| {
        let world = World::new();
        world.spawn_tasks(1);
        world.own.count_let_in();
        let workers = [0, 1].map(|number| {
            worker(&world, move |world| {
                if number == 0 {
                    world.shared().count_spawn();
                }
                world.finish(number, 2 - number as u64)
            })
        });
        world.own.lend(world.shared());
        world.wait_for_quiet(|quiet| quiet);
        world.own.reclaim();
        assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
        assert!(world.end());
        world.gone();
        workers.into_iter().for_each(|worker| assert!(!worker.join().unwrap()));
    });
}

/// The scope ends when its admission holds nothing. Threads outside let the tasks in and end them.
#[test]
fn loom_external_tasks_at_the_end() {
    loom::model(|| {
        let world = World::new();
        let outside = [0, 1].map(|number| {
            world.admission.count_made(2);
            worker(&world, move |world| {
                world.let_in(number);
                world.finish(number, 1)
            })
        });
        world.wait_for_admission();
        assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
        assert!(world.end());
        world.gone();
        outside.into_iter().for_each(|outside| assert!(!outside.join().unwrap()));
    });
}

/// A task that a thread outside lets in makes another held task, which another thread lets in.
#[test]
fn loom_an_external_task_behind_another() {
    loom::model(|| {
        let world = World::new();
        world.admission.count_made(2);
        let outside = worker(&world, |world| {
            world.let_in(0);
            world.admission.count_made(0);
            let other = {
                // SAFETY: the thread below is joined before the world is dropped.
                let world: &'static World = unsafe { &*ptr::from_ref(world) };
                thread::spawn(move || {
                    world.let_in(1);
                    world.finish(1, 1)
                })
            };
            world.finish(0, 1);
            other.join().unwrap();
        });
        world.wait_for_admission();
        assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
        assert!(world.end());
        world.gone();
        outside.join().unwrap();
    });
}
