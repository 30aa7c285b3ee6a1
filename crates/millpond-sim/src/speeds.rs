//! The sources of speeds: a generator, or a file.
//!
//! ```text
//! # processor  from second  speed
//! 0            0            1.5
//! 3            0            2
//! 3            120          0        it leaves
//! 3            300          1        it enrols
//! ```
//!
//! Processors are numbered from 0. Without a line, or before its first line, a processor has speed
//! 1. The text after the third field, or after a `#`, is a comment.

use std::path::{Path, PathBuf};

use crate::input::bounded;
use crate::random::Random;
use crate::speed::{LATEST, PERIODS, Speed, is_speed};

/// Why speeds cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SpeedsError {
    /// A generator's numbers are invalid.
    #[error("speeds '{text}': expected {expected}")]
    Generator {
        /// The given text.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
    /// The text is neither a generator nor a readable file.
    #[error(
        "speeds '{}': neither constant, uniform:LOW..HIGH nor churn:UP:DOWN, and no file that can be read: {why}", .file.display()
    )]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        why: std::io::Error,
    },
    /// A file has no speeds.
    #[error("{}: it has no line 'processor second speed'", .file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// A line of a file is invalid.
    #[error("{}:{line}: {what} '{value}' is not {expected}", .file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The field.
        what: &'static str,
        /// Its text.
        value: String,
        /// The expected values.
        expected: String,
    },
}

/// The forms of generators.
const FORMS: [(&str, &str); 3] = [
    ("constant", "constant or constant:SPEED, 0 or from 1e-3 to 1e6"),
    (
        "uniform",
        "uniform:LOW..HIGH or uniform:LOW..HIGH:SECONDS, with LOW <= HIGH, both 0 or from 1e-3 to 1e6, and SECONDS from \
         1e-6 to 1e9",
    ),
    ("churn", "churn:UP:DOWN, two means in seconds from 1e-6 to 1e9"),
];

/// The speeds of this number of processors.
///
/// - `constant` or `constant:S`: the same for all processors, without changes.
/// - `uniform:LOW..HIGH`: drawn for each processor. With `:SECONDS`, drawn again after each such
///   period.
/// - `churn:UP:DOWN`: alternating speeds 1 and 0, for exponentially distributed times with these
///   averages.
/// - Any other text is the path of a file.
///
/// Speeds are 0 or from 10^-3 to 10^6. Periods and averages are from 10^-6 to 10^9 seconds, times
/// up to 10^12 seconds.
///
/// ```
/// use millpond_sim::speeds;
///
/// let mut four = speeds("uniform:1..4", 4, 1)?;
/// assert!(four.iter_mut().all(|speed| (1.0..=4.0).contains(&speed.at(0.0))));
/// assert!(speeds("uniform:4..1", 4, 1).is_err());
/// # Ok::<(), millpond_sim::SpeedsError>(())
/// ```
///
/// # Errors
///
/// If a number is invalid, or the file cannot be read.
pub fn speeds(text: &str, processors: usize, seed: u64) -> Result<Vec<Speed>, SpeedsError> {
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let Some((_, expected)) = FORMS.iter().find(|(form, _)| *form == name) else {
        return from_file(Path::new(text), processors);
    };
    let make: Option<Box<dyn Fn(Random) -> Speed>> = match name {
        "constant" => constant(rest),
        "uniform" => rest.and_then(uniform),
        _ => rest.and_then(churn),
    };
    let make = make.ok_or_else(|| SpeedsError::Generator { text: text.to_owned(), expected })?;
    // The inverted seed makes these sequences differ from the thieves'.
    Ok((0..processors as u64).map(|processor| make(Random::of(!seed, processor))).collect())
}

type Make = Option<Box<dyn Fn(Random) -> Speed>>;

fn constant(rest: Option<&str>) -> Make {
    let speed = rest.map_or(Some(1.0), speed)?;
    Some(Box::new(move |_| Speed::drawn(speed)))
}

fn uniform(rest: &str) -> Make {
    let (range, period) = match rest.split_once(':') {
        Some((range, period)) => (range, Some(self::period(period)?)),
        None => (rest, None),
    };
    let (low, high) = range.split_once("..")?;
    let (low, high) = (speed(low)?, speed(high)?);
    if low > high {
        return None;
    }
    Some(Box::new(move |mut random| match period {
        Some(period) => Speed::redrawn(low, high, period, random),
        None => Speed::drawn(low + (high - low) * random.unit()),
    }))
}

