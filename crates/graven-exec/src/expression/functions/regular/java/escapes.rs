//! What follows a backslash: a character, a set of them, or something between characters.

use super::{Flags, LAST_END, Result, Writer};
use crate::expression::functions::regular::properties::{EVERYTHING, property};
use graven_types::told;

const HORIZONTAL: &str =
    r"\u{20}\u{9}\u{A0}\u{1680}\u{180E}\u{2000}-\u{200A}\u{202F}\u{205F}\u{3000}";
const VERTICAL: &str = r"\u{A}-\u{D}\u{85}\u{2028}\u{2029}";
const WORD: &str = "a-zA-Z_0-9";
const UNICODE_WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}";

/// What an escape sequence stands for.
pub(super) enum Escaped {
    Character(char),
    /// The inside of a class.
    Set(String),
    /// Something between or beyond characters.
    Other(String),
}

impl Writer {
    /// What follows a backslash.
    pub(super) fn escaped(&mut self, flags: Flags) -> Result<Escaped> {
        let Some(c) = self.next() else {
            return Err("nothing follows the backslash at the end".to_owned());
        };
        let within = |inside: &str| Escaped::Set(inside.to_owned());
        let beyond = |inside: &str| Escaped::Set(format!("[^{inside}]"));
        let wide = |ascii: &'static str, unicode: &'static str| match flags.unicode_classes {
            true => unicode,
            false => ascii,
        };
        let word = wide(WORD, UNICODE_WORD);
        let digit = wide("0-9", r"\p{Nd}");
        let space = wide(r"\u{20}\u{9}-\u{D}", r"\p{White_Space}");
        Ok(match c {
            't' => Escaped::Character('\t'),
            'n' => Escaped::Character('\n'),
            'r' => Escaped::Character('\r'),
            'f' => Escaped::Character('\u{c}'),
            'a' => Escaped::Character('\u{7}'),
            'e' => Escaped::Character('\u{1b}'),
            '0' => Escaped::Character(self.octal()?),
            'x' => Escaped::Character(self.hexadecimal()?),
            'u' => Escaped::Character(self.utf16()?),
            'c' => {
                let control = self.next().filter(char::is_ascii);
                let control = control.and_then(|c| char::from_u32(u32::from(c) ^ 64));
                Escaped::Character(control.ok_or("`\\c` needs a character")?)
            }
            'd' => within(digit),
            'D' => beyond(digit),
            'w' => within(word),
            'W' => beyond(word),
            's' => within(space),
            'S' => beyond(space),
            'h' => within(HORIZONTAL),
            'H' => beyond(HORIZONTAL),
            'v' => within(VERTICAL),
            'V' => beyond(VERTICAL),
            'p' => within(&self.property(flags)?),
            'P' => beyond(&self.property(flags)?),
            'A' | 'G' => Escaped::Other("\\A".to_owned()),
            'z' => Escaped::Other("\\z".to_owned()),
            'Z' => {
                self.backtracks = true;
                Escaped::Other(LAST_END.to_owned())
            }
            'R' => Escaped::Other(format!(r"(?:\u{{D}}\u{{A}}|[{VERTICAL}])")),
            'X' => Escaped::Other(r"(?:\u{D}\u{A}|\P{M}\p{M}*|\p{M}+)".to_owned()),
            'b' => self.boundary(word, ["(?!", "(?="]),
            'B' => self.boundary(word, ["(?=", "(?!"]),
            'k' => {
                let opens = self.eat('<');
                let name = self
                    .name()
                    .ok()
                    .filter(|_| opens)
                    .ok_or("`\\k` needs a `<name>`")?;
                if !self.names.contains(&name) {
                    return Err(told!("no group before is called `{name}`"));
                }
                self.reference(&format!("\\k<{name}>"), flags)
            }
            '1'..='9' => self.numbered(c, flags),
            other if other.is_ascii_alphabetic() => {
                return Err(told!("`\\{other}` is no escape sequence"));
            }
            other => Escaped::Character(other),
        })
    }

