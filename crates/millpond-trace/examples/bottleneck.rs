//! The program of `docs/guide/profiling.md`. It counts the letters of a text, block by block, in
//! three ways. They give the same counts and differ in one word.
//!
//! `cargo run --profile max -p millpond-trace --example bottleneck -- inout|commutative|reduce
//! [SCHEDULE.svg]`

use std::fs::File;
use std::io::BufWriter;

use millpond::{Handle, Reducer, Runtime, Spawn};
use millpond_trace::Profile;

/// The number of occurrences of each byte.
type Counts = [u64; 256];

/// Adds counts, letter by letter.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Together;

impl Reducer<Counts> for Together {
    fn identity(&self, _like: &Counts) -> Counts {
        [0; 256]
    }

    fn combine(&self, into: &mut Counts, part: Counts) {
        into.iter_mut().zip(part).for_each(|(into, part)| *into += part);
    }
}

fn count(block: &[u8], counts: &mut Counts) {
    block.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
}

/// Bytes that resemble text: some are more frequent than others.
fn text(bytes: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..bytes).map(|_| next() & next()).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let access = args.next().unwrap_or_else(|| "inout".to_owned());
    let rt = Runtime::builder().workers(2).build()?;
    let text: Vec<Handle<Vec<u8>>> = text(32 << 20).chunks(64 << 10).map(|block| Handle::new(block.to_vec())).collect();
    let counts = Handle::new([0; 256]);
    let (result, recording) = rt.record(|| {
        rt.scope(|s| {
            for block in &text {
                let (task, read) = (s.task("count"), block.read());
                match access.as_str() {
                    "commutative" => {
                        drop(task.spawn((read, counts.commutative()), |(block, counts)| count(block, counts)))
                    }
                    "reduce" => {
                        drop(task.spawn((read, counts.reduce(Together)), |(block, counts)| count(block, counts)))
                    }
                    _ => drop(task.spawn((read, counts.inout()), |(block, counts)| count(block, counts))),
                }
            }
        })
    });
    result?;
    println!("{}", recording.report()?);
    if let Some(file) = args.next() {
        recording.write_schedule(&mut BufWriter::new(File::create(file)?))?;
    }
    let counted = counts.into_inner()?;
    assert_eq!(counted.iter().sum::<u64>(), 32 << 20);
    Ok(())
}
