//! The output files of `millpond profile`: one table entry each.

use crate::failure::Failure;
use crate::progress::Progress;
use clap::ArgMatches;
use millpond_trace::{DOT_LIMIT, DotError, Recording, Report};
use millpond_workloads::output;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// An optional output file.
pub struct Output {
    pub option: &'static str,
    pub help: &'static str,
    fill: fn(&Made<'_>, &mut dyn Write) -> io::Result<()>,
}

/// The data of the files.
pub struct Made<'a> {
    pub recording: &'a Recording,
    pub profile: &'a Report,
    /// Measured points: workers, and their seconds.
    pub points: &'a [(u32, f64)],
}

/// Every file, in the order of `--help`.
pub static OUTPUTS: &[Output] = &[
    Output {
        option: "record",
        help: "Write the recording, for --read and for simulations",
        fill: |made, out| out.write_all(made.recording.bytes()),
    },
    Output {
        option: "trace",
        help: "Write a timeline for ui.perfetto.dev or chrome://tracing, as JSON",
        fill: |made, mut out| made.recording.write_trace(&mut out).map_err(io::Error::other),
    },
    Output {
        option: "dot",
        help: "Write the graph for Graphviz, with versions and generations; for small graphs",
        fill: |made, mut out| made.recording.write_dot(&mut out).map_err(io::Error::other),
    },
    Output {
        option: "svg",
        help: "Draw the schedule: workers against time",
        fill: |made, mut out| made.recording.write_schedule(&mut out).map_err(io::Error::other),
    },
    Output {
        option: "speedup",
        help: "Draw the bounds of the speed-up, and measured points (runs again on 1, 2, 4, … workers)",
        fill: |made, mut out| made.profile.write_speedup(made.points, &mut out),
    },
];

/// The requested files.
pub struct Outputs(Vec<(&'static Output, PathBuf)>);

impl Outputs {
    /// Checks before a long run that all files can be written. No file may replace another one, or
    /// one of the `others`, which are read or written as well.
    pub fn new(matches: &ArgMatches, others: &[(&'static str, &Path)]) -> Result<Self, Failure> {
        let mut wanted = Vec::new();
        let mut taken: Vec<_> = others.iter().map(|(option, file)| (output::place(file), *option)).collect();
        for output in OUTPUTS {
            let Some(file) = matches.get_one::<PathBuf>(output.option) else { continue };
            let place = output::place(file);
            if let Some((_, other)) = taken.iter().find(|(other, _)| *other == place) {
                let one = output.option;
                return Err(Failure::Usage(format!("--{one} and --{other} name the same file: {}", file.display())));
            }
            output::require(file)?;
            taken.push((place, output.option));
            wanted.push((output, file.clone()));
        }
        Ok(Self(wanted))
    }

    /// Refuses a picture of a graph that is too large.
    pub fn check_size(&self, tasks: u64) -> Result<(), Failure> {
        let too_large = self.0.iter().any(|(output, _)| output.option == "dot") && tasks > DOT_LIMIT as u64;
        let error = DotError::TooLarge { tasks: tasks as usize, limit: DOT_LIMIT };
        if too_large { Err(Failure::Usage(format!("--dot: {error}"))) } else { Ok(()) }
    }

    /// Whether further runs must be measured.
    pub fn wants_points(&self) -> bool {
        self.0.iter().any(|(output, _)| output.option == "speedup")
    }

    /// Writes them, each whole or not at all.
    pub fn write(&self, made: &Made<'_>, progress: &Progress) -> Result<(), Failure> {
        self.0.iter().try_for_each(|(output, file)| {
            progress.say(|| format!("writing {}", file.display()));
            Ok(output::write(file, |out| (output.fill)(made, out))?)
        })
    }
}