fn churn(rest: &str) -> Make {
    let (up, down) = rest.split_once(':')?;
    let [up, down] = [period(up)?, period(down)?];
    Some(Box::new(move |random| Speed::churn(up, down, random)))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

fn speed(text: &str) -> Option<f64> {
    number(text).filter(|speed| is_speed(*speed))
}

fn period(text: &str) -> Option<f64> {
    number(text).filter(|period| PERIODS.contains(period))
}

fn time(text: &str) -> Option<f64> {
    number(text).filter(|time| (0.0..=LATEST).contains(time))
}

fn from_file(file: &Path, processors: usize) -> Result<Vec<Speed>, SpeedsError> {
    let read = bounded(file).map_err(|why| SpeedsError::Read { file: file.to_owned(), why })?;
    let mut steps: Vec<Vec<(f64, f64)>> = vec![Vec::new(); processors];
    for (line, text) in (1..).zip(read.lines()) {
        let text = text.split('#').next().unwrap_or_default();
        let mut fields = text.split([' ', '\t', ',', ';']).filter(|field| !field.is_empty());
        let Some(processor) = fields.next() else { continue };
        let wrong = |what, value: &str, expected: String| SpeedsError::Line {
            file: file.to_owned(),
            line,
            what,
            value: value.to_owned(),
            expected,
        };
        let last = || format!("a number from 0 to {}", processors.saturating_sub(1));
        let steps = processor.parse().ok().and_then(|processor: usize| steps.get_mut(processor));
        let steps = steps.ok_or_else(|| wrong("processor", processor, last()))?;
        let time = fields.next().unwrap_or_default();
        let at =
            self::time(time).ok_or_else(|| wrong("time", time, "a number of seconds from 0 to 1e12".to_owned()))?;
        let speed = fields.next().unwrap_or_default();
        let value = self::speed(speed).ok_or_else(|| wrong("speed", speed, "0 or from 1e-3 to 1e6".to_owned()))?;
        match steps.last() {
            Some(&(before, _)) if at <= before => {
                return Err(wrong("time", time, format!("after {before}, the time before of processor {processor}")));
            }
            None if at > 0.0 => steps.push((0.0, 1.0)),
            _ => {}
        }
        steps.push((at, value));
    }
    if steps.iter().all(Vec::is_empty) {
        return Err(SpeedsError::Empty { file: file.to_owned() });
    }
    let of = |steps: &Vec<_>| if steps.is_empty() { Ok(Speed::unit()) } else { Speed::steps(steps) };
    Ok(steps.iter().map(|steps| of(steps).expect("each line was checked")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_and_where() {
        let file = std::env::temp_dir().join(format!("millpond-speeds-{}", std::process::id()));
        let refused = |content: &str| {
            std::fs::write(&file, content).unwrap();
            let error = speeds(file.to_str().unwrap(), 4, 1).unwrap_err().to_string();
            error.strip_prefix(file.to_str().unwrap()).unwrap().to_owned()
        };
        assert_eq!(refused("# x\n0 0 -1\n"), ":2: speed '-1' is not 0 or from 1e-3 to 1e6");
        assert_eq!(refused("0 0 inf"), ":1: speed 'inf' is not 0 or from 1e-3 to 1e6");
        assert_eq!(refused("0 0 NaN"), ":1: speed 'NaN' is not 0 or from 1e-3 to 1e6");
        assert_eq!(refused("0 0"), ":1: speed '' is not 0 or from 1e-3 to 1e6");
        assert_eq!(refused("0 0 1e-300"), ":1: speed '1e-300' is not 0 or from 1e-3 to 1e6");
        assert_eq!(refused("0 1e300 1"), ":1: time '1e300' is not a number of seconds from 0 to 1e12");
        assert_eq!(refused("# nothing\n"), ": it has no line 'processor second speed'");
        assert_eq!(refused("4 0 1"), ":1: processor '4' is not a number from 0 to 3");
        assert_eq!(refused("1 0 1\n\n1 0 2"), ":3: time '0' is not after 0, the time before of processor 1");
        std::fs::write(&file, "1 2 0 away\n1,5,0.5\n").unwrap();
        let mut read = speeds(file.to_str().unwrap(), 4, 1).unwrap();
        assert_eq!([0.0, 1.0, 2.0, 4.9, 5.0].map(|at| read[1].at(at)), [1.0, 1.0, 0.0, 0.0, 0.5]);
        std::fs::remove_file(&file).unwrap();
        let says = "speeds '/no/such': neither constant, uniform:LOW..HIGH nor churn:UP:DOWN, and no file that can be read: \
                    No such file or directory (os error 2)";
        assert_eq!(speeds("/no/such", 1, 1).unwrap_err().to_string(), says);
        let endless = speeds("/dev/zero", 1, 1).unwrap_err().to_string();
        assert!(endless.ends_with("no file that can be read: more than 33554432 bytes"), "{endless}");
        for text in [
            "constant:-1",
            "constant:1e-300",
            "constant:1e7",
            "uniform:1",
            "uniform",
            "uniform:1..inf",
            "uniform:1..4:0",
            "uniform:1..4:1e-9",
            "churn:1",
            "churn:0:1",
            "churn:1:1e300",
        ] {
            assert!(speeds(text, 1, 1).unwrap_err().to_string().starts_with("speeds '"), "{text}");
        }
    }

    #[test]
    fn generators_change_with_time() {
        let mut redrawn = speeds("uniform:1..4:10", 1, 1).unwrap().remove(0);
        let all: Vec<_> = (0..100).map(|at| redrawn.at(f64::from(at) * 10.0)).collect();
        assert!(all.iter().all(|speed| (1.0..=4.0).contains(speed)) && all.windows(2).all(|two| two[0] != two[1]));
        let mean = redrawn.capacity(100_000.0) / 1e14;
        assert!((mean - 2.5).abs() < 0.05, "{mean}");
        let mut churn = speeds("churn:30:10", 1, 1).unwrap().remove(0);
        let up = churn.capacity(1e5) / 1e14;
        assert!((up - 0.75).abs() < 0.02, "{up}");
        let when = churn.when(5e13);
        assert!((churn.capacity(when) - 5e13).abs() < 1e3);
    }
}
