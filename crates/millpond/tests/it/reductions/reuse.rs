//! The storage of a part serves several tasks. Each body sees the identity, and there are few
//! parts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::runtimes;
use crate::common::{Mutex, limit, sized};
use millpond::{Append, Handle, Reducer, Spawn};

/// A number whose alignment identifies its storage: nothing else in this binary has that alignment.
#[derive(Debug)]
#[repr(align(8192))]
struct Page(u64);

static PAGES: AtomicUsize = AtomicUsize::new(0);

/// Counts the allocated pages.
struct Counting;

// SAFETY: every call goes to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == align_of::<Page>() {
            PAGES.fetch_add(1, Relaxed);
        }
        // SAFETY: the caller promises this.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller promises this.
        unsafe { System.dealloc(at, layout) }
    }
    // The other tests of this binary use this allocator, too. So zeroed and grown memory must cost
    // what it costs with the system allocator.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises this.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises this.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Adds pages. The parameter determines how, and whether they are large.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Adds<const LARGE: bool> {
    /// Whether it sets a part to the identity again. One variant does it every second time.
    absorbs: Absorbs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absorbs {
    Never,
    Always,
    /// If the part is even.
    Sometimes,
}

impl<const LARGE: bool> Reducer<Page> for Adds<LARGE> {
    const LARGE: bool = LARGE;

    fn identity(&self, _like: &Page) -> Page {
        Page(0)
    }
    fn combine(&self, into: &mut Page, part: Page) {
        into.0 += part.0;
    }
    fn absorb(&self, into: &mut Page, part: &mut Page) -> bool {
        let absorbs = match self.absorbs {
            Absorbs::Never => false,
            Absorbs::Always => true,
            Absorbs::Sometimes => part.0.is_multiple_of(2),
        };
        if absorbs {
            into.0 += std::mem::take(&mut part.0);
        }
        absorbs
    }
}

/// Runs them one at a time: otherwise other tasks would be counted, too.
static ALONE: Mutex<()> = Mutex::new(());

/// The number of pages that a reduction of that many tasks allocates.
fn pages<const LARGE: bool>(deterministic: bool, tasks: u64, mut check: impl FnMut(usize, usize)) {
    let _alone = ALONE.lock();
    for (index, rt) in runtimes(deterministic).enumerate() {
        let workers = [1, 2, 8][index / 3];
        for absorbs in [Absorbs::Never, Absorbs::Always, Absorbs::Sometimes] {
            let total = Handle::new(Page(7));
            let before = PAGES.load(Relaxed);
            rt.scope(|s| {
                for task in 0..tasks {
                    s.spawn(total.reduce(Adds::<LARGE> { absorbs }), move |part| {
                        assert_eq!(part.0, 0, "a part starts as the identity");
                        part.0 = task;
                    });
                }
            })
            .unwrap();
            check(workers, PAGES.load(Relaxed) - before);
            assert_eq!(total.into_inner().unwrap().0, 7 + tasks * (tasks - 1) / 2);
        }
    }
}

#[test]
fn parts_are_as_many_as_tasks_run_at_once() {
    limit(60, "few parts", || {
        pages::<false>(false, sized(500, 5000) as u64, |workers, pages| {
            // Each thread has a part of a task, and the part with which it is combined. One part
            // waits. A spare thread may end its task after it has returned its slot.
            assert!(pages <= 2 * (workers + 1) + 1, "{pages} parts for {workers} workers");
        });
    });
}

#[test]
fn in_a_tree_they_are_a_few_more() {
    limit(60, "few parts in a tree", || {
        let tasks = sized(1000, 10_000) as u64;
        pages::<true>(true, tasks, |workers, pages| {
            // A started range of tasks leaves two blocks of each size. Each worker may have started
            // two ranges: one that it took from others, and one that they left. The spawner also
            // runs tasks when its window is full.
            let most = (2 + 2 * tasks.ilog2() as usize) * (2 * workers + 1);
            assert!(pages <= most, "{pages} parts for {workers} workers");
        });
    });
}

#[test]
fn scalars_are_kept_to_combine_them_in_order() {
    limit(60, "kept parts", || pages::<false>(true, 100, |_, pages| assert_eq!(pages, 100)));
}

#[test]
fn what_is_appended_is_in_order_and_parts_start_empty() {
    limit(60, "appending", || {
        let tasks = sized(300, 3000);
        for deterministic in [false, true] {
            for rt in runtimes(deterministic) {
                let (list, text) = (Handle::new(vec![0]), Handle::new(String::from("0")));
                rt.scope(|s| {
                    for task in 1..tasks {
                        s.spawn((list.reduce(Append), text.reduce(Append)), move |(list, text)| {
                            assert!(list.is_empty() && text.is_empty());
                            list.push(task);
                            text.push_str(&format!(" {task}"));
                        });
                    }
                })
                .unwrap();
                let (mut list, text) = (list.into_inner().unwrap(), text.into_inner().unwrap());
                let mut read: Vec<usize> = text.split(' ').map(|word| word.parse().unwrap()).collect();
                if !deterministic {
                    list.sort_unstable();
                    read.sort_unstable();
                }
                assert!(list.iter().copied().eq(0..tasks) && read == list);
            }
        }
    });
}

/// The part of a parent is a datum of its children. The parts that the children leave are reused
/// afterwards.
#[test]
fn parents_hand_their_parts_in() {
    let _alone = ALONE.lock();
    limit(60, "parents' parts", || {
        for deterministic in [false, true] {
            for rt in runtimes(deterministic) {
                let (total, adds) = (Handle::new(Page(0)), Adds::<true> { absorbs: Absorbs::Always });
                rt.scope(|s| {
                    for _ in 0..10 {
                        s.nest(total.reduce(adds), move |s, part| {
                            for n in 0..10 {
                                s.spawn(part.reduce(adds), move |part| {
                                    assert_eq!(part.0, 0);
                                    part.0 = n;
                                });
                            }
                            // The datum is written again. Then the part's storage holds another
                            // value.
                            s.spawn(part.inout(), |part| *part = Page(part.0 + 1));
                        });
                    }
                })
                .unwrap();
                assert_eq!(total.into_inner().unwrap().0, 460);
            }
        }
    });
}
