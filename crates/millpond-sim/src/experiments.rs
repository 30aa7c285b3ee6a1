//! The paper's experiments and its theorem: published and simulated results.

use serde::Serialize;

use crate::config::{Config, Error, Outcome};
use crate::machine::simulate;
use crate::program::{Costs, Program, Work};
use crate::programs::{Fib, Knary, NQueens, Stencil};
use crate::speed::Speed;

/// A published result and a simulated one.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The program.
    pub program: &'static str,
    /// The number of processors.
    pub processors: usize,
    /// T_p as published, in seconds.
    pub published_seconds: f64,
    /// T_1/T_p as published; `None` if no T_1 was.
    pub published_speedup: Option<f64>,
    /// T_p as simulated.
    pub seconds: f64,
    /// The work divided by T_p.
    pub speedup: f64,
    /// The complete result of the simulation.
    pub outcome: Outcome,
}

/// One column of Table 1: a program, T_1, and T_p by p.
struct Column<'a> {
    program: &'static str,
    first: f64,
    rows: &'a [(usize, f64)],
}

const FIB_40: Column<'_> =
    Column { program: "fib(40), th 15", first: 9.1, rows: &[(4, 2.75), (8, 1.66), (16, 1.01), (32, 0.99)] };
const FIB_45: Column<'_> =
    Column { program: "fib(45), th 20", first: 88.2, rows: &[(4, 22.5), (8, 12.35), (16, 6.4), (32, 3.7)] };
const KNARY: Column<'_> = Column {
    program: "knary, th 15",
    first: 2435.28,
    rows: &[(8, 306.17), (16, 153.52), (32, 77.68), (64, 40.51), (100, 26.60)],
};

/// Seconds from a request to its answer on the paper's cluster. The paper does not give it. With
/// this value, T_p of all three columns is close to the published one.
pub const TABLE_1_LATENCY: f64 = 0.03;

/// Table 1 ([DDS](crate#sources) §5): 0.23 µs per task, 0.16 µs per argument.
///
/// `as_printed`: leaves take 0.1 ms (th = 15) and 1 ms (th = 20). These times are rounded, so the
/// work of fib is then twice the published T_1. Otherwise the leaves' time makes the work equal to
/// T_1.
///
/// The paper's knary(35, 10) cannot have the same parameters as here: 10^34 leaves of 0.1 ms take
/// longer than its 2435 s. The tree here has 30 children per node, 5 levels above the leaves, and
/// the published work.
///
/// ```no_run
/// use millpond_sim::experiments::{TABLE_1_LATENCY, table1};
///
/// for row in table1(false, TABLE_1_LATENCY, 1)? {
///     println!("{} on {}: {} s, published {} s", row.program, row.processors, row.seconds, row.published_seconds);
/// }
/// # Ok::<(), millpond_sim::Error>(())
/// ```
///
/// # Errors
///
/// Like [`simulate`].
pub fn table1(as_printed: bool, latency: f64, seed: u64) -> Result<Vec<Row>, Error> {
    let machine = |processors| Config { latency, seed, ..Config::of(processors) };
    let mut rows = Vec::new();
    for (column, n, cutoff, leaf) in [(&FIB_40, 40, 15, 100_000), (&FIB_45, 45, 20, 1_000_000)] {
        let free = Fib::new(n, cutoff, 0, Costs::PAPER);
        let leaves = Fib::new(n, cutoff, 1, Costs::NONE);
        let creation = free.size(&free.root()).work;
        let fitted = ((column.first * 1e9) as Work - creation) / leaves.size(&leaves.root()).work;
        let fib = Fib::new(n, cutoff, if as_printed { leaf } else { fitted }, Costs::PAPER);
        compare(column, &fib, machine, &mut rows)?;
    }
    compare(&KNARY, &Knary::new(20, 30, 0, 15, 100_000, Costs::PAPER), machine, &mut rows)?;
    Ok(rows)
}

fn compare(
    column: &Column<'_>,
    program: &impl Program,
    machine: impl Fn(usize) -> Config,
    rows: &mut Vec<Row>,
) -> Result<(), Error> {
    for &(processors, published) in column.rows {
        let outcome = simulate(program, &machine(processors))?;
        rows.push(Row {
            program: column.program,
            processors,
            published_seconds: published,
            published_speedup: Some(column.first / published),
            seconds: outcome.seconds,
            speedup: outcome.work_seconds / outcome.seconds,
            outcome,
        });
    }
    Ok(())
}

