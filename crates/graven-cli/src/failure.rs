//! How a command ends when it does not succeed: what is said and with which exit code.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked for correctly and failed: exit code 1.
    Failed(String),
    /// It was asked for wrongly: exit code 2.
    Usage(String),
    /// Whoever read the output went away, as `| head` does: the end, silently.
    NobodyListens,
    /// It failed and has said so already: exit code 1.
    AlreadyTold,
}

impl Failure {
    pub(crate) fn failed(message: impl Display) -> Self {
        Failure::Failed(message.to_string())
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Failure::Usage(message.to_string())
    }

    /// Says it on standard error and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::Failed(message) => {
                eprintln!("error: {message}");
                ExitCode::from(1)
            }
            Failure::Usage(message) => {
                eprintln!("error: {message}\n\nFor more information, try '--help'.");
                ExitCode::from(2)
            }
            Failure::NobodyListens => ExitCode::SUCCESS,
            Failure::AlreadyTold => ExitCode::from(1),
        }
    }
}

/// Failures of writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::NobodyListens
        } else {
            Failure::failed(format!("cannot write the output: {error}"))
        }
    }
}

impl From<graven::Error> for Failure {
    fn from(error: graven::Error) -> Self {
        Failure::failed(error)
    }
}

impl From<graven_import::ImportError> for Failure {
    fn from(error: graven_import::ImportError) -> Self {
        Failure::failed(error)
    }
}

impl From<graven_lab::LabError> for Failure {
    fn from(error: graven_lab::LabError) -> Self {
        Failure::failed(error)
    }
}

impl From<graven_trace::TraceError> for Failure {
    fn from(error: graven_trace::TraceError) -> Self {
        Failure::failed(error)
    }
}
