//! `BEGIN`, `COMMIT`, `ROLLBACK` and `CALL timeout = ...`, which are no statements of the language.

use std::time::Duration;

use graven::{Durability, Isolation, TransactionOptions, statement};

use crate::argument;

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Control {
    Begin(TransactionModes),
    Commit,
    Rollback,
    /// How long the next statements may run.
    Timeout(Option<Duration>),
}

/// What a transaction rules out and when its commit returns, as far as that was said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TransactionModes {
    isolation: Option<Isolation>,
    durability: Option<Durability>,
    /// Its statements may not write.
    pub(crate) reads_only: bool,
}

impl TransactionModes {
    /// `options`, but for what was said.
    pub(crate) fn over(self, options: &TransactionOptions) -> TransactionOptions {
        let mut options = options.clone();
        options.isolation = self.isolation.unwrap_or(options.isolation);
        options.durability = self.durability.unwrap_or(options.durability);
        options
    }
}

impl Control {
    /// Reads a text, if it is one of them.
    ///
    /// # Errors
    /// What stands behind `BEGIN` that does not belong there.
    pub(crate) fn read(text: &str) -> Option<Result<Control, String>> {
        if let Some(timeout) = timeout(text) {
            return Some(Ok(Control::Timeout(timeout)));
        }
        let mut words = statement::without_comments(text)
            .split_whitespace()
            .peekable();
        let first = words.next().unwrap_or_default().to_ascii_uppercase();
        let _ = words.next_if(|word| word.eq_ignore_ascii_case("TRANSACTION"));
        match first.as_str() {
            "BEGIN" => Some(modes(words).map(Control::Begin)),
            "COMMIT" if words.next().is_none() => Some(Ok(Control::Commit)),
            "ROLLBACK" if words.next().is_none() => Some(Ok(Control::Rollback)),
            _ => None,
        }
    }
}

/// The time of `CALL timeout = milliseconds`; 0 stands for as long as it takes.
fn timeout(text: &str) -> Option<Option<Duration>> {
    let text = statement::without_comments(text);
    let (call, setting) = text.trim_start().split_once(char::is_whitespace)?;
    let (name, value) = setting.split_once('=')?;
    let is_timeout =
        call.eq_ignore_ascii_case("CALL") && name.trim().eq_ignore_ascii_case("timeout");
    let milliseconds: u64 = value.trim().parse().ok().filter(|_| is_timeout)?;
    Some((milliseconds > 0).then(|| Duration::from_millis(milliseconds)))
}

fn modes<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<TransactionModes, String> {
    let mut modes = TransactionModes::default();
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case("DURABILITY") && modes.durability.is_none() {
            let level = words.next().unwrap_or_default();
            modes.durability = Some(argument::durability(level)?);
        } else if let Ok(isolation) = argument::isolation(word)
            && modes.isolation.is_none()
        {
            modes.isolation = Some(isolation);
        } else if word.eq_ignore_ascii_case("READ") {
            let what = words.next().unwrap_or_default();
            modes.reads_only = what.eq_ignore_ascii_case("ONLY");
            if !modes.reads_only && !what.eq_ignore_ascii_case("WRITE") {
                return Err("expected ONLY or WRITE behind BEGIN TRANSACTION READ".to_owned());
            }
        } else {
            return Err(format!(
                "unexpected `{word}` after BEGIN; expected READ ONLY, SERIALIZABLE, DURABILITY \
                    relaxed:50ms, or several of these"
            ));
        }
    }
    Ok(modes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_transaction_promises_is_read() {
        let begin = |isolation, durability| {
            Some(Ok(Control::Begin(TransactionModes {
                isolation,
                durability,
                reads_only: false,
            })))
        };
        let serializable = Some(Isolation::Serializable);
        let soon = Some(Durability::Relaxed(Duration::from_millis(5)));
        for (text, expected) in [
            ("BEGIN", begin(None, None)),
            ("begin transaction", begin(None, None)),
            ("/* both */ Begin // here\n", None),
            ("// first\nBEGIN serializable", begin(serializable, None)),
            ("BEGIN DURABILITY off", begin(None, Some(Durability::Off))),
            (
                "BEGIN TRANSACTION DURABILITY relaxed:5ms SERIALIZABLE",
                begin(serializable, soon),
            ),
            ("COMMIT TRANSACTION", Some(Ok(Control::Commit))),
            ("ROLLBACK", Some(Ok(Control::Rollback))),
            ("COMMIT now", None),
            (
                "begin transaction read only",
                Some(Ok(Control::Begin(TransactionModes {
                    reads_only: true,
                    ..TransactionModes::default()
                }))),
            ),
            ("BEGIN READ WRITE", begin(None, None)),
            (
                "call TIMEOUT=50",
                Some(Ok(Control::Timeout(Some(Duration::from_millis(50))))),
            ),
            ("CALL timeout = 0", Some(Ok(Control::Timeout(None)))),
            ("CALL timeout = 'x'", None),
            ("CALL threads = 2", None),
            ("MATCH (n) RETURN n", None),
        ] {
            let read = Control::read(text);
            match expected {
                // What is behind the word is told.
                None if text.contains("Begin") => assert!(matches!(read, Some(Err(_))), "{text}"),
                expected => assert_eq!(read, expected, "{text}"),
            }
        }
        for wrong in [
            "BEGIN DURABILITY",
            "BEGIN off",
            "BEGIN TRANSACTION READ",
            "BEGIN SNAPSHOT SERIALIZABLE",
            "BEGIN DURABILITY full DURABILITY off",
        ] {
            assert!(matches!(Control::read(wrong), Some(Err(_))), "{wrong}");
        }
    }
}
