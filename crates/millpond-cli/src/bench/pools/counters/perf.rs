//! Cache misses that the processor counts, read through the system call `perf_event_open`.

use perf_event::events::{Cache, CacheOp, CacheResult, Event, Hardware, WhichCache};
use perf_event::{Builder, Counter};
use rustix::io::Errno;
use std::fs;
use std::hint::black_box;
use std::io;

/// Misses of the first-level data cache, and of the last level that the processor counts. The first
/// level counts loads only, because few processors count the misses of stores.
const EVENTS: [Event; 2] = [
    Event::Cache(Cache { which: WhichCache::L1D, operation: CacheOp::READ, result: CacheResult::MISS }),
    Event::Hardware(Hardware::CACHE_MISSES),
];

/// Decides which processes may read the counters.
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// The bytes that the probe reads: more than any first-level cache has.
const PROBED: usize = 4 << 20;

/// Runs a function, and counts this thread's misses in the meantime: of the first and of the last
/// level. Misses in the kernel do not count. The function runs even if its misses cannot be
/// counted.
pub fn counted<T>(run: impl FnOnce() -> T) -> (T, io::Result<[u64; 2]>) {
    counted_events(&EVENTS, run)
}

/// Whether the processor counts, or the reason why not.
pub fn probe() -> Result<(), String> {
    let bytes = vec![1_u8; PROBED];
    // One byte of each cache line.
    let (sum, counts) = counted(|| bytes.iter().step_by(64).map(|&byte| u64::from(byte)).sum::<u64>());
    black_box(sum);
    match counts {
        Ok([l1, _]) if l1 > 0 => Ok(()),
        Ok(_) => Err("the counters of this machine stay at 0".to_owned()),
        Err(error) => Err(reason(&error)),
    }
}

/// Why the system refuses a counter.
fn reason(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP) => "this machine does not count cache misses".to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => {
            let level = fs::read_to_string(PARANOID).unwrap_or_default();
            format!("not permitted ({PARANOID} is {}; 2 permits it)", level.trim())
        }
        Some(Errno::NOSYS) => "the kernel does not have it".to_owned(),
        _ => error.to_string(),
    }
}

fn counted_events<T>(events: &[Event; 2], run: impl FnOnce() -> T) -> (T, io::Result<[u64; 2]>) {
    let counters = start(events);
    let result = run();
    (result, counters.and_then(stop))
}

/// Starts to count events of this thread.
fn start(events: &[Event; 2]) -> io::Result<[Counter; 2]> {
    let open = |event: &Event| Builder::new().kind(event.clone()).build();
    let mut counters = [open(&events[0])?, open(&events[1])?];
    counters.iter_mut().try_for_each(Counter::enable)?;
    Ok(counters)
}

fn stop(mut counters: [Counter; 2]) -> io::Result<[u64; 2]> {
    counters.iter_mut().try_for_each(Counter::disable)?;
    let [first, second] = &mut counters;
    Ok([count(first)?, count(second)?])
}

/// The events so far. If the processor has too few counters, the kernel runs each for a part of the
/// time. Then the count is extrapolated.
fn count(counter: &mut Counter) -> io::Result<u64> {
    let read = counter.read_count_and_time()?;
    if read.time_running == 0 {
        return Err(io::Error::other("other programs use all counters of the processor"));
    }
    let scaled = u128::from(read.count) * u128::from(read.time_enabled) / u128::from(read.time_running);
    Ok(u64::try_from(scaled).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;
    use std::thread;

    const PAGE: usize = 4096;

    /// Touches pages that the process has never touched.
    fn touch(pages: usize) -> usize {
        let mut bytes = vec![0_u8; pages * PAGE];
        bytes.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
        black_box(bytes).len()
    }

    /// The kernel itself counts these events, so machines without counters of cache misses have
    /// them, too.
    #[test]
    fn each_thread_counts_its_own_events() {
        const EVENTS: [Event; 2] = [Event::Software(Software::PAGE_FAULTS), Event::Software(Software::TASK_CLOCK)];
        // Larger than the allocator's largest threshold for memory of its own.
        let pages = (64 << 20) / PAGE;
        let ((), counts) = counted_events(&EVENTS, || {
            let (_, inner) = thread::spawn(move || counted_events(&EVENTS, || touch(pages))).join().expect("counts");
            if let Ok([faults, nanoseconds]) = inner {
                // The kernel may use huge pages.
                assert!(faults > 0 && nanoseconds > 0, "{faults} faults in {nanoseconds} ns");
            }
        });
        match counts {
            Ok([_, nanoseconds]) => assert!(nanoseconds > 0),
            Err(error) => eprintln!("skipped: perf_event_open: {error}"),
        }
    }

    #[test]
    fn the_function_runs_even_if_the_events_are_refused() {
        // No processor has this combination.
        let wrong = Cache { which: WhichCache::ITLB, operation: CacheOp::WRITE, result: CacheResult::MISS };
        let (result, counts) = counted_events(&[Event::Cache(wrong), EVENTS[1].clone()], || 17);
        assert_eq!(result, 17);
        assert!(counts.is_err());
    }

    #[test]
    fn refusals_name_their_reason() {
        let of = |errno: Errno| reason(&errno.into());
        assert_eq!(of(Errno::NOENT), "this machine does not count cache misses");
        assert_eq!(of(Errno::NOSYS), "the kernel does not have it");
        assert!(of(Errno::ACCESS).starts_with("not permitted (/proc/sys/kernel/perf_event_paranoid is "));
        assert_eq!(of(Errno::MFILE), io::Error::from(Errno::MFILE).to_string());
    }
}
