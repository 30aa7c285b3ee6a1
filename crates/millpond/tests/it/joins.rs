//! Joins: awaited in large numbers, polled by one task and then another, and with failures that
//! come late.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::common::{Mutex, builder, limit, sized};
use millpond::{Error, Handle, Inline, Kind, Runtime, Spawn};

/// A waker that counts its wakes, and passes them on.
struct Counting {
    wakes: AtomicUsize,
    to: Waker,
}

impl Counting {
    fn new(to: &Waker) -> Arc<Self> {
        Arc::new(Counting { wakes: AtomicUsize::new(0), to: to.clone() })
    }
}

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, SeqCst);
        self.to.wake_by_ref();
    }
}

/// The joins that were woken.
struct Woken {
    queue: Arc<Mutex<Vec<usize>>>,
    index: usize,
    to: Waker,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.queue.lock().push(self.index);
        self.to.wake_by_ref();
    }
}

/// The cost of awaiting many joins.
#[derive(Debug, Default)]
struct Cost {
    polls: usize,
    wakes: usize,
}

/// Awaits all joins. Polls only those that were woken, as the combinators of async libraries do.
async fn join_all<F: Future + Unpin>(futures: Vec<F>) -> (Vec<F::Output>, Cost) {
    let queue = Arc::new(Mutex::new((0..futures.len()).collect::<Vec<_>>()));
    let mut cost = Cost::default();
    let mut outputs: Vec<_> = futures.iter().map(|_| None).collect();
    let mut futures: Vec<_> = futures.into_iter().map(|future| (future, None)).collect();
    let mut left = futures.len();
    std::future::poll_fn(|context| {
        let woken = std::mem::take(&mut *queue.lock());
        for index in woken {
            let (future, waker) = &mut futures[index];
            cost.wakes += usize::from(waker.is_some());
            if outputs[index].is_some() {
                continue;
            }
            let waker = waker.get_or_insert_with(|| {
                Waker::from(Arc::new(Woken { queue: queue.clone(), index, to: context.waker().clone() }))
            });
            cost.polls += 1;
            if let Poll::Ready(output) = Pin::new(future).poll(&mut Context::from_waker(waker)) {
                outputs[index] = Some(output);
                left -= 1;
            }
        }
        if left == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    (outputs.into_iter().map(Option::unwrap).collect(), cost)
}

fn never_inline(workers: usize) -> Runtime {
    builder(workers).inline(Inline::Never).build().unwrap()
}

#[test]
fn a_crowd_is_awaited_in_linear_work() {
    limit(60, "a crowd of joins", || {
        let n = 20_000;
        for workers in [1, 2] {
            let (sum, cost) = never_inline(workers)
                .scope(|s| {
                    let joins = (0..n).map(|i| s.spawn((), move |()| i)).collect();
                    let (values, cost) = s.block_on(join_all(joins));
                    (values.into_iter().map(Result::unwrap).sum::<usize>(), cost)
                })
                .unwrap();
            assert_eq!(sum, n * (n - 1) / 2);
            assert!(cost.polls <= 2 * n && cost.wakes <= n, "{cost:?}");
        }
    });
}

#[test]
fn a_crowd_of_a_session_is_awaited_in_linear_work() {
    limit(60, "a crowd of a session", || {
        let n = 20_000;
        let rt = never_inline(2);
        let session = rt.session();
        let joins = (0..n).map(|i| session.spawn((), move |()| i)).collect();
        let (values, cost) = session.block_on(join_all(joins));
        assert_eq!(values.into_iter().map(Result::unwrap).sum::<usize>(), n * (n - 1) / 2);
        assert!(cost.polls <= 2 * n && cost.wakes <= n, "{cost:?}");
    });
}

/// However often a task polls a join, the join has one waker: at most two clones remain, and it is
/// woken at most once.
#[test]
fn many_polls_leave_one_watcher() {
    limit(20, "polled often", || {
        let rt = never_inline(2);
        let (go, told) = channel::<()>();
        let polls = sized(1_000, 100_000);
        let (first, last) = (Counting::new(Waker::noop()), RefCell::new(None));
        rt.scope(|s| {
            let mut join = s.spawn((), move |()| told.recv().unwrap());
            let (mut polled, mut go) = (0, Some(go));
            s.block_on(std::future::poll_fn(|context| {
                let mut last = last.borrow_mut();
                let last = last.get_or_insert_with(|| Counting::new(context.waker()));
                while polled < polls {
                    let waker = if polled < polls / 2 { first.clone() } else { last.clone() }.into();
                    assert!(Pin::new(&mut join).poll(&mut Context::from_waker(&waker)).is_pending());
                    polled += 1;
                }
                assert_eq!(Arc::strong_count(&first), 1, "the first waker was replaced");
                if let Some(go) = go.take() {
                    assert!(Arc::strong_count(last) <= 3, "one watcher");
                    go.send(()).unwrap();
                }
                Pin::new(&mut join).poll(&mut Context::from_waker(&last.clone().into()))
            }))
            .unwrap();
        })
        .unwrap();
        assert_eq!(first.wakes.load(SeqCst), 0);
        assert!(last.into_inner().unwrap().wakes.load(SeqCst) <= 1);
    });
}

/// A join that different tasks poll while its task completes.
#[test]
fn joins_polled_in_turn() {
    limit(60, "polled in turn", || {
        let rt = never_inline(2);
        let session = rt.session();
        'joins: for i in 0..sized(2_000, 50_000) {
            let mut join = session.spawn((), move |()| i);
            for _ in 0..i % 4 {
                let waker = Waker::from(Counting::new(Waker::noop()));
                if let Poll::Ready(value) = Pin::new(&mut join).poll(&mut Context::from_waker(&waker)) {
                    assert_eq!(value.unwrap(), i);
                    continue 'joins;
                }
            }
            assert_eq!(session.wait(join).unwrap(), i);
        }
    });
}

/// Its drop panics if a task has requested that.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            std::panic::resume_unwind(Box::new("bomb"));
        }
    }
}

/// The task is the last user of a value whose drop panics. Its scope and its join return the same
/// error, with or without a value.
#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack leaves values where they are")]
fn a_drop_that_fails_is_told_to_the_join() {
    fn is_bomb<T>(result: Result<T, Error>) -> bool {
        matches!(result, Err(error) if *error.kind() == Kind::Panicked("bomb".into()))
    }
    limit(20, "a bomb is the last", || {
        for with_value in [true, false] {
            let rt = never_inline(1);
            let bomb = Handle::new(Bomb);
            let told = rt.scope(|s| {
                if with_value {
                    let join = s.spawn(bomb.read(), |_| String::from("value"));
                    s.spawn(bomb.write(), |out| out.set(Bomb));
                    assert!(is_bomb(s.wait(join)));
                } else {
                    let join = s.spawn(bomb.read(), |_| ());
                    s.spawn(bomb.write(), |out| out.set(Bomb));
                    assert!(is_bomb(s.wait(join)));
                }
            });
            assert!(is_bomb(told));
            std::mem::forget(bomb.into_inner());
        }
    });
}
