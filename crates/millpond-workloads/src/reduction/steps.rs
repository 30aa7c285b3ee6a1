//! The program as Concurrent Collections, following Listings 1 to 3.

use super::{Decision, Params, Tile};
use crate::Error;
use crate::workload::Probe;
use millpond_cnc::{Graph, Items, Steps, Tags};

/// A tile and its iteration.
type Key = (u32, u32);

/// The tags of the program, put by each reduction.
#[derive(Clone, Copy)]
struct Next<'x> {
    tiles: u32,
    updates: Tags<'x, Key>,
    /// An iteration, and the number of tiles read before it.
    reductions: Tags<'x, (u32, u64)>,
}

impl Next<'_> {
    /// Begins an iteration.
    fn begin(self, iteration: u32, read: u64) {
        self.updates.put_all((0..self.tiles).map(|tile| (iteration, tile)));
        self.reductions.put((iteration, read));
    }
}

/// Iterates until the reduction decides. Work not needed for the decision is skipped. The initial
/// tiles are put before the timed part.
pub fn steps<'env>(g: &Graph<'_, '_, 'env>, params: &'env Params, probe: &mut dyn Probe) -> Result<Decision, Error> {
    let (tiles, iterations) = (params.tiles as u32, params.iterations as u32);
    let items = g.dense_items("tile", (iterations + 1, tiles));
    let decision = g.items("decision");
    let next = Next { tiles, updates: g.tags("updates"), reductions: g.tags("reductions") };
    next.updates.prescribes(update(g, items, params));
    next.reductions.prescribes(reduce(g, items, decision, next, iterations));
    (0..tiles).for_each(|tile| items.put((0, tile), Tile::given(params, tile.into())));
    probe.start();
    next.begin(1, 0);
    let decision = *g.get(decision, ())?;
    g.finish();
    g.wait()?;
    probe.stop();
    Ok(decision)
}

/// The priority of an update in any iteration. The first tiles are always read, the last ones
/// perhaps never.
fn sooner(params: &Params, tile: u32) -> i8 {
    const LEVELS: u64 = i8::MAX as u64 - 1;
    (LEVELS - u64::from(tile) * LEVELS / params.tiles) as i8
}

fn update<'x, 'env: 'x>(g: &Graph<'_, 'x, 'env>, items: Items<'x, Key, Tile>, params: &'env Params) -> Steps<'x, Key> {
    let step = g.steps::<Key>("update").produces(items).priority(move |&(_, tile)| sooner(params, tile));
    let step = step.preconditions(move |&(iteration, tile), need| need.wait_on(items, (iteration - 1, tile)));
    step.execute(move |(iteration, tile)| async move {
        let before = items.get((iteration - 1, tile)).await;
        items.put((iteration, tile), before.updated(params, iteration.into(), tile.into()));
    })
}

fn reduce<'x>(
    g: &Graph<'_, 'x, '_>,
    items: Items<'x, Key, Tile>,
    decision: Items<'x, (), Decision>,
    next: Next<'x>,
    iterations: u32,
) -> Steps<'x, (u32, u64)> {
    let step = g.steps::<(u32, u64)>("reduce").produces(decision).priority(|_| i8::MAX);
    let step = step.preconditions(move |&(iteration, _), need| {
        (0..next.tiles).for_each(|tile| need.wait_on(items, (iteration, tile)));
    });
    step.execute(move |(iteration, mut read)| async move {
        let mut value = true;
        for tile in 0..next.tiles {
            read += 1;
            if !items.get((iteration, tile)).await.has_converged() {
                value = false;
                break;
            }
        }
        if value || iteration == iterations {
            decision.put((), Decision { value, iterations: iteration.into(), tiles_read: read });
        } else {
            next.begin(iteration + 1, read);
        }
    })
}