    /// Where a word ends or begins, or where neither is the case: what follows a word, and what
    /// follows none.
    fn boundary(&mut self, word: &str, [after, before]: [&str; 2]) -> Escaped {
        self.backtracks = true;
        Escaped::Other(format!(
            "(?:(?<=[{word}]){after}[{word}])|(?<![{word}]){before}[{word}]))"
        ))
    }

    fn reference(&mut self, text: &str, flags: Flags) -> Escaped {
        self.backtracks = true;
        Escaped::Other(match flags.case_insensitive {
            true => format!("(?i:{text})"),
            false => format!("(?:{text})"),
        })
    }

    /// `\1`, and as many digits more as name a group that is there.
    fn numbered(&mut self, first: char, flags: Flags) -> Escaped {
        let mut group = first.to_digit(10).unwrap_or(0) as usize;
        while let Some(digit) = self.meta(0).and_then(|c| c.to_digit(10)) {
            let longer = group.saturating_mul(10).saturating_add(digit as usize);
            if longer > self.groups {
                break;
            }
            group = longer;
            self.at += 1;
        }
        match group <= self.groups {
            true => self.reference(&format!("\\{group}"), flags),
            // A group that is not there matches nothing.
            false => Escaped::Other(format!("[^{EVERYTHING}]")),
        }
    }

    fn octal(&mut self) -> Result<char> {
        let mut code = None;
        while let Some(digit) = self.meta(0).and_then(|c| c.to_digit(8)) {
            let longer = code.unwrap_or(0) * 8 + digit;
            if longer > 0o377 {
                break;
            }
            code = Some(longer);
            self.at += 1;
        }
        let code = code.and_then(char::from_u32);
        code.ok_or_else(|| "`\\0` needs octal digits".to_owned())
    }

    /// `hh` or `{h...h}`
    fn hexadecimal(&mut self) -> Result<char> {
        let code = match self.eat('{') {
            true => {
                let mut digits = String::new();
                while let Some(c) = self.meta(0).filter(char::is_ascii_hexdigit) {
                    self.at += 1;
                    digits.push(c);
                }
                let is_closed = self.eat('}');
                u32::from_str_radix(&digits, 16).ok().filter(|_| is_closed)
            }
            false => self.code(2),
        };
        let character = code.and_then(char::from_u32);
        character.ok_or_else(|| "`\\x` needs the number of a character".to_owned())
    }

    /// So many hexadecimal digits.
    fn code(&mut self, count: usize) -> Option<u32> {
        let mut code = 0;
        for _ in 0..count {
            code = code * 16 + self.meta(0)?.to_digit(16)?;
            self.at += 1;
        }
        Some(code)
    }

    /// The four digits behind `\u`, and those of the other half of a character that has two.
    fn utf16(&mut self) -> Result<char> {
        let mut code = self.code(4);
        if let Some(high @ 0xd800..0xdc00) = code
            && self.meta(0) == Some('\\')
            && self.meta(1) == Some('u')
        {
            self.at += 2;
            let low = self.code(4).filter(|low| (0xdc00..0xe000).contains(low));
            code = low.map(|low| 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
        }
        let character = code.and_then(char::from_u32);
        character.ok_or_else(|| "`\\u` needs the four digits of a character".to_owned())
    }

    /// The name behind `\p` or `\P`, as the inside of a class.
    fn property(&mut self, flags: Flags) -> Result<String> {
        let mut name = String::new();
        if self.eat('{') {
            loop {
                match self.next() {
                    Some('}') => break,
                    Some(c) => name.push(c),
                    None => return Err("`\\p{` is not closed".to_owned()),
                }
            }
        } else {
            name.extend(self.next());
        }
        property(&name, flags.unicode_classes, flags.case_insensitive)
            .ok_or_else(|| told!("`{name}` is no known property of characters"))
    }
}
