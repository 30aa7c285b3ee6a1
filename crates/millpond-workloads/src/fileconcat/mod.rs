//! File concatenation ([FP](crate#sources) §VI.F, Figure 5): a balanced binary tree whose leaves
//! are files. Each inner node is the concatenation of two. To read a file, a step gets its inode,
//! which names the blocks to get. So no step can declare all its items before its start, and strict
//! preconditions cannot express the program.

mod check;
mod inode;
mod input;
mod params;
mod serial;
mod steps;

pub use check::digest;
pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use steps::steps;

use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use crate::{Error, collections, output};
use millpond::catalogue::AnyRuntime;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fileconcat",
    summary: "Concatenate files in a balanced tree, by inodes that say which blocks to get",
    options: &OPTIONS,
    runs_on: RunsOn::Collections,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let (params, files) = Params::load(options)?;
    Ok(Box::new(FileConcat { params, files, answer: Vec::new() }))
}

struct FileConcat {
    params: Params,
    files: Vec<Vec<u8>>,
    /// The concatenation, in pieces.
    answer: Vec<Vec<u8>>,
}

impl Job for FileConcat {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        2 * (u64::from(self.params.files) - 1)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        // The last result is dropped first, so that memory does not hold both.
        self.answer = Vec::new();
        let (files, block) = (&self.files, self.params.block);
        self.answer = collections::graph(runtime, self.params.settings, |g| steps(g, files, block, probe))??;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        self.answer = Vec::new();
        probe.start();
        let whole = serial(&self.files);
        probe.stop();
        self.answer = vec![whole];
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let found = digest(&self.answer);
        let bytes = self.answer.iter().map(|piece| piece.len() as u64).sum();
        let result = vec![
            ("files", Value::Integer(self.params.files.into())),
            ("bytes", Value::Integer(bytes)),
            ("blake3", Value::Text(found.to_hex().to_string())),
        ];
        Ok(Verdict { verified: found == digest(&self.files), result })
    }

    fn save(&self) -> Result<(), Error> {
        let Some(file) = &self.params.output else { return Ok(()) };
        output::write(file, |out| self.answer.iter().try_for_each(|piece| out.write_all(piece)))
    }
}
