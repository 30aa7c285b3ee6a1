//! Chooses the points that fit into the time of a suite and into the memory.
//!
//! Each point first runs once on each scheme, from the lightest to the heaviest of its series. The
//! lighter points predict the time of the next one:
//!
//! - If a point would take more than a scheme's share of the time, it is left out on that scheme.
//! - If a point would exceed the share of its series, it is left out on all schemes.
//!
//! Finally the heaviest points are left out until all repetitions of the others fit.

use super::Request;
use super::plan::Trend;
use super::point::{Cell, Measured, Point, Program};
use super::round::Engines;
use millpond::catalogue::Row as Scheme;
use millpond::depend::Mode;
use millpond_cli::suites::{Failure, rss};
use millpond_workloads::matrix::memory::available;
use std::time::Instant;

/// A first run shorter than this, in seconds, is repeated.
const REPEAT_BELOW_SECONDS: f64 = 0.100;
/// Runs below these seconds or bytes do not predict larger ones, because they may have waited, or
/// were the first.
const TELLING: (f64, f64) = (0.010, 8e6);
/// The fraction of the memory that a run may need.
const MEMORY: f64 = 0.25;
/// A proposed time is larger than the expected one by this factor.
const SPARE: f64 = 1.2;

/// The admitted points, by series. Each has run once on every scheme.
pub fn admit<P: Program>(
    request: &Request,
    engines: &mut Engines,
    series: Vec<Vec<Point<P>>>,
) -> Result<Vec<Vec<Measured<P>>>, Failure> {
    let (started, many) = (Instant::now(), series.len());
    let mut admitted = Vec::new();
    for points in series {
        admitted.push(admit_series(request, engines, points, many)?);
    }
    fit(request, &mut admitted, started.elapsed().as_secs_f64());
    Ok(admitted)
}

/// A scheme that a series is measured on.
struct Contender {
    scheme: &'static Scheme,
    times: Trend,
    sizes: Trend,
}

/// Admits the points of one of `many` series.
fn admit_series<P: Program>(
    request: &Request,
    engines: &mut Engines,
    points: Vec<Point<P>>,
    many: usize,
) -> Result<Vec<Measured<P>>, Failure> {
    let new = |scheme| Contender { scheme, times: Trend::new(TELLING.0), sizes: Trend::new(TELLING.1) };
    let mut contenders: Vec<_> = request.schemes.iter().copied().map(new).collect();
    let mut serial = Trend::new(TELLING.0);
    let mut all: Vec<_> = points.into_iter().map(Measured::new).collect();
    // The runs of a point in all repetitions and here, as if each series had such a point.
    let runs = ((request.reps + 1) * many) as f64;
    let mut spent = 0.0;
    for at in 0..all.len() {
        let weight = all[at].point.weight;
        contenders.retain(|contender| {
            let why = contender.refusal(request, &all[at].point, runs);
            why.is_none_or(|why| leave_out(request, contender.scheme.name, &all[at..], &why))
        });
        if contenders.is_empty() {
            break;
        }
        let expected = contenders.iter().map(|contender| contender.times.expect(weight, 1.0)).sum::<f64>();
        let whole = (spent + expected + serial.expect(weight, 1.0)) * runs;
        if at > 0 && whole > request.seconds {
            let allow = (whole * SPARE).ceil();
            let why = format!("the repetitions would take about {whole:.0} s (--seconds {allow} allows it)");
            leave_out(request, "all schemes", &all[at..], &why);
            break;
        }
        let begun = Instant::now();
        let Measured { point, cells, .. } = &mut all[at];
        for Contender { scheme, times, sizes } in &mut contenders {
            request.progress.say(|| format!("{}, {}: once", point.series(scheme.name), point.values()));
            let (cell, seconds, bytes) = first_runs(request, engines, point, scheme.name)?;
            times.note(weight, seconds);
            sizes.note(weight, bytes);
            cells.extend(point.asked.then_some(cell));
        }
        if point.asked
            && let Some(seconds) = point.program.serial()
        {
            serial.note(weight, seconds);
            all[at].serial_cost = seconds;
        }
        spent += if all[at].point.asked { begun.elapsed().as_secs_f64() } else { 0.0 };
    }
    all.retain(|measured| !measured.cells.is_empty());
    Ok(all)
}

