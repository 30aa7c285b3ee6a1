//! The common promises of all managers of the table, and their differences.

use std::collections::HashSet;

use super::super::variants::{Cgbk, Cgbk1, Dgbk, Dgbkof, ROWS, by_name, for_each_variant};
use super::chain::BATCH;
use super::parts::{Handling, Links, Parts, Refill};
use super::*;
use crate::limit::limit;
use crate::memory::AnyMemory;
use crate::memory::testing::{self, fill, first_word, free, one_seat, set_first_word};
use crate::memory::{BLOCK_ALIGN, LINE};

#[test]
fn blocks_are_aligned_apart_and_theirs_to_write() {
    fn check<V: Variant>() {
        let (manager, mut local) = one_seat::<Named<V>>(&Params::default());
        let mut spans = Vec::new();
        let mut blocks = Vec::new();
        for size in (0..=2 * LARGEST).step_by(31).chain([96, 97, LARGEST, LARGEST + 1, 1 << 20]) {
            let block = manager.alloc(&mut local, size);
            let align = if size > 96 { LINE } else { BLOCK_ALIGN };
            assert_eq!(block.start.addr().get() % align, 0, "{}, {size} bytes", V::NAME);
            assert_eq!(first_word(block), 0, "{}", V::NAME);
            fill(block, size, 0xff);
            spans.push((block.start.addr().get(), size));
            blocks.push(block);
        }
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{}", V::NAME);
        blocks.into_iter().for_each(|block| free(&manager, &mut local, block));
    }
    for_each_variant!(check);
}

#[test]
fn what_is_free_is_used_again_and_keeps_its_first_word() {
    fn check<V: Variant>() {
        let (manager, mut local) = one_seat::<Named<V>>(&Params::default());
        if manager.largest_stable() == 0 {
            assert_eq!(V::NAME, "bs", "the system alone makes no promise");
            return;
        }
        let blocks: Vec<_> = (0..1000).map(|_| manager.alloc(&mut local, 200)).collect();
        for block in &blocks {
            set_first_word(*block, block.start.addr().get() as u64);
            free(&manager, &mut local, *block);
        }
        let chunks = manager.chunks.lock().len();
        let starts: HashSet<_> = blocks.iter().map(|block| block.start).collect();
        let mut again = 0;
        for _ in &blocks {
            let block = manager.alloc(&mut local, 200);
            if starts.contains(&block.start) {
                again += 1;
                assert_eq!(first_word(block), block.start.addr().get() as u64, "{}", V::NAME);
            } else {
                assert_eq!(first_word(block), 0, "{}", V::NAME);
            }
        }
        // The rest of an array may come before free blocks elsewhere.
        assert!(again >= 1000 - 64, "{}: {again}", V::NAME);
        assert_eq!(manager.chunks.lock().len(), chunks, "{}", V::NAME);
    }
    for_each_variant!(check);
}

#[test]
fn the_system_is_asked_for_as_much_as_the_row_says() {
    fn check<V: Variant>() {
        let (manager, mut local) = one_seat::<Named<V>>(&Params::default());
        let blocks: Vec<_> = (0..130).map(|_| manager.alloc(&mut local, 64)).collect();
        let chunks = match V::PARTS {
            Parts { free_lists: FreeLists::None, .. } => 0,
            Parts { refill: Refill::Elements, .. } => 130,
            Parts { refill: Refill::Some, .. } => 3,
            Parts { refill: Refill::Whole, .. } => 1,
        };
        assert_eq!(manager.chunks.lock().len(), chunks, "{}", V::NAME);
        // Otherwise the blocks of `bs`, which come from the system alone, would leak.
        blocks.into_iter().for_each(|block| free(&manager, &mut local, block));
    }
    for_each_variant!(check);
}

/// `bk`, `dbk` and `dbko` can allocate at the start. No other manager does.
#[test]
fn whole_lists_can_be_allocated_at_the_start() {
    const SEATS: usize = 3;
    fn check<V: Variant>() {
        let chunks = |at_start| {
            let (manager, mut locals) = Named::<V>::with(SEATS, &Params { at_start });
            let before = manager.chunks.lock().len();
            let blocks = [64, 96].map(|size| manager.alloc(&mut locals[1], size));
            blocks.into_iter().for_each(|block| free(&manager, &mut locals[0], block));
            (before, manager.chunks.lock().len())
        };
        let places = match V::PARTS {
            Parts { refill: Refill::Elements | Refill::Some, .. } => 0,
            Parts { free_lists: FreeLists::Central, .. } => 1,
            _ => SEATS,
        };
        assert_eq!(chunks(0).0, 0, "{}", V::NAME);
        if places > 0 {
            // The classes of 64, 96 and 128 bytes. All blocks below come from them.
            assert_eq!(chunks(100), (3 * places, 3 * places), "{}", V::NAME);
            assert_eq!(chunks(usize::MAX).0, CLASSES * places, "{}", V::NAME);
            assert!(["bk", "dbk", "dbko"].contains(&V::NAME));
        } else {
            assert_eq!(chunks(100).0, 0, "{}", V::NAME);
        }
    }
    for_each_variant!(check);
}

