//! `apoc.text`: letters and cases, distances, padding and encodings.

use std::collections::HashMap;

use graven_types::told;
use unicode_normalization::UnicodeNormalization;

use super::{integer, list, size, text, wrong};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{Items, Text, charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;

/// A function from text to text that passes null on.
macro_rules! of_text {
    ($name:literal, $f:expr) => {
        Function::new(concat!("apoc.text.", $name), (1, 1), |_, args| {
            match text(concat!("apoc.text.", $name), &args[0])? {
                Some(text) => {
                    // The text in parts, and the new one.
                    charge(text.len().saturating_mul(4))?;
                    work(text.len())?;
                    let changed: Result<String> = $f(text);
                    Ok(Value::text(&changed?))
                }
                None => Ok(Value::Null),
            }
        })
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    of_text!("camelcase", |text: &str| joined(text, false)),
    of_text!("capitalize", |text: &str| match text {
        "" => Err(ExecError::Argument {
            message: "apoc.text.capitalize() needs a text of one letter at least".to_owned(),
        }),
        text => Ok(capitalized(text)),
    }),
    of_text!("capitalizeall", |text: &str| each_word(text, upper)),
    Function::new("apoc.text.charat", (2, 2), char_at),
    of_text!("clean", |text: &str| Ok(cleaned(text))),
    Function::new("apoc.text.code", (1, 1), code),
    Function::new("apoc.text.comparecleaned", (2, 2), |_, args| {
        let [a, b] = both("apoc.text.compareCleaned", args)?;
        let (Some(a), Some(b)) = (a, b) else {
            return Ok(Value::Boolean(false));
        };
        charge(2 * (a.len() + b.len()))?;
        work(a.len() + b.len())?;
        Ok(Value::Boolean(cleaned(a) == cleaned(b)))
    }),
    of_text!("decapitalize", |text: &str| Ok(decapitalized(text))),
    of_text!("decapitalizeall", |text: &str| each_word(text, lower)),
    Function::new("apoc.text.distance", (2, 2), |_, args| distance(args)),
    Function::new("apoc.text.fuzzymatch", (2, 2), |_, args| {
        let [Some(a), Some(b)] = both("apoc.text.fuzzyMatch", args)? else {
            return Ok(Value::Null);
        };
        let allowed = match a.chars().count() {
            0..3 => 0,
            3..5 => 1,
            _ => 2,
        };
        Ok(Value::Boolean(levenshtein(a, b)? <= allowed))
    }),
    Function::new("apoc.text.hammingdistance", (2, 2), hamming),
    Function::new("apoc.text.indexesof", (2, 4), indexes_of),
    Function::new("apoc.text.indexof", (2, 4), index_of),
    Function::new("apoc.text.join", (2, 2), join),
    Function::new("apoc.text.levenshteindistance", (2, 2), |_, args| {
        distance(args)
    }),
    Function::new("apoc.text.levenshteinsimilarity", (2, 2), similarity),
    Function::new("apoc.text.lpad", (2, 3), |_, args| {
        padded("apoc.text.lpad", args, true)
    }),
    Function::new("apoc.text.repeat", (2, 2), repeat),
    Function::new("apoc.text.rpad", (2, 3), |_, args| {
        padded("apoc.text.rpad", args, false)
    }),
    Function::new("apoc.text.slug", (1, 2), slug),
    of_text!("snakecase", snake_case),
    Function::new("apoc.text.sorensendicesimilarity", (2, 3), sorensen_dice),
    of_text!("swapcase", |text: &str| Ok(swapped(text))),
    of_text!("touppercase", upper_case),
    of_text!("uppercamelcase", |text: &str| joined(text, true)),
    Function::new("apoc.text.urldecode", (1, 1), url_decode),
    of_text!("urlencode", |text: &str| Ok(url_encoded(text))),
];

fn both<'a>(function: &str, args: &'a [Value]) -> Result<[Option<&'a str>; 2]> {
    let [a, b] = [&args[0], &args[1]].map(|value| text(function, value));
    Ok([a?.map(|text| &**text), b?.map(|text| &**text)])
}

fn changed(word: &str, change: impl Fn(char) -> String) -> String {
    let mut chars = word.chars();
    let first = chars.next().map_or(String::new(), change);
    first + chars.as_str()
}

/// A capital letter as Java makes one of a single character.
fn upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

/// As [`upper`]; the only character of which two become is a dotted I.
fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn capitalized(word: &str) -> String {
    changed(word, |c| c.to_uppercase().collect())
}

fn decapitalized(word: &str) -> String {
    changed(word, |c| c.to_lowercase().collect())
}

fn each_word(text: &str, change: fn(char) -> char) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    for (at, word) in text.trim().split(' ').enumerate() {
        work(1)?;
        out.push_str(if at > 0 { " " } else { "" });
        out.push_str(&changed(word, |c| change(c).to_string()));
    }
    Ok(out)
}

