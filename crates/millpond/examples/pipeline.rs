//! A pipeline with bounded memory: it parses, transforms and writes the blocks of a stream. Stages
//! of different blocks overlap. The output has the order of the input. The window bounds the number
//! of blocks in memory.

use millpond::{Handle, Runtime, Spawn};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const BLOCKS: usize = 200;
/// Tasks in flight, three for each block.
const WINDOW: usize = 24;

/// Counts the blocks in memory.
struct Block<'c>(String, &'c AtomicUsize);

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Relaxed);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::builder().window(WINDOW).build()?;
    let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let output = Handle::new(String::new());

    rt.scope(|s| {
        for n in 0..BLOCKS {
            // Handles of the loop body. Their values are dropped when the last task that uses them
            // has finished.
            let (block, number) = (s.unset(), s.unset());
            let (alive, most) = (&alive, &most);
            s.task("read").index([n]).spawn(block.write(), move |block| {
                most.fetch_max(alive.fetch_add(1, Relaxed) + 1, Relaxed);
                block.set(Block(format!("{n}"), alive));
            });
            // A stage that fails returns an error. The scope returns the first error in the order
            // of the stream.
            s.task("parse").index([n]).try_spawn((block.read(), number.write()), |(block, number)| {
                block.0.parse::<u64>().map(|n| number.set(n * n))
            });
            // All blocks use `output`, so these tasks run one after the other, in order.
            s.task("write").index([n]).spawn((number.read(), output.inout()), |(number, output)| {
                output.push_str(&format!("{number} "));
            });
        }
    })?;

    let output = output.into_inner()?;
    let serial: String = (0..BLOCKS as u64).map(|n| format!("{} ", n * n)).collect();
    assert_eq!(output, serial);
    let most = most.into_inner();
    println!("{BLOCKS} blocks, at most {most} in memory");
    assert!(most <= WINDOW, "{most} blocks in memory");
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("it checks its result");
}
