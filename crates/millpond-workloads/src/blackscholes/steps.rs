//! The program as Concurrent Collections: a step per block of options.

use super::{Contract, Params, price};
use crate::Error;
use crate::workload::Probe;
use millpond_cnc::Graph;

/// The options of a step: a part of the options shared by all steps.
#[derive(Debug, Clone, Copy)]
struct Block {
    first: usize,
    end: usize,
}

/// The price of each option. The timed part includes the puts of the blocks.
pub fn steps<'env>(
    g: &Graph<'_, '_, 'env>,
    params: &Params,
    contracts: &'env [Contract],
    probe: &mut dyn Probe,
) -> Result<Vec<f64>, Error> {
    let (count, granularity) = (params.blocks(), params.granularity);
    let blocks = g.dense_items("options", count);
    let prices = g.dense_items::<u32, Box<[f64]>>("prices", count);
    let tags = g.tags("blocks");
    let step = g.steps::<u32>("price").produces(prices);
    let step = step.preconditions(move |&block, need| need.wait_on(blocks, block));
    tags.prescribes(step.execute(move |block| async move {
        let &Block { first, end } = blocks.get(block).await;
        prices.put(block, contracts[first..end].iter().map(price).collect());
    }));
    probe.start();
    for block in 0..count {
        let first = block as usize * granularity;
        blocks.put(block, Block { first, end: contracts.len().min(first + granularity) });
        tags.put(block);
    }
    g.wait()?;
    probe.stop();
    let mut answer = Vec::with_capacity(contracts.len());
    (0..count).for_each(|block| answer.extend_from_slice(prices.try_get(&block).expect("each block was priced")));
    Ok(answer)
}
