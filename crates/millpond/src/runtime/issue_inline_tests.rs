//! Leaves that run at their spawn as tasks: the scheme issues and releases each access.

use crate::depend::{List, Mode, Released, Scheme};
use crate::sync::atomic::{AtomicU64, Ordering::SeqCst};
use crate::task::{Record, TaskRef};
use crate::{DefaultMemory, DefaultPool, Handle, Inline, Join, Parts, Runtime, Spawn, Sum};

type ListMeta = <List as Scheme>::Meta;

/// The list scheme, which counts its calls.
struct Counted;

static ISSUED: AtomicU64 = AtomicU64::new(0);
static RELEASED: AtomicU64 = AtomicU64::new(0);

// SAFETY: as for the list scheme, which does all the work.
unsafe impl Scheme for Counted {
    type Meta = ListMeta;
    type Local = ();
    type Shared = ();

    const NAME: &'static str = "counted";

    fn is_idle(meta: &ListMeta) -> bool {
        List::is_idle(meta)
    }

    fn is_ready(meta: &ListMeta, mode: Mode) -> bool {
        List::is_ready(meta, mode)
    }

    fn prefetch(meta: &ListMeta, record: &Record) {
        List::prefetch(meta, record);
    }

    unsafe fn issue(local: &mut (), meta: &ListMeta, record: &Record) -> bool {
        ISSUED.fetch_add(1, SeqCst);
        // SAFETY: the caller's; also below.
        unsafe { List::issue(local, meta, record) }
    }

    unsafe fn enter(shared: &(), task: TaskRef, waiting: usize) -> bool {
        // SAFETY: as above.
        unsafe { List::enter(shared, task, waiting) }
    }

    unsafe fn granted(record: &Record) -> bool {
        // SAFETY: as above.
        unsafe { List::granted(record) }
    }

    unsafe fn release(shared: &(), local: &mut (), meta: &ListMeta, record: &Record) -> Released {
        RELEASED.fetch_add(1, SeqCst);
        // SAFETY: as above.
        unsafe { List::release(shared, local, meta, record) }
    }

    unsafe fn retire(meta: &ListMeta) -> bool {
        // SAFETY: as above.
        unsafe { List::retire(meta) }
    }
}

fn runtime(issues: bool) -> Runtime<Parts<DefaultMemory, DefaultPool, Counted>> {
    let builder = Runtime::builder().workers(1).inline(Inline::Always).issue_inline(issues);
    builder.build_with().expect("every choice is in its range")
}

/// The accesses that were issued and not released, and all that were issued.
fn accesses() -> (u64, u64) {
    let (released, issued) = (RELEASED.load(SeqCst), ISSUED.load(SeqCst));
    (issued - released, issued)
}

/// For a body with one access.
fn held() {
    assert_eq!(accesses().0, 1, "the scheme tracks the task while its body runs");
}

/// The counts are those of the process, so only one test uses them.
#[test]
fn every_access_of_a_ready_leaf_is_issued_and_released() {
    let rt = runtime(true);
    let data = [(); 7].map(|()| Handle::new(1_u64));
    let [read, written, changed, commutative, concurrent, reduced, accumulated] = &data;
    let change = |n: &mut u64| {
        held();
        *n += 1;
    };
    let result = rt.scope(|s| {
        let before = accesses().1;
        let joins = [
            s.spawn(read.read(), |_| held()),
            s.spawn(written.write(), |n| n.set(2)),
            s.spawn(changed.inout(), change),
            s.spawn(commutative.commutative(), change),
            s.spawn(concurrent.concurrent(), |_| held()),
            s.spawn(reduced.reduce(Sum), change),
            s.spawn(accumulated.accumulate(Sum), |mut n| change(n.partial())),
        ];
        assert!(joins.iter().all(Join::is_done));
        assert_eq!(accesses(), (0, before + 7));
        let both = s.spawn((read.read(), changed.inout()), |(_, n)| {
            assert_eq!(accesses().0, 2);
            *n += 1;
        });
        assert!(both.is_done());
        // A leaf that must wait is not run.
        s.nest(read.inout(), |_, _| ());
        assert!(!s.spawn(read.read(), |_| ()).is_done());
    });
    result.expect("nothing fails");
    assert_eq!(accesses().0, 0);
    assert_eq!(data.map(|n| n.into_inner().expect("a value")), [1, 2, 3, 2, 1, 2, 2]);

    // By default such leaves are not issued.
    let (before, n) = (accesses().1, Handle::new(1_u64));
    runtime(false).scope(|s| (0..10).for_each(|_| drop(s.spawn(n.inout(), |n| *n += 1)))).expect("nothing fails");
    assert_eq!((accesses().1, n.into_inner().expect("a value")), (before, 11));
}
