//! Messages of errors: what they quote is cut while they are written.
//!
//! # How it works
//! [`told!`](crate::told) is `format!` for messages. A text that it quotes is written up to
//! [`QUOTED_MAX`] bytes, and the message ends after [`MESSAGE_MAX`]; three points stand for the
//! rest. So an error takes little memory, however long the values are that it is about, and nothing
//! of it is charged.

use std::fmt::{self, Write as _};

/// Bytes that a message quotes of a text.
const QUOTED_MAX: usize = 1000;
/// Bytes of a message.
const MESSAGE_MAX: usize = 8 << 10;

/// `format!` for messages of errors: long texts are cut.
#[macro_export]
macro_rules! told {
    ($($given:tt)*) => {
        $crate::told::message(::std::format_args!($($given)*))
    };
}

/// A message that is made part by part.
#[derive(Debug, Default)]
pub struct Told(String);

impl Told {
    /// Adds a text, cut as one that is quoted.
    pub fn quote(&mut self, text: &str) {
        // What is refused is the part behind the end.
        let _ = self.write_str(text);
    }

    /// The message.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

impl fmt::Write for Told {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let Some(room) = MESSAGE_MAX.checked_sub(self.0.len()) else {
            return Err(fmt::Error);
        };
        let most = room.min(QUOTED_MAX);
        if part.len() <= most {
            self.0.push_str(part);
            return Ok(());
        }
        self.0.push_str(&part[..part.floor_char_boundary(most)]);
        self.0.push_str("...");
        match most < QUOTED_MAX {
            true => Err(fmt::Error),
            false => Ok(()),
        }
    }
}

/// The text of a message; see [`told!`](crate::told).
#[must_use]
pub fn message(given: fmt::Arguments<'_>) -> String {
    let mut told = Told::default();
    // What is refused is the part behind the end.
    let _ = told.write_fmt(given);
    told.into_text()
}

/// A message that was made in another way, cut where it is longer than any other.
#[must_use]
pub fn cut(mut message: String) -> String {
    if message.len() > MESSAGE_MAX {
        message.truncate(message.floor_char_boundary(MESSAGE_MAX));
        message.push_str("...");
        message.shrink_to_fit();
    }
    message
}

#[cfg(test)]
mod tests {
    /// Goal: a short message is as it was written; of a long one beginning and remedy are there,
    /// and it takes little, whatever it quotes.
    #[test]
    fn what_is_quoted_is_cut() {
        assert_eq!(told!("no {} is {}", "x", 1), "no x is 1");
        let long = "\u{e4}".repeat(1 << 20);
        let cut = told!("`{long}` is no number: {}", "give one");
        assert!(cut.starts_with("`\u{e4}\u{e4}"), "{cut}");
        assert!(cut.ends_with("...` is no number: give one"), "{cut}");
        assert!(cut.capacity() < 4 << 10, "{}", cut.capacity());
        let many = vec![1; 1 << 20];
        let cut = told!("{many:?} and {long}");
        assert!(cut.ends_with("..."), "{cut}");
        assert!(cut.capacity() <= 32 << 10, "{}", cut.capacity());
        let cut = super::cut(long);
        assert!(cut.ends_with("...") && cut.capacity() < 9 << 10);
        assert_eq!(super::cut("short".to_owned()), "short");
    }
}
