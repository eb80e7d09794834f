//! Rewrites a regular expression of Java's syntax for the engine, whose syntax looks alike and
//! means other things.
//!
//! # How it works
//! The pattern is read once, from left to right, and what it says is written with as little of the
//! engine's syntax as can be: characters by number, sets as classes, flags resolved. What differs,
//! and is therefore spelled out: `.`, `^` and `$` know five line terminators; letter case is that
//! of ASCII unless `u` is set, and `\d`, `\w`, `\s` and the POSIX classes are ASCII unless `U` is
//! set; `\Q...\E` quotes; quantifiers may be possessive; a reference to a group that is not there
//! matches nothing; classes nest and intersect.
//!
//! # Source
//! The class `Pattern` of the Java platform, version 17.
//!
//! # Deviations
//! `\X` is a character with its marks; of blocks (`\p{InGreek}`) the usual ones are known;
//! `\N{...}` is not.

mod classes;
mod escapes;

use std::fmt::Write as _;

use super::properties::EVERYTHING;
use escapes::Escaped;
use graven_types::told;

/// What a pattern becomes.
pub(super) struct Rewritten {
    pub(super) text: String,
    /// It has parts that no automaton matches.
    pub(super) backtracks: bool,
}

/// Groups and classes within one another; the engine refuses more.
const DEPTH_MAX: usize = 48;

const TERMINATORS: &str = r"\u{A}\u{D}\u{85}\u{2028}\u{2029}";
type Result<T> = std::result::Result<T, String>;

/// The pattern for the engine.
///
/// # Errors
/// What is wrong with it.
pub(super) fn rewrite(pattern: &str) -> Result<Rewritten> {
    let mut writer = Writer {
        items: items(pattern),
        at: 0,
        out: String::with_capacity(2 * pattern.len()),
        groups: 0,
        names: Vec::new(),
        backtracks: false,
    };
    let mut flags = Flags::default();
    writer.alternatives(&mut flags, 0)?;
    if writer.at < writer.items.len() {
        return Err("unmatched closing `)`".to_owned());
    }
    Ok(Rewritten {
        text: writer.out,
        backtracks: writer.backtracks,
    })
}

/// What the letters after `(?` set.
#[derive(Clone, Copy, Default)]
struct Flags {
    case_insensitive: bool,
    unix_lines: bool,
    multiline: bool,
    dot_all: bool,
    unicode_case: bool,
    comments: bool,
    unicode_classes: bool,
}

/// A character of the pattern, and whether it stands for itself because it was quoted.
#[derive(Clone, Copy)]
struct Item {
    character: char,
    is_quoted: bool,
}

/// The characters of a pattern without `\Q` and `\E`.
fn items(pattern: &str) -> Vec<Item> {
    let mut items = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    let add = |items: &mut Vec<Item>, text: &str, is_quoted| {
        items.extend(text.chars().map(|character| Item {
            character,
            is_quoted,
        }));
    };
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("\\Q") {
            let (quoted, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            add(&mut items, quoted, true);
            rest = after;
            continue;
        }
        // A backslash takes the next one with it.
        let length = match rest.strip_prefix('\\').and_then(|rest| rest.chars().next()) {
            Some(escaped) => 1 + escaped.len_utf8(),
            None => rest.chars().next().map_or(0, char::len_utf8),
        };
        add(&mut items, &rest[..length], false);
        rest = &rest[length..];
    }
    items
}

struct Writer {
    items: Vec<Item>,
    at: usize,
    out: String,
    /// Groups that capture, opened so far.
    groups: usize,
    names: Vec<String>,
    backtracks: bool,
}

impl Writer {
    /// The next character, if it is not quoted.
    fn meta(&self, ahead: usize) -> Option<char> {
        let item = self.items.get(self.at + ahead)?;
        (!item.is_quoted).then_some(item.character)
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.meta(0) == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn next(&mut self) -> Option<char> {
        let item = self.items.get(self.at)?;
        self.at += 1;
        Some(item.character)
    }

    /// Passes over blanks and comments, where these do not count.
    fn skip(&mut self, flags: Flags) {
        while flags.comments
            && let Some(c) = self.meta(0)
        {
            match c {
                ' ' | '\t'..='\r' => self.at += 1,
                '#' => {
                    let is_end = |c: char| "\n\r\u{85}\u{2028}\u{2029}".contains(c);
                    while self.next().is_some_and(|c| !is_end(c)) {}
                }
                _ => return,
            }
        }
    }

    /// Everything up to a closing parenthesis or the end.
    fn alternatives(&mut self, flags: &mut Flags, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(told!("groups nest more than {DEPTH_MAX} deep"));
        }
        loop {
            self.skip(*flags);
            match self.meta(0) {
                Some(')') => return Ok(()),
                Some('|') => {
                    self.at += 1;
                    self.out.push('|');
                }
                Some(c @ ('*' | '+' | '?')) => {
                    return Err(told!("nothing stands before `{c}`"));
                }
                Some('{') if self.meta(1).is_some_and(|c| c.is_ascii_digit()) => {
                    // It repeats nothing, as behind another repetition, which matches nothing.
                    let start = self.out.len();
                    self.repetition(start)?;
                    self.out.truncate(start);
                }
                Some('{') => return Err("`{` is no repetition here: write `\\{`".to_owned()),
                None if self.at == self.items.len() => return Ok(()),
                _ => {
                    let start = self.out.len();
                    if self.atom(flags, depth)? {
                        self.skip(*flags);
                        self.repetition(start)?;
                    }
                }
            }
        }
    }

