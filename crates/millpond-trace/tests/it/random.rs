//! Random programs: work and span against a plain reference. The reference compares every task with
//! every earlier one.

use std::cell::Cell;

use millpond::depend::Mode;
use millpond::record::Recorder;
use millpond::{Handle, Inline, Runtime, Spawn, Sum};
use millpond_trace::Profile;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// G. Marsaglia's xorshift. The seed of a case determines its numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

const MODES: [Mode; 5] = [Mode::Read, Mode::Write, Mode::Inout, Mode::Concurrent, Mode::Reduce];

/// A task: its time, and its accesses to different data.
type Task = (u64, Vec<(usize, Mode)>);

fn program(random: &mut Random, data: usize) -> Vec<Task> {
    let task = |random: &mut Random| {
        let mut accesses: Vec<(usize, Mode)> = Vec::new();
        for _ in 0..random.below(4) {
            let (datum, mode) = (random.below(data as u64) as usize, MODES[random.below(5) as usize]);
            if accesses.iter().all(|(other, _)| *other != datum) {
                accesses.push((datum, mode));
            }
        }
        (1 + random.below(20), accesses)
    };
    (0..random.below(60)).map(|_| task(random)).collect()
}

/// Returns work and span. A task comes after each earlier task that has used the same version in
/// another mode, or in a mode that does not share. Reductions share if nothing interrupts them.
/// Between two other tasks the reductions are combined, at no cost.
fn reference(tasks: &[Task]) -> (u64, u64) {
    let mut ends: Vec<u64> = Vec::new();
    for (n, (time, accesses)) in tasks.iter().enumerate() {
        let mut start = 0;
        for (datum, mode) in accesses.iter().filter(|(_, mode)| *mode != Mode::Write) {
            // Goes back to the start of the version.
            for earlier in (0..n).rev() {
                let Some((_, before)) = tasks[earlier].1.iter().find(|(other, _)| other == datum) else { continue };
                let alike = before == mode && mode.shares();
                let between = tasks[earlier + 1..n].iter().flat_map(|(_, accesses)| accesses);
                let interrupted = between.clone().any(|(other, m)| other == datum && m != mode);
                if !alike || interrupted {
                    start = start.max(ends[earlier]);
                }
                if *before == Mode::Write {
                    break;
                }
            }
        }
        ends.push(start + time);
    }
    (tasks.iter().map(|(time, _)| time).sum(), ends.into_iter().max().unwrap_or(0))
}

fn spawn<'s, S: Spawn<'s>>(s: &S, handles: &[Handle<u64, S::Brand>], (time, accesses): &Task) {
    // Each mode has an access type of its own. So a task takes a tuple of vectors, one per mode.
    let of = |mode: Mode| accesses.iter().filter(move |(_, m)| *m == mode).map(|(datum, _)| &handles[*datum]);
    let time = *time;
    let reads: Vec<_> = of(Mode::Read).map(Handle::read).collect();
    let writes: Vec<_> = of(Mode::Write).map(Handle::write).collect();
    let inouts: Vec<_> = of(Mode::Inout).map(Handle::inout).collect();
    let concurrents: Vec<_> = of(Mode::Concurrent).map(Handle::concurrent).collect();
    let reduces: Vec<_> = of(Mode::Reduce).map(|handle| handle.reduce(Sum)).collect();
    s.spawn((reads, writes, inouts, concurrents, reduces), move |(_, writes, _, _, _)| {
        NOW.set(NOW.get() + time);
        writes.into_iter().for_each(|out| out.set(0));
    });
}

#[test]
fn work_and_span_of_random_programs() {
    let cases: u64 = std::env::var("MILLPOND_CASES").map_or(300, |cases| cases.parse().unwrap());
    for case in 1..=cases {
        let mut random = Random(case.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let data = 1 + random.below(6) as usize;
        let tasks = program(&mut random, data);
        let workers = [1, 2, 8][random.below(3) as usize];
        let inline = [Inline::Never, Inline::Auto, Inline::Always][random.below(3) as usize];
        let recorder = Recorder::with_clock(|| NOW.get());
        let rt = Runtime::builder().workers(workers).inline(inline).recorder(&recorder).build().unwrap();
        let handles: Vec<_> = (0..data).map(|_| Handle::new(0)).collect();
        let report = rt.profile(|s| tasks.iter().for_each(|task| spawn(s, &handles, task))).unwrap();
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        assert_eq!((ns(report.work), ns(report.span)), reference(&tasks), "case {case}: {tasks:?}");
    }
}