/// The words in small letters, without what was between them, each but perhaps the first with a
/// capital.
fn joined(text: &str, first: bool) -> Result<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let mut out = String::with_capacity(text.len());
    for word in words.filter(|word| !word.is_empty()) {
        work(1)?;
        let word: String = word.chars().map(lower).collect();
        match out.is_empty() && !first {
            true => out.push_str(&word),
            false => out.push_str(&changed(&word, |c| upper(c).to_string())),
        }
    }
    Ok(out)
}

/// Words with hyphens between them: cut before all but small letters and digits of ASCII. A text of
/// capitals and underlines is one of words already.
fn snake_case(text: &str) -> Result<String> {
    let is_constant = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let constant = text.chars().all(is_constant).then(|| {
        let small = text.to_ascii_lowercase();
        small.replace('_', " ")
    });
    let text = constant.as_deref().unwrap_or(text);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let cuts = text.char_indices().filter(|(at, c)| {
        let stays = c.is_ascii_lowercase() || c.is_ascii_digit();
        *at > 0 && !stays
    });
    for to in cuts.map(|(at, _)| at).chain([text.len()]) {
        work(1)?;
        let word = text[from..to].trim();
        from = to;
        if word.is_empty() {
            continue;
        }
        let word = match out.is_empty() {
            true => word,
            false => {
                out.push('-');
                word.strip_prefix('-').unwrap_or(word)
            }
        };
        out.extend(word.chars().map(lower));
    }
    Ok(out)
}

/// Words in capitals with underlines between them: letters and digits of ASCII, cut before
/// capitals.
fn upper_case(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut is_cut = false;
    for c in text.chars() {
        work(1)?;
        is_cut |= !c.is_ascii_alphanumeric() || c.is_ascii_uppercase();
        if c.is_ascii_alphanumeric() {
            out.push_str(if is_cut && !out.is_empty() { "_" } else { "" });
            out.push(c.to_ascii_uppercase());
            is_cut = false;
        }
    }
    Ok(out)
}

fn swapped(text: &str) -> String {
    let swap = |c: char| match c.is_uppercase() {
        true => lower(c),
        false => upper(c),
    };
    text.chars().map(swap).collect()
}

/// Small letters and digits alone, without accents.
fn cleaned(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let text = text.nfc().collect::<String>().to_lowercase();
    for c in text.chars() {
        // The letters that German has beside those of Latin are two each.
        match c {
            '\u{e4}' => cleaned.push_str("ae"),
            '\u{f6}' => cleaned.push_str("oe"),
            '\u{fc}' => cleaned.push_str("ue"),
            '\u{df}' => cleaned.push_str("ss"),
            other => cleaned.extend(other.nfd().filter(|c| c.is_alphanumeric())),
        }
    }
    cleaned
}

fn char_at(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let (Some(text), false) = (text("apoc.text.charAt", &args[0])?, args[1].is_null()) else {
        return Ok(Value::Null);
    };
    let at = usize::try_from(integer("apoc.text.charAt", &args[1])?).ok();
    let found = at.and_then(|at| text.chars().nth(at));
    Ok(found.map_or(Value::Null, |c| Value::Integer(i64::from(u32::from(c)))))
}

fn code(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let number = integer("apoc.text.code", &args[0])?;
    let c = u32::try_from(number).ok().and_then(char::from_u32);
    Ok(c.map_or(Value::Null, |c| Value::text(c.encode_utf8(&mut [0; 4]))))
}

