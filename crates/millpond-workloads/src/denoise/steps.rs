//! The program as Concurrent Collections: a step per tile and iteration. It gets its tile and the
//! neighbours from the previous iteration. Another step decides after each iteration
//! ([FP](crate#sources), Listing 1).

use super::Params;
use super::picture::{Cut, Picture, Plane};
use super::serial::Found;
use crate::Error;
use crate::rician::{self, HALO, Noise};
use millpond_cnc::{Graph, Items, Tags, Use};
use std::ops::Deref;

/// A channel, an iteration and a tile.
type Key = (u32, u32, u32);

/// The shared data of a picture's steps.
#[derive(Clone, Copy)]
pub struct Around<'env> {
    params: &'env Params,
    cut: Cut,
    /// The noisy tiles of each channel.
    noisy: &'env [Vec<Plane>],
}

/// The tiles of each channel.
pub fn tiles(params: &Params, picture: &Picture) -> Vec<Vec<Plane>> {
    let cut = Cut { extent: picture.extent, tile: params.tile };
    picture.planes.iter().map(|plane| cut.cut(plane)).collect()
}

/// Denoises all channels of a picture in parallel. `noisy` has its tiles.
pub fn steps<'env>(
    g: &Graph<'_, '_, 'env>,
    params: &'env Params,
    picture: &Picture,
    noisy: &'env [Vec<Plane>],
) -> Result<Vec<Found>, Error> {
    let cut = Cut { extent: picture.extent, tile: params.tile };
    let around = Around { params, cut, noisy };
    // A tile is freed when all its neighbours have their next state. The graph frees the last
    // iteration's tiles.
    let tiles = g.counted_items::<Key, Plane>("tile", move |&(_, _, at)| cut.around(at).count() as u32);
    let converged = g.items::<Key, bool>("converged");
    let updates = g.tags("updates");
    let update = g.steps::<Key>("update").produces(tiles).produces(converged).need(params.of_tiles);
    let update = update.preconditions(move |&(channel, iteration, at), need| {
        cut.around(at).for_each(|(_, beside)| need.wait_on(tiles, (channel, iteration - 1, beside)));
    });
    updates.prescribes(update.execute(move |(channel, iteration, at)| async move {
        let mut got: [Option<Use<'_, Plane>>; 9] = Default::default();
        for (number, beside) in cut.around(at) {
            got[number] = Some(tiles.get((channel, iteration - 1, beside)).await);
        }
        let (next, still) = around.update(channel, at, &got);
        tiles.put((channel, iteration, at), next);
        converged.put((channel, iteration, at), still);
    }));
    let ends = reduce(g, around, converged, updates);
    for (channel, noisy) in (0..).zip(noisy) {
        (0..).zip(noisy).for_each(|(at, tile)| tiles.put((channel, 0, at), tile.clone()));
        updates.put_all((0..cut.tiles()).map(|at| (channel, 1, at)));
    }
    let channel = |channel| {
        let (&last, mut plane) = (g.get(ends, channel)?, vec![0.0; picture.extent.cells()]);
        for at in 0..cut.tiles() {
            cut.paste(at, &g.get(tiles, (channel, last, at))?, &mut plane);
        }
        Ok((plane, last))
    };
    (0..noisy.len() as u32).map(channel).collect()
}

/// Makes the reductions, and prescribes the first one of each channel. Returns the last iteration
/// of each.
fn reduce<'x>(
    g: &Graph<'_, 'x, '_>,
    around: Around<'x>,
    converged: Items<'x, Key, bool>,
    updates: Tags<'x, Key>,
) -> Items<'x, u32, u32> {
    let (reductions, ends, tiles) = (g.tags("reductions"), g.items("end"), around.cut.tiles());
    let reduce = g.steps::<(u32, u32)>("reduce").produces(ends);
    let reduce = reduce.preconditions(move |&(channel, iteration), need| {
        (0..tiles).for_each(|at| need.wait_on(converged, (channel, iteration, at)));
    });
    reductions.prescribes(reduce.execute(move |(channel, iteration)| async move {
        let (mut all, mut at) = (true, 0);
        while all && at < tiles {
            all = *converged.get((channel, iteration, at)).await;
            at += 1;
        }
        if all || iteration == around.params.iterations {
            return ends.put(channel, iteration);
        }
        updates.put_all((0..tiles).map(|at| (channel, iteration + 1, at)));
        reductions.put((channel, iteration + 1));
    }));
    reductions.put_all((0..around.noisy.len() as u32).map(|channel| (channel, 1)));
    ends
}

impl Around<'_> {
    /// A tile's next state, from the tile and its neighbours, and whether it has converged.
    fn update(self, channel: u32, at: u32, got: &[Option<impl Deref<Target = Plane>>; 9]) -> (Plane, bool) {
        let Cut { extent: picture, tile } = self.cut;
        let (extent, (left, top)) = (self.cut.of(at), self.cut.first(at));
        let fill = |row: usize, padded: &mut [f32]| {
            // Beyond the picture's border, its cells are repeated.
            let y = (top + row).saturating_sub(HALO).min(picture.height - 1);
            let beside = |x: usize| {
                let number = (y / tile + 1 - top / tile) * 3 + x / tile + 1 - left / tile;
                let cells = got[number].as_ref().expect("there is a tile where the picture is");
                &cells[y % tile * tile.min(picture.width - x / tile * tile) + x % tile..]
            };
            padded[HALO..][..extent.width].copy_from_slice(&beside(left)[..extent.width]);
            for out in 0..HALO {
                padded[out] = beside((left + out).saturating_sub(HALO))[0];
                padded[HALO + extent.width + out] = beside((left + extent.width + out).min(picture.width - 1))[0];
            }
        };
        let mut next = vec![0.0; extent.cells()];
        let noisy = &self.noisy[channel as usize][at as usize];
        let still = rician::step(Noise::new(self.params.sigma()), extent, noisy, fill, &mut next);
        (next, still)
    }
}
