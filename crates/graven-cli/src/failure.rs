//! How a command ends when it does not succeed: what is said and with which exit code.

use std::error::Error;
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
    /// The reader of the output went away, as `| head` does: the end, silently.
    OutputClosed,
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

    /// A failure of something that writes files, with what can be done where the disk or the folder
    /// is the reason.
    pub(crate) fn with_remedy(error: &(dyn Error + 'static)) -> Self {
        match remedy(error) {
            Some(remedy) => Failure::failed(format!("{error}\n{remedy}")),
            None => Failure::failed(error),
        }
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
            Failure::OutputClosed => ExitCode::SUCCESS,
            Failure::AlreadyTold => ExitCode::from(1),
        }
    }
}

/// What helps against an error whose first cause is the file system.
fn remedy(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let kind = causes
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .map(io::Error::kind)
        .last()?;
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("The disk is full: make room, or use a folder on another disk.")
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            Some("Nothing can be written there: use a folder that may be written to.")
        }
        _ => None,
    }
}

/// Failures of writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::OutputClosed
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
        Failure::with_remedy(&error)
    }
}

impl From<graven_convert::Error> for Failure {
    fn from(error: graven_convert::Error) -> Self {
        match error {
            graven_convert::Error::Output(error) => Failure::from(error),
            error => Failure::with_remedy(&error),
        }
    }
}

impl From<graven_lab::LabError> for Failure {
    fn from(error: graven_lab::LabError) -> Self {
        Failure::with_remedy(&error)
    }
}

#[cfg(feature = "lab")]
impl From<graven_trace::TraceError> for Failure {
    fn from(error: graven_trace::TraceError) -> Self {
        Failure::failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a full disk and a read-only folder are told as such however deep the cause lies,
    /// anything else is not.
    #[test]
    fn causes_on_the_disk_have_a_remedy() {
        let of = |kind: io::ErrorKind| {
            let error = graven_lab::LabError::Io {
                path: "x".into(),
                action: "write",
                source: io::Error::from(kind),
            };
            match Failure::from(error) {
                Failure::Failed(message) => message,
                other => panic!("{other:?}"),
            }
        };
        assert!(of(io::ErrorKind::StorageFull).contains("disk is full"));
        assert!(of(io::ErrorKind::ReadOnlyFilesystem).contains("may be written to"));
        assert!(!of(io::ErrorKind::NotFound).contains('\n'));
    }
}