/// One seat frees this number of blocks, then another allocates the same number. Returns how many
/// of them are the freed ones.
fn passed_on<V: Variant>(blocks: usize) -> usize {
    let (manager, mut locals) = Named::<V>::new(2);
    let [taker, freer] = &mut locals[..] else { unreachable!() };
    let blocks: Vec<_> = (0..blocks).map(|_| manager.alloc(taker, 100)).collect();
    let starts: HashSet<_> = blocks.iter().map(|block| block.start).collect();
    blocks.iter().for_each(|block| free(&manager, freer, *block));
    let again: Vec<_> = blocks.iter().map(|_| manager.alloc(taker, 100)).collect();
    let passed = again.iter().filter(|block| starts.contains(&block.start)).count();
    again.into_iter().for_each(|block| free(&manager, taker, block));
    passed
}

#[test]
fn lists_with_a_centre_pass_blocks_on_and_others_do_not() {
    fn check<V: Variant>() {
        let (name, blocks) = (V::NAME, 10 * BATCH);
        let passed = passed_on::<V>(blocks);
        match V::PARTS.free_lists {
            // The result depends on the system.
            FreeLists::None => {}
            FreeLists::Central => assert_eq!(passed, blocks, "{name}"),
            FreeLists::Distributed => assert_eq!(passed, 0, "{name}"),
            FreeLists::Both => assert!((blocks - 2 * BATCH - 64..blocks).contains(&passed), "{name}: {passed}"),
        }
    }
    for_each_variant!(check);
}

#[test]
fn an_idle_worker_keeps_nothing_from_others() {
    fn check<V: Variant>() {
        if V::PARTS.free_lists != FreeLists::Both {
            return;
        }
        let (manager, mut locals) = Named::<V>::new(2);
        let block = manager.alloc(&mut locals[0], 100);
        free(&manager, &mut locals[0], block);
        manager.idle(&mut locals[0]);
        assert_eq!(manager.alloc(&mut locals[1], 100).start, block.start, "{}", V::NAME);
    }
    for_each_variant!(check);
}

/// A worker has begun an array, and there are blocks in the centre. Returns whether the worker's
/// second block comes from the centre.
fn is_from_the_centre<V: Variant>() -> bool {
    let (manager, mut locals) = Named::<V>::new(2);
    let theirs = manager.alloc(&mut locals[0], 64);
    manager.alloc(&mut locals[1], 64);
    free(&manager, &mut locals[0], theirs);
    manager.idle(&mut locals[0]);
    manager.alloc(&mut locals[1], 64).start == theirs.start
}

#[test]
fn the_order_of_the_checks() {
    assert!(is_from_the_centre::<Cgbk>());
    assert!(!is_from_the_centre::<Cgbk1>());
}

#[test]
fn blocks_are_removed_when_needed_or_after_allocation() {
    // Blocks that are cut one by one ascend. Blocks from a list descend, except the one that was
    // wanted.
    fn step<V: Variant>() -> isize {
        let (manager, mut local) = one_seat::<Named<V>>(&Params::default());
        let [_, second, third] = [(); 3].map(|()| manager.alloc(&mut local, 64).start.addr().get() as isize);
        third - second
    }
    assert_eq!((step::<Dgbk>(), step::<Dgbkof>()), (64, -64));
}

#[test]
fn items_do_not_pile_up_where_blocks_are_taken() {
    fn check<V: Variant>() {
        if V::PARTS.free_lists != FreeLists::Both || V::PARTS.links != Links::Items {
            return;
        }
        let (manager, mut locals) = Named::<V>::new(2);
        let [taker, freer] = &mut locals[..] else { unreachable!() };
        for _ in 0..100 {
            let blocks: Vec<_> = (0..100).map(|_| manager.alloc(taker, 64)).collect();
            blocks.into_iter().for_each(|block| free(&manager, freer, block));
        }
        (0..100).for_each(|_| _ = manager.alloc(taker, 64));
        assert!(taker.bins[0].count_spare() <= 2 * BATCH, "{}", V::NAME);
        let central = manager.shelves[0].lock().count_items();
        assert!(central <= 8 * BATCH, "{}: {central}", V::NAME);
        assert!((central > 0) == V::PARTS.central_items, "{}: {central}", V::NAME);
    }
    for_each_variant!(check);
}

