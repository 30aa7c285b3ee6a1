//! The speed of a processor as a function of time, Π_i(t): piecewise constant, and how much work fits into it.

use crate::random::Random;

const NANOS: f64 = 1e9;

/// From `at` on the speed is `speed`, and `capacity` work could have been done before, in nanoseconds at unit speed.
#[derive(Clone, Copy, Debug)]
struct Piece {
    at: f64,
    speed: f64,
    capacity: f64,
}

/// How it goes on after the pieces there are.
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
    /// Up and down in turns, for exponentially distributed times.
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
/// let mut speed = Speed::steps(&[(0.0, 1.0), (2.0, 0.0), (5.0, 0.5)]);
/// assert_eq!((speed.at(3.0), speed.capacity(7.0)), (0.0, 3e9));
/// assert_eq!(speed.when(2.5e9), 6.0);
/// ```
#[derive(Clone, Debug)]
pub struct Speed {
    pieces: Vec<Piece>,
    tail: Tail,
}

impl Speed {
    /// The same for ever.
    pub fn constant(speed: f64) -> Self {
        Self::steps(&[(0.0, speed)])
    }

    /// From each time on the speed beside it. The first time must be 0, and they must increase.
    pub fn steps(steps: &[(f64, f64)]) -> Self {
        let mut speed = Speed { pieces: Vec::with_capacity(steps.len()), tail: Tail::Same };
        steps.iter().for_each(|&(at, value)| speed.push(at, value));
        speed
    }

    /// Uniformly distributed in a range, drawn again each `period`.
    pub(crate) fn redrawn(low: f64, high: f64, period: f64, random: Random) -> Self {
        let mut speed = Speed { pieces: Vec::new(), tail: Tail::Redrawn { low, high, period, random } };
        speed.extend();
        speed
    }

    /// Speed 1, and 0, in turns: for exponentially distributed times of these means.
    pub(crate) fn churn(up: f64, down: f64, random: Random) -> Self {
        let mut speed = Speed::constant(1.0);
        speed.tail = Tail::Churn { up, down, random };
        speed
    }

    fn push(&mut self, at: f64, speed: f64) {
        let capacity = self.pieces.last().map_or(0.0, |last| last.capacity + (at - last.at) * last.speed * NANOS);
        self.pieces.push(Piece { at, speed, capacity });
    }

    /// One more piece; false if there is none.
    fn extend(&mut self) -> bool {
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

    /// The piece in which a time lies.
    fn piece(&mut self, time: f64) -> usize {
        while self.pieces.last().is_some_and(|last| last.at <= time) && self.extend() {}
        // Nearly always the first or the last.
        let last = self.pieces.len() - 1;
        if self.pieces[last].at <= time { last } else { self.pieces.partition_point(|piece| piece.at <= time) - 1 }
    }

    /// The speed at a time.
    pub fn at(&mut self, time: f64) -> f64 {
        let piece = self.piece(time);
        self.pieces[piece].speed
    }

    /// The work that can be done until a time, in nanoseconds at unit speed: ∫Π_i.
    pub fn capacity(&mut self, time: f64) -> f64 {
        let piece = self.piece(time);
        let Piece { at, speed, capacity } = self.pieces[piece];
        capacity + (time - at) * speed * NANOS
    }

    /// When so much work can have been done; infinite if never.
    pub fn when(&mut self, capacity: f64) -> f64 {
        while self.pieces.last().is_some_and(|last| last.capacity < capacity) && self.extend() {}
        let piece = self.pieces.partition_point(|piece| piece.capacity < capacity).max(1) - 1;
        let Piece { at, speed, capacity: before } = self.pieces[piece];
        if capacity <= before {
            return at;
        }
        if speed > 0.0 { at + (capacity - before) / (speed * NANOS) } else { f64::INFINITY }
    }

    /// When the speed changes next.
    pub fn next_change(&mut self, time: f64) -> Option<f64> {
        let piece = self.piece(time);
        if piece + 1 == self.pieces.len() && !self.extend() {
            return None;
        }
        Some(self.pieces[piece + 1].at)
    }

    /// Calls with every span of time from `from` to `to` in which the speed is not 0, and `least` at least.
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

    /// Whether it is, at some time, so slow.
    pub(crate) fn can_be_below(&self, least: f64) -> bool {
        let slow = |speed: f64| speed <= 0.0 || speed < least;
        self.pieces.iter().any(|piece| slow(piece.speed))
            || match self.tail {
                Tail::Same => false,
                Tail::Redrawn { low, .. } => slow(low),
                Tail::Churn { .. } => true,
            }
    }

    /// When it is first fast enough to take part.
    pub(crate) fn first_alive(&mut self, least: f64) -> Option<f64> {
        let mut time = 0.0;
        loop {
            let speed = self.at(time);
            if speed > 0.0 && speed >= least {
                return Some(time);
            }
            // A generator whose range lies below the threshold would be asked for ever.
            if let Tail::Redrawn { high, .. } = self.tail
                && (high < least || high <= 0.0)
            {
                return None;
            }
            if matches!(self.tail, Tail::Churn { .. }) && least > 1.0 {
                return None;
            }
            time = self.next_change(time)?;
        }
    }
}