impl Contender {
    /// Why a point is not measured on this scheme. `runs` is the number of its runs.
    fn refusal<P>(&self, request: &Request, point: &Point<P>, runs: f64) -> Option<String> {
        if let Some(mode) = point.mode.filter(|mode| !orders(self.scheme, *mode)) {
            return Some(format!("the scheme does not order `{mode}`"));
        }
        let (seconds, bytes) = (self.times.expect(point.weight, 1.0), self.sizes.expect(point.weight, 2.0));
        let whole = seconds * runs * request.schemes.len() as f64;
        if whole > request.seconds {
            let allow = (whole * SPARE).ceil();
            return Some(format!("a run would take about {seconds:.1} s (--seconds {allow} allows it)"));
        }
        let most = available().map_or(f64::INFINITY, |bytes| bytes as f64 * MEMORY);
        (bytes > most).then(|| format!("a run would take about {:.0} MB of memory", bytes / 1e6))
    }
}

/// Whether the scheme orders accesses of the mode.
fn orders(scheme: &Scheme, mode: Mode) -> bool {
    scheme.modes.is_none_or(|modes| modes.contains(&mode))
}

/// The first runs of a cell: also their seconds, and the bytes by which memory grew.
fn first_runs<P: Program>(
    request: &Request,
    engines: &mut Engines,
    point: &Point<P>,
    scheme: &'static str,
) -> Result<(Cell, f64, f64), Failure> {
    let engine = engines.find(point.setting, scheme, request.pin)?;
    let mut cell = Cell::new(scheme, engine);
    let mut run = || {
        let begun = Instant::now();
        let (ran, _) = cell.run(engines.get(engine), &point.program)?;
        Ok::<_, Failure>((ran.timed.seconds, begun.elapsed().as_secs_f64()))
    };
    rss::reset();
    let held = rss::peak();
    let (mut seconds, mut whole) = run()?;
    let bytes = rss::peak().saturating_sub(held) as f64;
    if seconds < REPEAT_BELOW_SECONDS {
        // The first one may have been delayed.
        let again = run()?;
        (seconds, whole) = (seconds.min(again.0), whole.min(again.1));
    }
    cell.expect(seconds, whole, point.runs);
    Ok((cell, seconds, bytes))
}

/// Reports points of one series that are not measured on a scheme. Points that were not asked for
/// are not reported. Returns false.
fn leave_out<P>(request: &Request, scheme: &str, points: &[Measured<P>], why: &str) -> bool {
    let mut asked = points.iter().map(|measured| &measured.point).filter(|point| point.asked);
    if let Some(first) = asked.next() {
        let values: Vec<_> = [first].into_iter().chain(asked).map(Point::values).collect();
        let says = format!("left out: {}, {}: {why}", first.series(scheme), values.join("; "));
        request.left_out.borrow_mut().push(says);
    }
    false
}

/// Leaves out the heaviest points until the repetitions of the others fit. The first point of each
/// series stays. `spent` is the time so far, in seconds.
fn fit<P>(request: &Request, series: &mut [Vec<Measured<P>>], spent: f64) {
    let reps = request.reps as f64;
    let mut costs: Vec<Vec<f64>> =
        series.iter().map(|points| points.iter().map(|point| reps * point.cost()).collect()).collect();
    let whole = spent + costs.iter().flatten().sum::<f64>();
    let allow = (whole * SPARE).ceil();
    drop_heaviest(&mut costs, request.seconds - spent);
    for (points, costs) in series.iter_mut().zip(costs) {
        let dropped = points.split_off(costs.len());
        let seconds = reps * dropped.iter().map(Measured::cost).sum::<f64>();
        let why = format!("the repetitions would take about {seconds:.0} s (--seconds {allow} allows all points)");
        leave_out(request, "all schemes", &dropped, &why);
    }
}

/// Drops the last numbers of some lists until the sum of all is at most `most`: the greatest of the
/// last numbers first. The first number of each list stays.
fn drop_heaviest(costs: &mut [Vec<f64>], most: f64) {
    while costs.iter().flatten().sum::<f64>() > most {
        let many = costs.iter_mut().filter(|costs| costs.len() > 1);
        let Some(heaviest) = many.max_by(|a, b| last(a).total_cmp(&last(b))) else { return };
        heaviest.pop();
    }
}

fn last(costs: &[f64]) -> f64 {
    costs.last().copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_points_are_dropped() {
        let kept = |most| {
            let mut costs = vec![vec![1.0, 2.0, 8.0], vec![1.0, 5.0], vec![9.0]];
            drop_heaviest(&mut costs, most);
            costs.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!((kept(26.0), kept(25.0), kept(17.0)), (vec![3, 2, 1], vec![2, 2, 1], vec![2, 1, 1]));
        // The first points stay, even if they do not fit.
        assert_eq!((kept(12.0), kept(1.0)), (vec![1, 1, 1], vec![1, 1, 1]));
    }
}