#[test]
fn everybody_frees_everybodys_blocks() {
    limit(120, "everybody frees everybody's blocks, under every manager", || {
        let mut sizes = SIZES.to_vec();
        sizes.push(LARGEST + 1);
        for row in ROWS {
            testing::everybody_frees_everybodys::<AnyMemory>(&by_name(row.name).unwrap(), 3000, &sizes);
        }
    });
}

#[test]
fn the_manager_and_its_local_parts_end_in_any_order() {
    fn check<V: Variant>() {
        for manager_first in [true, false] {
            let (manager, mut local) = one_seat::<Named<V>>(&Params::default());
            let blocks: Vec<_> = (0..200).map(|_| manager.alloc(&mut local, 64)).collect();
            blocks.into_iter().for_each(|block| free(&manager, &mut local, block));
            if manager_first {
                drop(manager);
                drop(local);
            } else {
                drop(local);
                drop(manager);
            }
        }
    }
    for_each_variant!(check);
}

#[test]
#[should_panic(expected = "another manager")]
fn a_local_part_of_another_manager_is_refused() {
    let (manager, _local) = one_seat::<Named<Dgbk>>(&Params::default());
    let (_other, mut local) = one_seat::<Named<Dgbk>>(&Params::default());
    manager.alloc(&mut local, 64);
}

#[cfg(millpond_asan)]
#[test]
fn a_use_after_free_is_caught() {
    fn check<V: Variant>() {
        testing::use_after_free_is_caught::<Named<V>>(&Params::default(), V::NAME);
    }
    for_each_variant!(check);
}

#[test]
fn the_table_is_the_papers() {
    let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
    let [bs, l, bk, dl, dlf] = ["bs", "l", "bk", "dl", "dlf"];
    let [dbk, dbko, dgbk, dgbko, dgbkof] = ["dbk", "dbko", "dgbk", "dgbko", "dgbkof"];
    let [cl, clf, clb, cgbk, cgbkb] = ["cl", "clf", "clb", "cgbk", "cgbkb"];
    let [cgbko, cgbkob, cgbk1, cgbk1b] = ["cgbko", "cgbkob", "cgbk1", "cgbk1b"];
    let all =
        [bs, l, bk, dl, dlf, dbk, dbko, dgbk, dgbko, dgbkof, cl, clf, clb, cgbk, cgbkb, cgbko, cgbkob, cgbk1, cgbk1b];
    assert_eq!(names, all);
    for_each_variant!(check_letters);
}

/// Checks the meaning of the letters of a name (TP §6.2).
fn check_letters<V: Variant>() {
    let (name, parts) = (V::NAME, V::PARTS);
    if name != "bs" {
        let lists = match name.as_bytes()[0] {
            b'd' => FreeLists::Distributed,
            b'c' => FreeLists::Both,
            _ => FreeLists::Central,
        };
        assert_eq!(parts.free_lists, lists, "{name}");
        assert_eq!(parts.links == Links::Blocks, name.ends_with('f'), "{name}");
        let refill = match (name.contains("gbk"), name.contains("bk")) {
            (true, _) => Refill::Some,
            (false, true) => Refill::Whole,
            (false, false) => Refill::Elements,
        };
        assert_eq!(parts.refill, refill, "{name}");
        assert_eq!(parts.handling == Handling::AfterAllocation, name.contains("bko"), "{name}");
        assert_eq!(parts.handling == Handling::BeforeCentral, name.contains('1'), "{name}");
        let central_items = lists == FreeLists::Central || lists == FreeLists::Both && name.ends_with('b');
        assert_eq!(parts.central_items, central_items, "{name}");
    }
}

/// The cost to allocate and free a block: for a manager that a type names, and for one chosen at
/// run time.
#[test]
#[ignore = "a measurement: run it in release mode, with --nocapture"]
fn cost() {
    fn pair<M: Memory>(choice: &M::Choice) -> f64 {
        const ROUNDS: usize = 20_000;
        let (manager, mut local) = one_seat::<M>(choice);
        let mut blocks = Vec::with_capacity(50);
        let mut times: Vec<_> = (0..21)
            .map(|_| {
                let start = std::time::Instant::now();
                for _ in 0..ROUNDS {
                    blocks.extend((0..50).map(|_| manager.alloc(&mut local, 128)));
                    blocks.drain(..).for_each(|block| free(&manager, &mut local, block));
                }
                start.elapsed().as_secs_f64() * 1e9 / (50 * ROUNDS) as f64
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
    println!("default {:.1}", pair::<crate::memory::Slabs>(&()));
    fn by_type_and_by_name<V: Variant>() {
        let chosen = by_name(V::NAME).unwrap();
        println!("{} {:.1}, by name {:.1}", V::NAME, pair::<Named<V>>(&Params::default()), pair::<AnyMemory>(&chosen));
    }
    for_each_variant!(by_type_and_by_name);
}
