//! The cost of recording: a million short tasks, and tasks of 10 µs, with and without recording, in
//! turns.
//!
//! `cargo run --profile max -p millpond-trace --example cost`

use std::time::{Duration, Instant};

use millpond::{Handle, Runtime, Spawn};
use millpond_trace::{Profile, Writer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workers = std::env::args().nth(1).map_or(Ok(2), |n| n.parse())?;
    let rt = Runtime::builder().workers(workers).build()?;
    a_million(&rt)?;
    ten_microseconds(&rt)?;
    Ok(())
}

/// Chains of empty bodies: as many events as possible per second.
fn chains(rt: &Runtime, tasks: usize, body: fn(&mut u64)) -> Result<Duration, Box<dyn std::error::Error>> {
    let data: Vec<_> = (0..64).map(|_| Handle::new(0_u64)).collect();
    let start = Instant::now();
    rt.scope(|s| {
        for n in 0..tasks {
            s.spawn(data[n % data.len()].inout(), body);
        }
    })?;
    Ok(start.elapsed())
}

fn a_million(rt: &Runtime) -> Result<(), Box<dyn std::error::Error>> {
    const TASKS: usize = 1_000_000;
    let path = std::env::temp_dir().join(format!("millpond-cost-{}", std::process::id()));
    for _ in 0..3 {
        let bare = chains(rt, TASKS, |n| *n += 1)?;
        let writer = Writer::to_file(&path, "cost", rt.workers())?;
        let recording = rt.recorder().add(writer.clone());
        let recorded = chains(rt, TASKS, |n| *n += 1)?;
        drop(recording);
        writer.finish()?;
        let megabytes = std::fs::metadata(&path)?.len() as f64 / 1e6;
        let start = Instant::now();
        let report = millpond_trace::Recording::read(&path)?.report()?;
        println!(
            "{TASKS} tasks: {bare:.3?} bare, {recorded:.3?} recorded, {megabytes:.1} MB; report of {} tasks in {:.3?}",
            report.tasks,
            start.elapsed()
        );
    }
    Ok(std::fs::remove_file(&path)?)
}

fn spin(n: &mut u64) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(10) {
        std::hint::spin_loop();
    }
    *n += 1;
}

fn ten_microseconds(rt: &Runtime) -> Result<(), Box<dyn std::error::Error>> {
    const TASKS: usize = 20_000;
    let mut ratios = Vec::new();
    for _ in 0..11 {
        let bare = chains(rt, TASKS, spin)?;
        let mut recorded = Ok(Duration::ZERO);
        let _ = rt.record(|| recorded = chains(rt, TASKS, spin).map_err(|error| error.to_string()));
        ratios.push(recorded?.as_secs_f64() / bare.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "{TASKS} tasks of 10 µs: recorded takes {:.4} of bare (median of {})",
        ratios[ratios.len() / 2],
        ratios.len()
    );
    Ok(())
}