    /// Makes an atom repeatable that looks around, which the engine does not repeat by itself: it
    /// becomes one of two alternatives, of which the other never matches.
    fn make_repeatable(&mut self, start: usize) {
        let mut inside = &self.out[start..];
        while let Some(rest) = inside.strip_prefix("(?:") {
            inside = rest;
        }
        let looks = ["(?=", "(?!", "(?<=", "(?<!"];
        if looks.iter().any(|opening| inside.starts_with(opening)) {
            self.out.insert_str(start, "(?:");
            self.out.push_str(r"|\b\B)");
        }
    }

    /// Writes a repetition behind the atom that begins at `start`, if one follows.
    fn repetition(&mut self, start: usize) -> Result<()> {
        if matches!(self.meta(0), Some('*' | '+' | '?' | '{')) {
            self.make_repeatable(start);
        }
        match self.meta(0) {
            Some(c @ ('*' | '+' | '?')) => {
                self.at += 1;
                self.out.push(c);
            }
            Some('{') => {
                self.at += 1;
                let least = self.number()?;
                let most = match self.eat(',') {
                    true if self.meta(0) == Some('}') => None,
                    true => Some(self.number()?),
                    false => Some(least),
                };
                if !self.eat('}') || most.is_some_and(|most| most < least) {
                    return Err("a repetition is written `{n}`, `{n,}` or `{n,m}`".to_owned());
                }
                let most = most.map_or(String::new(), |most| most.to_string());
                let _ = write!(self.out, "{{{least},{most}}}");
            }
            _ => return Ok(()),
        }
        if self.eat('?') {
            self.out.push('?');
        } else if self.eat('+') {
            self.out.insert_str(start, "(?>");
            self.out.push(')');
            self.backtracks = true;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<u32> {
        let mut digits = String::new();
        while let Some(digit @ '0'..='9') = self.meta(0) {
            self.at += 1;
            digits.push(digit);
        }
        digits
            .parse()
            .map_err(|_| "a repetition needs a number".to_owned())
    }

    /// Writes one atom; false if it was only a change of flags.
    fn atom(&mut self, flags: &mut Flags, depth: usize) -> Result<bool> {
        let is_quoted = self.meta(0).is_none();
        let Some(c) = self.next() else {
            return Ok(false);
        };
        if is_quoted {
            self.character(c, *flags);
            return Ok(true);
        }
        match c {
            '(' => return self.group(flags, depth),
            '[' => {
                let class = self.class(*flags, depth)?;
                self.set(&class, *flags);
            }
            '.' => {
                let set = match (flags.dot_all, flags.unix_lines) {
                    (true, _) => format!("[{EVERYTHING}]"),
                    (_, true) => r"[^\u{A}]".to_owned(),
                    _ => format!("[^{TERMINATORS}]"),
                };
                self.out.push_str(&set);
            }
            '^' => self.line_start(*flags),
            '$' => self.line_end(*flags),
            '\\' => match self.escaped(*flags)? {
                Escaped::Character(c) => self.character(c, *flags),
                Escaped::Set(inside) => self.set(&format!("[{inside}]"), *flags),
                Escaped::Other(text) => self.out.push_str(&text),
            },
            other => self.character(other, *flags),
        }
        Ok(true)
    }

    fn character(&mut self, c: char, flags: Flags) {
        let one = number(c);
        match (flags.case_insensitive, flags.unicode_case) {
            (true, true) => {
                let _ = write!(self.out, "(?i:{one})");
            }
            (true, false) if c.is_ascii_alphabetic() => {
                let _ = write!(
                    self.out,
                    "[{}{}]",
                    c.to_ascii_lowercase(),
                    c.to_ascii_uppercase()
                );
            }
            _ => self.out.push_str(&one),
        }
    }

    fn set(&mut self, class: &str, flags: Flags) {
        match flags.case_insensitive && flags.unicode_case {
            true => {
                let _ = write!(self.out, "(?i:{class})");
            }
            false => self.out.push_str(class),
        }
    }

    fn line_start(&mut self, flags: Flags) {
        if !flags.multiline {
            self.out.push_str("\\A");
            return;
        }
        self.backtracks = true;
        self.out.push_str(match flags.unix_lines {
            true => r"(?:\A|(?<=\u{A})(?!\z))",
            false => r"(?:\A|(?:(?<=[\u{A}\u{85}\u{2028}\u{2029}])|(?<=\u{D})(?!\u{A}))(?!\z))",
        });
    }

    fn line_end(&mut self, flags: Flags) {
        // Nothing follows: the whole text has been matched.
        if self.at == self.items.len() && !flags.multiline {
            self.out.push_str("\\z");
            return;
        }
        self.backtracks = true;
        self.out
            .push_str(match (flags.multiline, flags.unix_lines) {
                (true, true) => r"(?=\u{A}|\z)",
                (true, false) => r"(?:\z|(?=[\u{D}\u{85}\u{2028}\u{2029}])|(?<!\u{D})(?=\u{A}))",
                (false, true) => r"(?=\u{A}?\z)",
                (false, false) => LAST_END,
            });
    }

    /// What follows `(`.
    fn group(&mut self, flags: &mut Flags, depth: usize) -> Result<bool> {
        let mut inner = *flags;
        if !self.eat('?') {
            self.groups += 1;
            self.out.push('(');
            return self.rest_of_group(inner, depth);
        }
        let opening = match self.meta(0) {
            Some(':') => "(?:",
            Some('=') => "(?=",
            Some('!') => "(?!",
            Some('>') => "(?>",
            Some('<') => match self.meta(1) {
                Some('=') => "(?<=",
                Some('!') => "(?<!",
                _ => {
                    self.at += 1;
                    let name = self.name()?;
                    if self.names.contains(&name) {
                        return Err(told!("two groups are called `{name}`"));
                    }
                    self.groups += 1;
                    let _ = write!(self.out, "(?<{name}>");
                    self.names.push(name);
                    return self.rest_of_group(inner, depth);
                }
            },
            _ => {
                self.read_flags(&mut inner)?;
                if self.eat(')') {
                    *flags = inner;
                    return Ok(false);
                }
                if !self.eat(':') {
                    return Err("unknown group or flag after `(?`".to_owned());
                }
                self.out.push_str("(?:");
                return self.rest_of_group(inner, depth);
            }
        };
        self.at += opening.len() - 2;
        self.backtracks |= opening != "(?:";
        self.out.push_str(opening);
        self.rest_of_group(inner, depth)
    }

    fn rest_of_group(&mut self, mut flags: Flags, depth: usize) -> Result<bool> {
        self.alternatives(&mut flags, depth + 1)?;
        if !self.eat(')') {
            return Err("a group is not closed".to_owned());
        }
        self.out.push(')');
        Ok(true)
    }

    fn read_flags(&mut self, flags: &mut Flags) -> Result<()> {
        let mut value = true;
        while let Some(c) = self.meta(0) {
            match c {
                'i' => flags.case_insensitive = value,
                'd' => flags.unix_lines = value,
                'm' => flags.multiline = value,
                's' => flags.dot_all = value,
                'u' => flags.unicode_case = value,
                'x' => flags.comments = value,
                'U' => {
                    flags.unicode_classes = value;
                    flags.unicode_case = value;
                }
                '-' if value => value = false,
                ')' | ':' => return Ok(()),
                other => return Err(told!("`{other}` is no flag")),
            }
            self.at += 1;
        }
        Ok(())
    }

    /// A name of letters and digits, and the `>` behind it.
    fn name(&mut self) -> Result<String> {
        let mut name = String::new();
        while let Some(c) = self.meta(0).filter(char::is_ascii_alphanumeric) {
            self.at += 1;
            name.push(c);
        }
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        match begins && self.eat('>') {
            true => Ok(name),
            false => Err("a group has a name of letters and digits within `<` and `>`".to_owned()),
        }
    }
}

/// The end, or the place before a line terminator that ends the text.
const LAST_END: &str = r"(?=(?:\u{D}\u{A}|[\u{A}\u{D}\u{85}\u{2028}\u{2029}])?\z)";

/// A character by its number, or itself where it means nothing else.
fn number(c: char) -> String {
    match c.is_ascii_alphanumeric() {
        true => c.to_string(),
        false => format!("\\u{{{:X}}}", u32::from(c)),
    }
}