/// The runs of Fig. 4: n, processors, seconds.
const FIGURE_4: [(u32, usize, f64, &str); 3] =
    [(21, 1000, 78.0, "nqueens 21"), (22, 1458, 502.9, "nqueens 22"), (23, 1422, 4434.9, "nqueens 23")];

/// The average idle time of a processor in the run of 23 queens, and the time of the run, in
/// seconds ([DDS](crate#sources) §5). The paper prints the quotient as 0.63 %; it is 0.51 %.
pub const IDLE: (f64, f64) = (22.72, 4434.9);

/// The number of board rows filled by tasks.
pub const ROWS: u32 = 6;

/// The work of the run of Fig. 4 with this number of queens, if there is one. It is T·P minus the
/// published share of idle time. The paper gives this share only for 23 queens; the others have the
/// same here.
///
/// ```
/// use millpond_sim::experiments::work_of_queens;
///
/// // 72.7 days of one processor, in nanoseconds.
/// assert_eq!(work_of_queens(23).unwrap() / 86_400_000_000_000, 72);
/// assert!(work_of_queens(8).is_none());
/// ```
pub fn work_of_queens(n: u32) -> Option<Work> {
    let &(_, processors, seconds, _) = FIGURE_4.iter().find(|run| run.0 == n)?;
    Some((seconds * processors as f64 * (1.0 - IDLE.0 / IDLE.1) * 1e9) as Work)
}

/// The three runs of Fig. 4. Their work is computed from the published times. So the simulation
/// shows the additional time, and the load of processors and network over time.
///
/// ```no_run
/// use millpond_sim::experiments::figure4;
///
/// let rows = figure4(0.01, 1)?;
/// assert_eq!(rows.iter().map(|row| row.processors).collect::<Vec<_>>(), [1000, 1458, 1422]);
/// # Ok::<(), millpond_sim::Error>(())
/// ```
///
/// # Errors
///
/// Like [`simulate`].
pub fn figure4(latency: f64, seed: u64) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    for (n, processors, published, program) in FIGURE_4 {
        let work = work_of_queens(n).unwrap_or_default();
        let queens = NQueens::new(n, n - ROWS, work, Costs::PAPER, seed);
        let outcome = simulate(&queens, &Config { latency, seed, ..Config::of(processors) })?;
        rows.push(Row {
            program,
            processors,
            published_seconds: published,
            published_speedup: None,
            seconds: outcome.seconds,
            speedup: outcome.work_seconds / outcome.seconds,
            outcome,
        });
    }
    Ok(rows)
}

/// Theorem 2, for one program and one kind of speeds.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// The program.
    pub program: &'static str,
    /// `1:1` or `1:4`.
    pub speeds: &'static str,
    /// c in T = W/Π_ave + c·p·D/Π_ave, the same for all p.
    pub constant: f64,
    /// The largest difference between T and the fit, as a share of T.
    pub largest_error: f64,
    /// The steals grow as p to this exponent, from the fourth p on. By the theorem it is at most 1.
    pub steals_grow: f64,
    /// The points of the fit.
    pub points: Vec<Point>,
}

/// A simulation and the theorem's values.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The number of processors.
    pub processors: usize,
    /// T as simulated.
    pub seconds: f64,
    /// W/Π_ave.
    pub least_seconds: f64,
    /// p·D/Π_ave.
    pub span_seconds: f64,
    /// W/Π_ave + c·p·D/Π_ave.
    pub fitted_seconds: f64,
    /// Closures stolen from other processors.
    pub steals: u64,
    /// Steals per processor and second of D.
    pub steals_per_span: f64,
}

