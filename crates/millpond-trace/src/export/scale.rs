//! Axes: the positions of times and powers of two, and their marks.

/// Maps times to pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeScale {
    /// The seconds on the axis, and its pixels.
    seconds: f64,
    left: f64,
    width: f64,
    /// A round time between two marks.
    step: f64,
    unit: Unit,
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    name: &'static str,
    seconds: f64,
}

const UNITS: [Unit; 4] = [
    Unit { name: "s", seconds: 1.0 },
    Unit { name: "ms", seconds: 1e-3 },
    Unit { name: "µs", seconds: 1e-6 },
    Unit { name: "ns", seconds: 1e-9 },
];

impl TimeScale {
    /// From 0 to `seconds`, with about `marks` marks.
    pub(super) fn new(seconds: f64, left: f64, width: f64, marks: f64) -> Self {
        let seconds = seconds.max(1e-9);
        let rough = seconds / marks;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
        let unit = UNITS.into_iter().find(|unit| seconds >= unit.seconds).unwrap_or(UNITS[3]);
        TimeScale { seconds, left, width, step, unit }
    }

    pub(super) fn x(&self, seconds: f64) -> f64 {
        self.left + seconds / self.seconds * self.width
    }

    pub(super) fn unit(&self) -> &'static str {
        self.unit.name
    }

    /// The positions of the marks, and their texts.
    pub(super) fn marks(&self) -> impl Iterator<Item = (f64, String)> {
        let count = (self.seconds / self.step * (1.0 + 1e-9)) as u32;
        let decimals = (-(self.step / self.unit.seconds).log10().floor()).clamp(0.0, 6.0) as usize;
        (0..=count).map(move |n| {
            let seconds = f64::from(n) * self.step;
            (self.x(seconds), format!("{:.decimals$}", seconds / self.unit.seconds))
        })
    }
}

/// Maps numbers to pixels, by their logarithms.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogScale {
    /// Powers of two.
    from: i32,
    to: i32,
    /// The positions of these.
    start: f64,
    end: f64,
}

impl LogScale {
    pub(super) fn new((from, to): (i32, i32), (start, end): (f64, f64)) -> Self {
        LogScale { from, to, start, end }
    }

    pub(super) fn at(&self, number: f64) -> f64 {
        let part = (number.log2() - f64::from(self.from)) / f64::from(self.to - self.from);
        self.start + part * (self.end - self.start)
    }

    pub(super) fn least(&self) -> f64 {
        f64::from(self.from).exp2()
    }

    pub(super) fn most(&self) -> f64 {
        f64::from(self.to).exp2()
    }

    /// The powers of two: their positions and values.
    pub(super) fn marks(&self) -> impl Iterator<Item = (f64, String)> {
        (self.from..=self.to).map(move |power| {
            let number = f64::from(power).exp2();
            let text = if power < 0 { format!("1/{}", f64::from(-power).exp2()) } else { number.to_string() };
            (self.at(number), text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_in_range() {
        for (seconds, last, unit) in [(0.0123, "12", "ms"), (3.0, "3.0", "s"), (7e-7, "700", "ns"), (0.05, "50", "ms")]
        {
            let scale = TimeScale::new(seconds, 100.0, 1000.0, 10.0);
            let marks: Vec<_> = scale.marks().collect();
            assert_eq!((marks.last().unwrap().1.as_str(), scale.unit()), (last, unit));
            assert!(marks.len() >= 4 && marks.len() <= 12);
            assert!(marks.iter().all(|(x, _)| (100.0..=1100.1).contains(x)));
        }
    }

    #[test]
    fn powers_of_two_are_as_far_from_each_other() {
        let scale = LogScale::new((-1, 10), (0.0, 110.0));
        let marks: Vec<_> = scale.marks().collect();
        assert_eq!((marks[0].clone(), marks[11].clone()), ((0.0, "1/2".to_owned()), (110.0, "1024".to_owned())));
        assert_eq!((scale.least(), scale.most()), (0.5, 1024.0));
    }
}
