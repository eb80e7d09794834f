//! `BEGIN`, `COMMIT` and `ROLLBACK`, which are no statements of the language.

use graven::{Durability, Isolation, TransactionOptions, statement};

use crate::argument;

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Control {
    Begin(TransactionModes),
    Commit,
    Rollback,
}

/// What a transaction rules out and when its commit returns, as far as that was said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TransactionModes {
    isolation: Option<Isolation>,
    durability: Option<Durability>,
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
        } else {
            return Err(format!(
                "unexpected `{word}` after BEGIN; expected SERIALIZABLE, DURABILITY relaxed:50ms, \
                    or both"
            ));
        }
    }
    Ok(modes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_a_transaction_promises_is_read() {
        let begin = |isolation, durability| {
            Some(Ok(Control::Begin(TransactionModes {
                isolation,
                durability,
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
            "BEGIN SNAPSHOT SERIALIZABLE",
            "BEGIN DURABILITY full DURABILITY off",
        ] {
            assert!(matches!(Control::read(wrong), Some(Err(_))), "{wrong}");
        }
    }
}
