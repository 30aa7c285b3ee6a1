//! The speed of a processor as a function of time, Π_i(t), and the possible work within a time. The
//! function is piecewise constant.

use std::ops::RangeInclusive;

use crate::config::{Error, require};
use crate::random::Random;

const NANOS: f64 = 1e9;

/// The range of speeds other than 0. With slower ones, thieves would ask without end. With faster
/// ones, nothing would take any time.
pub(crate) const SPEEDS: RangeInclusive<f64> = 1e-3..=1e6;
/// The range of the seconds between changes, or of their average. With shorter ones almost all
/// events would be changes.
pub(crate) const PERIODS: RangeInclusive<f64> = 1e-6..=1e9;
/// The last second in which a speed may change.
pub(crate) const LATEST: f64 = 1e12;

/// Whether a processor may have this speed.
pub(crate) fn is_speed(speed: f64) -> bool {
    speed == 0.0 || SPEEDS.contains(&speed)
}

/// From `at` on, the speed is `speed`. `capacity` is the possible work before `at`, in nanoseconds
/// at unit speed.
#[derive(Clone, Copy, Debug)]
struct Piece {
    at: f64,
    speed: f64,
    capacity: f64,
}

/// How the speed continues after the existing pieces.
#[derive(Clone, Debug)]
enum Tail {
    Same,
    /// A new speed each period.
    Redrawn {
        low: f64,
        high: f64,
        period: f64,
        random: Random,
    },
    /// Alternating 1 and 0, for exponentially distributed times.
    Churn {
        up: f64,
        down: f64,
        random: Random,
    },
}

/// Π_i(t).
///
/// ```
/// use millpond_sim::Speed;
///
/// // Leaves after two seconds, and enrols again after five, half as fast.
/// let mut speed = Speed::steps(&[(0.0, 1.0), (2.0, 0.0), (5.0, 0.5)])?;
/// assert_eq!((speed.at(3.0), speed.capacity(7.0)), (0.0, 3e9));
/// assert_eq!(speed.when(2.5e9), 6.0);
/// # Ok::<(), millpond_sim::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Speed {
    pieces: Vec<Piece>,
    tail: Tail,
    /// The maximum number of drawn pieces.
    most: usize,
}

impl Speed {
    /// A speed that never changes.
    ///
    /// # Errors
    ///
    /// If the speed is neither 0 nor from 10^-3 to 10^6.
    pub fn constant(speed: f64) -> Result<Self, Error> {
        Self::steps(&[(0.0, speed)])
    }

    /// A speed that changes at given times, from pairs of a time and the new speed.
    ///
    /// # Errors
    ///
    /// - `steps` is empty, or the first time is not 0.
    /// - A time is not after the previous one, or is beyond 10^12 s.
    /// - A speed is neither 0 nor from 10^-3 to 10^6.
    pub fn steps(steps: &[(f64, f64)]) -> Result<Self, Error> {
        require("number of steps of a speed", steps.len() as f64, !steps.is_empty(), "1 or more")?;
        require("first time of a speed", steps[0].0, steps[0].0 == 0.0, "0")?;
        let mut speed = Speed { pieces: Vec::with_capacity(steps.len()), tail: Tail::Same, most: usize::MAX };
        for &(at, value) in steps {
            let is_later = speed.pieces.last().is_none_or(|last| last.at < at) && at <= LATEST;
            require("time of a speed", at, is_later, "a time after the one before, up to 1e12 s")?;
            require("speed", value, is_speed(value), "0 or from 1e-3 to 1e6")?;
            speed.push(at, value);
        }
        Ok(speed)
    }

    /// Always 1.
    pub(crate) fn unit() -> Self {
        Self::drawn(1.0)
    }

    /// A speed that never changes, drawn from a range.
    pub(crate) fn drawn(speed: f64) -> Self {
        let first = Piece { at: 0.0, speed, capacity: 0.0 };
        Speed { pieces: vec![first], tail: Tail::Same, most: usize::MAX }
    }

    /// A speed drawn uniformly from a range, again after each `period`.
    pub(crate) fn redrawn(low: f64, high: f64, period: f64, random: Random) -> Self {
        let mut speed =
            Speed { tail: Tail::Redrawn { low, high, period, random }, pieces: Vec::new(), most: usize::MAX };
        speed.extend();
        speed
    }

    /// Alternating speeds 1 and 0, for exponentially distributed times with these averages.
    pub(crate) fn churn(up: f64, down: f64, random: Random) -> Self {
        Speed { tail: Tail::Churn { up, down, random }, ..Speed::unit() }
    }