/// Theorem 2 ([DDS](crate#sources) §4) on the paper's 21 queens, fib, knary and stencil. Speeds are
/// equal, and then from 1 to 4. The numbers of processors go up to `most`.
///
/// The default latency is fast Ethernet's, as on the paper's cluster. For knary it is a leaf's 1
/// ms, so that a steal costs as much as a task. For the queens it is a grid's 10 ms. The paper
/// gives none of these numbers.
///
/// ```no_run
/// use millpond_sim::experiments::theorem2;
///
/// for fit in theorem2(1422, None, 1)? {
///     println!("{}: c = {:.2}", fit.program, fit.constant);
/// }
/// # Ok::<(), millpond_sim::Error>(())
/// ```
///
/// # Errors
///
/// Like [`simulate`].
pub fn theorem2(most: usize, latency: Option<f64>, seed: u64) -> Result<Vec<Fit>, Error> {
    const MS: Work = 1_000_000;
    let fib = Fib::new(38, 15, MS, Costs::PAPER);
    let knary = Knary::new(8, 6, 1, 0, MS, Costs::PAPER);
    let stencil = Stencil::new(8192, 16, 25, 10 * MS, Costs::PAPER);
    let queens = NQueens::new(21, 21 - ROWS, work_of_queens(21).unwrap_or_default(), Costs::PAPER, seed);
    let [of_ethernet, of_leaf, of_grid] = [1e-4, 1e-3, 1e-2].map(|default| latency.unwrap_or(default));
    let mut fits = Vec::new();
    for unequal in [false, true] {
        fits.push(fit("fib(38), th 15", &fib, unequal, of_ethernet, most, seed)?);
        fits.push(fit("knary(8,6,1)", &knary, unequal, of_leaf, most, seed)?);
        fits.push(fit("stencil 8192 x 25", &stencil, unequal, of_ethernet, most, seed)?);
        fits.push(fit("nqueens 21", &queens, unequal, of_grid, most, seed)?);
    }
    Ok(fits)
}

/// The simulated numbers of processors.
const COUNTS: [usize; 9] = [1, 2, 4, 10, 32, 100, 320, 1000, 1422];

fn fit(
    name: &'static str,
    program: &impl Program,
    unequal: bool,
    latency: f64,
    most: usize,
    seed: u64,
) -> Result<Fit, Error> {
    let mut points = Vec::new();
    for processors in COUNTS.into_iter().filter(|&count| count <= most) {
        let mut config = Config { latency, seed, ..Config::of(processors) };
        if unequal {
            let mut random = crate::random::Random::of(!seed, processors as u64);
            config.speeds.fill_with(|| Speed::drawn(1.0 + 3.0 * random.unit()));
        }
        let outcome = simulate(program, &config)?;
        let span = outcome.span_seconds.unwrap_or(0.0);
        points.push(Point {
            processors,
            seconds: outcome.seconds,
            least_seconds: outcome.least_seconds(),
            span_seconds: processors as f64 * span / outcome.average_speed,
            fitted_seconds: 0.0,
            steals: outcome.steals,
            steals_per_span: outcome.steals as f64 / (processors as f64 * span),
        });
    }
    let error = |c: f64| {
        let off = |p: &Point| ((p.least_seconds + c * p.span_seconds) / p.seconds - 1.0).abs();
        points.iter().map(off).fold(0.0, f64::max)
    };
    let constant = least(&error);
    let largest_error = error(constant);
    points.iter_mut().for_each(|p| p.fitted_seconds = p.least_seconds + constant * p.span_seconds);
    let speeds = if unequal { "1:4" } else { "1:1" };
    Ok(Fit { program: name, speeds, constant, largest_error, steals_grow: slope(&points), points })
}

/// The minimum of a function that first falls and then rises, such as the maximum of several
/// distances.
fn least(error: &impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..200 {
        let (one, other) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if error(one) <= error(other) { high = other } else { low = one }
    }
    f64::midpoint(low, high)
}

/// The slope of steals over processors on logarithmic scales.
fn slope(points: &[Point]) -> f64 {
    let logs: Vec<_> = points
        .iter()
        .skip(3)
        .filter(|p| p.steals > 0)
        .map(|p| ((p.processors as f64).ln(), (p.steals as f64).ln()))
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len().max(1) as f64;
    let (x, y) = (mean(|l| l.0), mean(|l| l.1));
    let above: f64 = logs.iter().map(|l| (l.0 - x) * (l.1 - y)).sum();
    let below: f64 = logs.iter().map(|l| (l.0 - x).powi(2)).sum();
    if below > 0.0 { above / below } else { 0.0 }
}