fn join(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let (Some(items), Some(between)) = (
        list("apoc.text.join", &args[0])?,
        text("apoc.text.join", &args[1])?,
    ) else {
        return Ok(Value::Null);
    };
    let mut out = Text::default();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(between)?;
        }
        match item {
            Value::String(text) => out.push(text)?,
            Value::Null => out.push("null")?,
            other => return Err(wrong("apoc.text.join", "a List of Strings", other)),
        }
    }
    out.value()
}

/// Characters that two texts may have together where every pair of them is compared.
const PAIRS_MAX: usize = 1 << 28;

/// How many characters have to be added, removed or replaced.
fn levenshtein(a: &str, b: &str) -> Result<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().saturating_mul(b.len()) > PAIRS_MAX {
        return Err(ExecError::Argument {
            message: told!(
                "texts of {} and {} characters are too long to be compared character by character",
                a.len(),
                b.len()
            ),
        });
    }
    charge((a.len() + 2 * b.len()).saturating_mul(8))?;
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        work(b.len())?;
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(corner + 1);
        }
    }
    Ok(row[b.len()])
}

fn distance(args: &[Value]) -> Result<Value> {
    let [Some(a), Some(b)] = both("apoc.text.distance", args)? else {
        return Ok(Value::Null);
    };
    let distance = levenshtein(a, b)?;
    Ok(Value::Integer(i64::try_from(distance).unwrap_or(i64::MAX)))
}

fn similarity(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let [Some(a), Some(b)] = both("apoc.text.levenshteinSimilarity", args)? else {
        return Ok(Value::Null);
    };
    let longest = a.chars().count().max(b.chars().count());
    if longest == 0 {
        return Ok(Value::Float(1.0));
    }
    let alike = longest.saturating_sub(levenshtein(a, b)?);
    Ok(Value::Float(alike as f64 / longest as f64))
}

fn hamming(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let [Some(a), Some(b)] = both("apoc.text.hammingDistance", args)? else {
        return Ok(Value::Null);
    };
    if a.chars().count() != b.chars().count() {
        return Err(ExecError::Argument {
            message: "apoc.text.hammingDistance() needs texts of one length".to_owned(),
        });
    }
    let differ = a.chars().zip(b.chars()).filter(|(x, y)| x != y).count();
    Ok(Value::Integer(i64::try_from(differ).unwrap_or(i64::MAX)))
}

/// Twice the pairs of neighbouring letters that both have, as a share of all pairs.
fn sorensen_dice(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let [Some(a), Some(b)] = both("apoc.text.sorensenDiceSimilarity", args)? else {
        return Ok(Value::Null);
    };
    let pairs = |text: &str| {
        let mut pairs = Vec::new();
        for word in text.to_lowercase().split_whitespace() {
            let chars: Vec<char> = word.chars().collect();
            pairs.extend(chars.windows(2).map(|pair| (pair[0], pair[1])));
        }
        pairs
    };
    charge((a.len() + b.len()).saturating_mul(16))?;
    if a.to_lowercase() == b.to_lowercase() {
        return Ok(Value::Float(1.0));
    }
    let (a, b) = (pairs(a), pairs(b));
    work(a.len() + b.len())?;
    let all = a.len() + b.len();
    if all == 0 {
        return Ok(Value::Float(0.0));
    }
    let mut known: HashMap<(char, char), usize> = HashMap::new();
    a.into_iter()
        .for_each(|pair| *known.entry(pair).or_default() += 1);
    let mut shared = 0_usize;
    for pair in b {
        if let Some(left) = known.get_mut(&pair).filter(|left| **left > 0) {
            *left -= 1;
            shared += 1;
        }
    }
    Ok(Value::Float(2.0 * shared as f64 / all as f64))
}

/// The part of a text between the positions of the third and fourth argument, and the first of
/// them.
fn bounded(function: &str, of: &str, args: &[Value]) -> Result<(String, i64)> {
    let bound = |at: usize, default: i64| {
        args.get(at)
            .map_or(Ok(default), |value| integer(function, value))
    };
    let (from, to) = (bound(2, 0)?.max(0), bound(3, -1)?);
    let to = if to < 0 { i64::MAX } else { to };
    let length = to.saturating_sub(from);
    let start = of.chars().skip(usize::try_from(from).unwrap_or(usize::MAX));
    charge(of.len())?;
    let part = start.take(usize::try_from(length).unwrap_or(0)).collect();
    Ok((part, from))
}

