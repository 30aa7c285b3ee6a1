//! Measures every point on every scheme, interleaved.

use super::Request;
use super::admission::admit;
use super::point::{Measured, Point, Program};
use super::setting::Setting;
use crate::engines::StaticRuntime;
use millpond_cli::suites::Failure;
use std::time::Instant;

/// The repetitions may take this many times the time of the suite, because the expected times may
/// be too short.
const PATIENCE: f64 = 1.25;

/// Measures points in series, each from the lightest to the heaviest.
pub fn measure<P: Program>(request: &Request, series: Vec<Vec<Point<P>>>) -> Result<Vec<Measured<P>>, Failure> {
    let (mut engines, started) = (Engines::default(), Instant::now());
    let mut all: Vec<_> = admit(request, &mut engines, series)?.into_iter().flatten().collect();
    let admitted = started.elapsed().as_secs_f64();
    for rep in 1..=request.reps {
        let so_far = started.elapsed().as_secs_f64();
        let each = (so_far - admitted) / (rep - 1) as f64;
        if rep > 1 && so_far + each > request.seconds * PATIENCE {
            let says =
                format!("{} of {} repetitions fit into {} s (--seconds)", rep - 1, request.reps, request.seconds);
            request.left_out.borrow_mut().push(says);
            break;
        }
        for measured in &mut all {
            let point = &measured.point;
            request.progress.say(|| format!("{}, {}: {rep} of {}", point.series("all"), point.values(), request.reps));
            measured.serial.extend(point.program.serial());
            // The order rotates, so that no scheme is always first.
            let first = (rep - 1) % measured.cells.len();
            let (before, from) = measured.cells.split_at_mut(first);
            for cell in from.iter_mut().chain(before) {
                cell.measure(engines.get(cell.engine), &point.program, point.runs)?;
            }
        }
    }
    Ok(all)
}

/// The built runtimes.
#[derive(Default)]
pub struct Engines(Vec<(Setting, StaticRuntime)>);

impl Engines {
    /// The index of a runtime, built at its first use.
    pub fn find(&mut self, setting: Setting, scheme: &str, pin: bool) -> Result<usize, Failure> {
        let is_it = |(its, runtime): &(Setting, StaticRuntime)| *its == setting && runtime.scheme() == scheme;
        if let Some(place) = self.0.iter().position(is_it) {
            return Ok(place);
        }
        self.0.push((setting, setting.build(scheme, pin)?));
        Ok(self.0.len() - 1)
    }

    pub fn get(&self, index: usize) -> &StaticRuntime {
        &self.0[index].1
    }
}
