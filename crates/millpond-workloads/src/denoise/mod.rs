//! Rician denoising ([FP](crate#sources) §VI.B, the application whose kernel is
//! [`reduction`](crate::reduction)). A picture is cut into tiles. A step computes one iteration of
//! a tile from the tile and its neighbours. A short-circuit reduction decides about another
//! iteration.

mod check;
mod params;
mod picture;
mod png;
mod serial;
mod steps;

pub use check::{psnr, ratios, verified};
pub use params::{OPTIONS, Params};
pub use picture::{Picture, Plane, synthetic};
pub use serial::{Found, serial};
pub use steps::{steps, tiles};

use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use crate::{Error, collections};
use millpond::catalogue::AnyRuntime;
use std::cell::OnceCell;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "denoise",
    summary: "Take Rician noise out of a picture, tile by tile, until it stands still",
    options: &OPTIONS,
    runs_on: RunsOn::Collections,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let (params, picture) = Params::load(options)?;
    let noisy = tiles(&params, &picture);
    Ok(Box::new(Denoise { params, picture, noisy, expected: OnceCell::new(), found: Vec::new() }))
}

struct Denoise {
    params: Params,
    picture: Picture,
    /// Its tiles, by channel.
    noisy: Vec<Vec<Plane>>,
    /// The serial program's result.
    expected: OnceCell<Vec<Found>>,
    /// The result.
    found: Vec<Found>,
}

impl Denoise {
    fn expected(&self) -> &[Found] {
        self.expected.get_or_init(|| serial(&self.picture, self.params.sigma(), self.params.iterations))
    }
}

impl Job for Denoise {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        let steps = self.noisy.iter().zip(self.expected()).map(|(tiles, found)| (tiles.len() as u64 + 1, found.1));
        steps.map(|(steps, iterations)| steps * u64::from(iterations)).sum()
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        // The last result is dropped first, so that memory does not hold both.
        self.found = Vec::new();
        let (params, picture, noisy) = (&self.params, &self.picture, &self.noisy);
        probe.start();
        let found = collections::graph(runtime, params.settings, |g| steps(g, params, picture, noisy));
        probe.stop();
        self.found = found??;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        self.found = Vec::new();
        probe.start();
        self.found = serial(&self.picture, self.params.sigma(), self.params.iterations);
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let ratios = ratios(&self.picture, &self.found);
        let verified = verified(&self.found, self.expected(), ratios);
        let [before, after] = match ratios {
            Some(ratios) => ratios.map(Value::Float),
            // The clean version of a picture from a file is unknown.
            None => [Value::None, Value::None],
        };
        Ok(Verdict { verified, result: vec![("psnr_in", before), ("psnr_out", after)] })
    }

    fn save(&self) -> Result<(), Error> {
        let planes: Vec<_> = self.found.iter().map(|(plane, _)| plane).collect();
        self.params.output.as_ref().map_or(Ok(()), |file| png::write(file, &self.picture, &planes))
    }
}