/// All positions, also of parts that overlap.
fn indexes_of(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.text.indexesOf";
    let [Some(of), wanted] = both(name, args)? else {
        return Ok(Value::Null);
    };
    let Some(wanted) = wanted else {
        return Ok(Value::list(Vec::new()));
    };
    let (part, from) = bounded(name, of, args)?;
    let mut found = Items::default();
    for (number, (at, _)) in (0_i64..).zip(part.char_indices()) {
        work(1)?;
        if part[at..].starts_with(wanted) {
            found.push(Value::Integer(from.saturating_add(number)))?;
        }
    }
    found.value()
}

fn index_of(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.text.indexOf";
    let [Some(of), wanted] = both(name, args)? else {
        return Ok(Value::Null);
    };
    let Some(wanted) = wanted else {
        return Ok(Value::Integer(-1));
    };
    let (part, from) = bounded(name, of, args)?;
    Ok(Value::Integer(part.find(wanted).map_or(-1, |at| {
        let before = part[..at].chars().count();
        i64::try_from(before)
            .unwrap_or(i64::MAX)
            .saturating_add(from)
    })))
}

fn padded(function: &str, args: &[Value], left: bool) -> Result<Value> {
    let (Some(of), false) = (text(function, &args[0])?, args[1].is_null()) else {
        return Ok(Value::Null);
    };
    let wanted = match integer(function, &args[1])? {
        i64::MIN..0 => 0,
        _ => size(function, &args[1])?,
    };
    let missing = wanted.saturating_sub(of.chars().count());
    // Of what fills, the first letter counts.
    let with = match args.get(2) {
        Some(given) => text(function, given)?.and_then(|text| text.chars().next()),
        None => Some(' '),
    };
    let with = match (with, missing) {
        (Some(with), _) => with,
        (None, 0) => ' ',
        (None, _) => {
            let message = told!("{function}() needs a letter to fill the text with");
            return Err(ExecError::Argument { message });
        }
    };
    let mut padding = Text::with_room(missing.saturating_mul(with.len_utf8()))?;
    work(missing)?;
    for _ in 0..missing {
        padding.push(with.encode_utf8(&mut [0; 4]))?;
    }
    let Value::String(padding) = padding.value()? else {
        return Ok(Value::Null);
    };
    let mut out = Text::default();
    for part in if left { [&padding, of] } else { [of, &padding] } {
        out.push(part)?;
    }
    out.value()
}

fn repeat(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let (Some(of), false) = (text("apoc.text.repeat", &args[0])?, args[1].is_null()) else {
        return Ok(Value::Null);
    };
    let count = size("apoc.text.repeat", &args[1])?;
    let count = if of.is_empty() { 0 } else { count };
    let mut out = Text::with_room(count.saturating_mul(of.len()))?;
    for _ in 0..count {
        out.push(of)?;
    }
    out.value()
}

fn slug(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(of) = text("apoc.text.slug", &args[0])? else {
        return Ok(Value::Null);
    };
    let between = match args.get(1) {
        Some(given) => text("apoc.text.slug", given)?.map_or("-", |text| text),
        None => "-",
    };
    let mut out = Text::default();
    let mut is_between = false;
    for c in of.trim().chars() {
        work(1)?;
        if c.is_alphanumeric() || c == '_' {
            out.push(c.encode_utf8(&mut [0; 4]))?;
            is_between = false;
        } else if !is_between {
            out.push(between)?;
            is_between = true;
        }
    }
    out.value()
}

/// The text as a form of a page sends it.
fn url_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn url_decode(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(of) = text("apoc.text.urldecode", &args[0])? else {
        return Ok(Value::Null);
    };
    let wrong = || ExecError::Argument {
        message: told!("apoc.text.urldecode() cannot decode {of}: write %41 or a plain text"),
    };
    let mut out = Vec::with_capacity(of.len());
    let mut bytes = of.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next(), bytes.next()];
                let [Some(high), Some(low)] = digits else {
                    return Err(wrong());
                };
                let digits = [high, low];
                let digits = std::str::from_utf8(&digits).map_err(|_| wrong())?;
                u8::from_str_radix(digits, 16).map_err(|_| wrong())?
            }
            byte => byte,
        });
    }
    String::from_utf8(out)
        .map(|text| Value::text(&text))
        .map_err(|_| wrong())
}
