//! The one error type of the library: a stable code for programs, a message for people.

/// What can go wrong. The text is for people and may change; match on [`Error::code`].
///
/// # Examples
/// ```
/// let error = graven::parse_bytes("much").unwrap_err();
/// assert_eq!(error.code(), "Graven.Config.Invalid");
/// assert!(!error.is_retryable());
/// ```
#[derive(Clone, Debug)]
pub struct Error {
    code: &'static str,
    message: String,
}
impl Error {
    pub(crate) fn config(message: String) -> Self {
        Error {
            code: "Graven.Config.Invalid",
            message,
        }
    }
    /// Stable.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }
    /// Retry.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        false
    }
}
impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Error {}
