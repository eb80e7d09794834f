//! Classes of characters: they nest and intersect, and hold characters, ranges and sets.
//!
//! # How it works
//! A class is written as one of the engine's. Where letter case does not matter and is that of
//! ASCII, the letters of a range are written in both.

use super::escapes::Escaped;
use super::{DEPTH_MAX, Flags, Result, Writer, number};
use graven_types::told;

impl Writer {
    /// A class after its opening bracket.
    pub(super) fn class(&mut self, flags: Flags, depth: usize) -> Result<String> {
        if depth > DEPTH_MAX {
            return Err(told!("classes nest more than {DEPTH_MAX} deep"));
        }
        let mut class = String::from("[");
        if self.eat('^') {
            class.push('^');
        }
        let mut is_empty = true;
        loop {
            self.skip(flags);
            match self.meta(0) {
                Some(']') if !is_empty => {
                    self.at += 1;
                    class.push(']');
                    return Ok(class);
                }
                Some('[') => {
                    self.at += 1;
                    class.push_str(&self.class(flags, depth + 1)?);
                }
                Some('&') if self.meta(1) == Some('&') => {
                    while self.eat('&') {}
                    if is_empty || self.meta(0) == Some(']') {
                        continue;
                    }
                    class.push_str("&&");
                    continue;
                }
                None if self.at == self.items.len() => {
                    return Err("a character class is not closed".to_owned());
                }
                _ => self.range(&mut class, flags)?,
            }
            is_empty = false;
        }
    }

    /// A character, a range of them or a set within a class.
    fn range(&mut self, class: &mut String, flags: Flags) -> Result<()> {
        let from = match self.of_class(flags)? {
            Escaped::Character(c) => c,
            Escaped::Set(inside) => {
                class.push_str(&inside);
                return Ok(());
            }
            Escaped::Other(_) => return Err("this escape sequence is no character".to_owned()),
        };
        let is_range = self.meta(0) == Some('-')
            && self.at + 1 < self.items.len()
            && !matches!(self.meta(1), Some(']' | '['));
        let mut to = from;
        if is_range {
            self.at += 1;
            to = match self.of_class(flags)? {
                Escaped::Character(to) if to >= from => to,
                _ => return Err("a range ends before it begins".to_owned()),
            };
        }
        push_range(class, from, to);
        if flags.case_insensitive && !flags.unicode_case {
            for (first, last, other) in [('a', 'z', 'A'), ('A', 'Z', 'a')] {
                let (low, high) = (from.max(first), to.min(last));
                if low <= high {
                    let moved = |c: char| u32::from(c) - u32::from(first) + u32::from(other);
                    let [low, high] = [low, high].map(|c| char::from_u32(moved(c)).unwrap_or(c));
                    push_range(class, low, high);
                }
            }
        }
        Ok(())
    }

    fn of_class(&mut self, flags: Flags) -> Result<Escaped> {
        let is_quoted = self.meta(0).is_none();
        match self.next() {
            Some('\\') if !is_quoted => {
                let backtracks = self.backtracks;
                let escaped = self.escaped(flags);
                self.backtracks = backtracks;
                escaped
            }
            Some(c) => Ok(Escaped::Character(c)),
            None => Err("a character class is not closed".to_owned()),
        }
    }
}

fn push_range(class: &mut String, from: char, to: char) {
    class.push_str(&number(from));
    if to > from {
        class.push('-');
        class.push_str(&number(to));
    }
}
