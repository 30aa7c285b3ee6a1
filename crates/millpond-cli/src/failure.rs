use crate::line;
use std::process::ExitCode;

/// Why the command fails. Each message is printed as one short line.
#[derive(Debug)]
pub enum Failure {
    /// The arguments are wrong.
    Usage(String),
    /// The run failed.
    Failed(String),
}

impl Failure {
    /// Writing to stdout failed.
    pub fn output(error: std::io::Error) -> Self {
        Self::Failed(format!("cannot write the output: {error}"))
    }

    /// Prints the message on stderr, and returns the exit status.
    pub fn report(&self) -> ExitCode {
        let (message, status) = match self {
            Self::Usage(message) => (message, 2),
            Self::Failed(message) => (message, 1),
        };
        line::error(message);
        ExitCode::from(status)
    }
}

impl From<millpond_workloads::Error> for Failure {
    fn from(error: millpond_workloads::Error) -> Self {
        if error.is_usage() { Self::Usage(error.to_string()) } else { Self::Failed(error.to_string()) }
    }
}

impl From<millpond_dist::portable::Error> for Failure {
    fn from(error: millpond_dist::portable::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<millpond::Error> for Failure {
    fn from(error: millpond::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
