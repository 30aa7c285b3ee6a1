//! The memory of a pipeline stays within `window_bytes`, if the program follows the documentation
//! of `Builder::window_bytes`.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crate::common::{builder, limit};
use millpond::{DefaultEngine, Engine, Handle, Spawn, StackEngine};

const CHUNK: usize = 1000;
const CHUNKS: usize = 300;

/// The memory of live chunks, now and at most.
#[derive(Default)]
struct Alive {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// The data of a pipeline.
struct Chunk<'a> {
    alive: &'a Alive,
    number: usize,
}

impl<'a> Chunk<'a> {
    fn load(alive: &'a Alive, number: usize) -> Self {
        let now = alive.now.fetch_add(CHUNK, Relaxed) + CHUNK;
        alive.most.fetch_max(now, Relaxed);
        Chunk { alive, number }
    }
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        self.alive.now.fetch_sub(CHUNK, Relaxed);
    }
}

/// The last stage is the slow one. Without a limit all chunks would wait for it.
fn store(number: usize, stored: &mut Vec<usize>) {
    thread::sleep(Duration::from_micros(30));
    stored.push(number);
}

/// Runs `pipeline` with a window for 10 chunks. Returns the maximum memory.
fn most_of<E: Engine>(workers: usize, pipeline: impl Fn(&millpond::Runtime<E>, &Alive, &Handle<Vec<usize>>)) -> usize {
    let rt = builder(workers).window_bytes(10 * CHUNK).build_with::<E>().unwrap();
    let (alive, stored) = (Alive::default(), Handle::new(Vec::new()));
    pipeline(&rt, &alive, &stored);
    let mut stored = stored.into_inner().unwrap();
    stored.sort_unstable();
    assert_eq!(stored, (0..CHUNKS).collect::<Vec<_>>());
    assert_eq!(alive.now.load(Relaxed), 0);
    alive.most.load(Relaxed)
}

/// One handle, written again for each chunk. The bytes belong to the last task that uses the chunk.
fn one_handle<E: Engine>(rt: &millpond::Runtime<E>, alive: &Alive, stored: &Handle<Vec<usize>>) {
    let chunk = Handle::unset();
    rt.scope(|s| {
        for number in 0..CHUNKS {
            s.task("load").spawn(chunk.write(), move |chunk| chunk.set(Chunk::load(alive, number)));
            let store = |(chunk, stored): (&Chunk<'_>, &mut _)| store(chunk.number, stored);
            s.task("store").bytes(CHUNK).spawn((chunk.read(), stored.inout()), store);
        }
    })
    .unwrap();
}

/// One handle per chunk. The last task takes the value out of it.
fn a_handle_each<E: Engine>(rt: &millpond::Runtime<E>, alive: &Alive, stored: &Handle<Vec<usize>>) {
    let chunks: Vec<_> = (0..CHUNKS).map(|_| Handle::new(None)).collect();
    rt.scope(|s| {
        for (number, chunk) in chunks.iter().enumerate() {
            s.task("load").spawn(chunk.inout(), move |chunk| *chunk = Some(Chunk::load(alive, number)));
            s.task("store").bytes(CHUNK).spawn((chunk.inout(), stored.inout()), |(chunk, stored)| {
                store(mem::take(chunk).expect("it was loaded").number, stored);
            });
        }
    })
    .unwrap();
}

/// One parent per chunk. It owns the chunk, and is complete when its children are. Then its bytes
/// are free.
fn a_parent_each<E: Engine>(rt: &millpond::Runtime<E>, alive: &Alive, stored: &Handle<Vec<usize>>) {
    rt.scope(|s| {
        for number in 0..CHUNKS {
            s.task("chunk").bytes(CHUNK).nest(stored.commutative(), move |s, stored| {
                let chunk = s.handle(Some(Chunk::load(alive, number)));
                s.spawn((chunk.inout(), stored.inout()), |(chunk, stored)| {
                    store(mem::take(chunk).expect("it was loaded").number, stored);
                });
            });
        }
    })
    .unwrap();
}

fn bounded<E: Engine>() {
    for workers in [1, 2, 4] {
        // One chunk that is loaded while its last task waits for room, and one that was used and is
        // not yet written again.
        let bound = (10 + 2) * CHUNK;
        let most = [
            most_of::<E>(workers, one_handle),
            most_of::<E>(workers, a_handle_each),
            most_of::<E>(workers, a_parent_each),
        ];
        assert!(most.iter().all(|&most| most <= bound), "{most:?} with {workers} workers");
    }
}

#[test]
fn the_memory_of_a_pipeline_is_bounded() {
    limit(120, "pipelines", bounded::<DefaultEngine>);
    limit(120, "pipelines on the dataflow stack", bounded::<StackEngine>);
}