    /// Limits the number of drawn pieces.
    pub(crate) fn limited(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// The number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Whether the limit on pieces is reached. The speed would then stay constant, which was not
    /// requested.
    pub(crate) fn is_exhausted(&self) -> bool {
        !matches!(self.tail, Tail::Same) && self.pieces.len() >= self.most
    }

    fn push(&mut self, at: f64, speed: f64) {
        let capacity = self.pieces.last().map_or(0.0, |last| last.capacity + (at - last.at) * last.speed * NANOS);
        self.pieces.push(Piece { at, speed, capacity });
    }

    /// Adds a piece. Returns false if there are no more.
    fn extend(&mut self) -> bool {
        if self.pieces.len() >= self.most {
            return false;
        }
        let last = self.pieces.last().copied();
        let (at, speed) = match &mut self.tail {
            Tail::Same => return false,
            Tail::Redrawn { low, high, period, random } => {
                (last.map_or(0.0, |last| last.at + *period), *low + (*high - *low) * random.unit())
            }
            Tail::Churn { up, down, random } => {
                let last = last.unwrap_or(Piece { at: 0.0, speed: 0.0, capacity: 0.0 });
                let (mean, then) = if last.speed > 0.0 { (*up, 0.0) } else { (*down, 1.0) };
                (last.at + random.exponential() * mean, then)
            }
        };
        self.push(at, speed);
        true
    }

    /// The piece that contains a time.
    fn piece(&mut self, time: f64) -> usize {
        while self.pieces.last().is_some_and(|last| last.at <= time) && self.extend() {}
        // Usually it is the first or the last.
        let last = self.pieces.len() - 1;
        if self.pieces[last].at <= time { last } else { self.pieces.partition_point(|piece| piece.at <= time) - 1 }
    }

    /// The speed at a time.
    pub fn at(&mut self, time: f64) -> f64 {
        let piece = self.piece(time);
        self.pieces[piece].speed
    }

    /// The possible work until a time, in nanoseconds at unit speed: ∫Π_i.
    pub fn capacity(&mut self, time: f64) -> f64 {
        let piece = self.piece(time);
        let Piece { at, speed, capacity } = self.pieces[piece];
        capacity + (time - at) * speed * NANOS
    }

    /// The time when this much work is possible; infinite if never.
    pub fn when(&mut self, capacity: f64) -> f64 {
        while self.pieces.last().is_some_and(|last| last.capacity < capacity) && self.extend() {}
        let piece = self.pieces.partition_point(|piece| piece.capacity < capacity).max(1) - 1;
        let Piece { at, speed, capacity: before } = self.pieces[piece];
        if capacity <= before {
            return at;
        }
        if speed > 0.0 { at + (capacity - before) / (speed * NANOS) } else { f64::INFINITY }
    }

    /// The time of the next change of speed.
    pub fn next_change(&mut self, time: f64) -> Option<f64> {
        let piece = self.piece(time);
        if piece + 1 == self.pieces.len() && !self.extend() {
            return None;
        }
        Some(self.pieces[piece + 1].at)
    }

    /// Calls `each` with every span between `from` and `to` in which the speed is not 0 and at
    /// least `least`.
    pub(crate) fn spans(&mut self, from: f64, to: f64, least: f64, mut each: impl FnMut(f64, f64)) {
        let (mut piece, mut from) = (self.piece(from), from);
        self.piece(to);
        while from < to {
            let until = self.pieces.get(piece + 1).map_or(to, |next| next.at.min(to));
            let speed = self.pieces[piece].speed;
            if speed > 0.0 && speed >= least && until > from {
                each(from, until);
            }
            (piece, from) = (piece + 1, until);
        }
    }

    /// Whether the speed is ever 0 or below `least`.
    pub(crate) fn can_be_below(&self, least: f64) -> bool {
        let slow = |speed: f64| speed <= 0.0 || speed < least;
        self.pieces.iter().any(|piece| slow(piece.speed))
            || match self.tail {
                Tail::Same => false,
                Tail::Redrawn { low, .. } => slow(low),
                Tail::Churn { .. } => true,
            }
    }

    /// The first time at which the processor is fast enough.
    pub(crate) fn first_alive(&mut self, least: f64) -> Option<f64> {
        let mut time = 0.0;
        loop {
            let speed = self.at(time);
            if speed > 0.0 && speed >= least {
                return Some(time);
            }
            if self.is_never(least) {
                return None;
            }
            time = self.next_change(time)?;
        }
    }

    /// Whether no draw of the generator is fast enough. Draws do not reach the upper bound of a
    /// range, unless the range is one number.
    fn is_never(&self, least: f64) -> bool {
        match self.tail {
            Tail::Same => false,
            Tail::Redrawn { low, high, .. } => high <= 0.0 || high < least || high == least && low < high,
            Tail::Churn { .. } => least > 1.0,
        }
    }
}
