//! Many files become one, by concatenations of two at a time in a balanced tree (FP §VI.F). A file is an *inode* and blocks, as
//! in a file system: the inode lists the first blocks, and names a further one that lists more. So which blocks a step gets
//! are values of what it got before: strict preconditions cannot say them.

mod content;
mod directory;
mod params;
mod serial;
mod steps;

pub use content::{BLOCK, Block, DIRECT, Inode, Node};
pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use steps::steps;

use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use crate::{Error, collections, output};
use millpond::catalogue::AnyRuntime;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fileconcat",
    summary: "Concatenate files, two at a time in a balanced tree",
    options: &OPTIONS,
    runs_on: RunsOn::Collections,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let (params, files) = Params::load(options)?;
    let expected = blake3::hash(&serial(&files));
    Ok(Box::new(FileConcat { params, files, expected, answer: None }))
}

struct FileConcat {
    params: Params,
    files: Vec<Vec<u8>>,
    /// Of the concatenation.
    expected: blake3::Hash,
    answer: Option<Vec<u8>>,
}

impl Job for FileConcat {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        self.files.len() as u64 - 1
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        // Given up first, so that it is not held twice.
        self.answer = None;
        let files = &self.files;
        self.answer = Some(collections::graph(runtime, self.params.settings, |g| steps(g, files, probe))??);
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        self.answer = Some(serial(&self.files));
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let answer = self.answer.as_deref().unwrap_or_default();
        let found = blake3::hash(answer);
        let result = vec![
            ("files", Value::Integer(self.files.len() as u64)),
            ("bytes", Value::Integer(answer.len() as u64)),
            ("blake3", Value::Text(found.to_hex().to_string())),
        ];
        Ok(Verdict { verified: found == self.expected, result })
    }

    fn save(&self) -> Result<(), Error> {
        match (&self.params.output, &self.answer) {
            (Some(file), Some(answer)) => output::write(file, |out| out.write_all(answer)),
            _ => Ok(()),
        }
    }
}
