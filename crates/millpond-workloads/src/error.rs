use std::path::PathBuf;

/// Why a job was refused or failed. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option's value is outside its range.
    #[error("--{option} {value} is out of range: {}{why}", expected(*min, *max))]
    Range {
        /// The option without its dashes.
        option: &'static str,
        /// The given value.
        value: u64,
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
        /// The source of the bound, with a leading space, or empty.
        why: &'static str,
    },
    /// An option's value cannot be used.
    #[error("--{option} {value}: {why}")]
    Value {
        /// The option without its dashes.
        option: &'static str,
        /// The given value, or its invalid part.
        value: String,
        /// The problem, and the valid values.
        why: String,
    },
    /// Two options exclude each other.
    #[error("--{one} and --{other} cannot be used together: {why}")]
    Conflict {
        /// The first option without its dashes.
        one: &'static str,
        /// The other option without its dashes.
        other: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// An input file cannot be used.
    #[error("{}: {place}: {what}", file.display())]
    Input {
        /// The file.
        file: PathBuf,
        /// The place in the file: a line, a byte offset or a matrix entry.
        place: String,
        /// The problem.
        what: String,
    },
    /// An input file cannot be read.
    #[error("{}: cannot read: {why}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// An output file cannot be written.
    #[error("{}: cannot write: {why}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// A pivot of a Cholesky factorisation is not positive.
    #[error("{matrix}: tile ({tile}, {tile}), row {row}: the matrix is not positive definite")]
    NotPositiveDefinite {
        /// The file, or a description of the generated matrix.
        matrix: String,
        /// The index of the diagonal tile, from 0.
        tile: usize,
        /// The row of the matrix, from 1 as Matrix Market counts.
        row: usize,
    },
    /// A diagonal tile of a matrix has no inverse.
    #[error(
        "{matrix}: tile ({tile}, {tile}), row {row}: the tile has no inverse, and rows are exchanged within a tile only"
    )]
    Singular {
        /// The file, or a description of the generated matrix.
        matrix: String,
        /// The index of the diagonal tile, from 0.
        tile: usize,
        /// The row of the matrix at which the elimination failed, from 1 as in Matrix Market files.
        row: usize,
    },
    /// A task failed.
    #[error("{0}")]
    Task(#[from] millpond::Error),
    /// A graph of Concurrent Collections failed.
    #[error("{0}")]
    Graph(#[from] millpond_cnc::Error),
}

/// The range of valid values, as text.
fn expected(min: u64, max: u64) -> String {
    if min <= max { format!("expected {min}..={max}") } else { "no value is possible".to_owned() }
}

impl Error {
    /// Whether the arguments are wrong, not the data or the run.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Range { .. } | Self::Value { .. } | Self::Conflict { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn an_empty_range_is_not_expected() {
        let says =
            |max| Error::Range { option: "n", value: 5, min: 1, max, why: " (with the memory available)" }.to_string();
        assert_eq!(says(4), "--n 5 is out of range: expected 1..=4 (with the memory available)");
        assert_eq!(says(0), "--n 5 is out of range: no value is possible (with the memory available)");
    }
}
