//! `apoc.text.format` after Java's `String.format`, `apoc.text.phonetic` (Soundex) and
//! `apoc.text.random`.
//!
//! # Source
//! The documentation of `java.util.Formatter`; the American Soundex of the national archives.

use super::{list, size, text, wrong};
use crate::error::{ExecError, Result};
use crate::expression::functions::number::random;
use crate::expression::signature::Function;
use crate::growth::{Text, charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::as_float;
use graven_types::told;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "apoc.text.format",
        arity: (2, 3),
        body: format,
    },
    Function {
        name: "apoc.text.phonetic",
        arity: (1, 1),
        body: phonetic,
    },
    Function {
        name: "apoc.text.random",
        arity: (1, 2),
        body: random_text,
    },
];

/// Widest field and most digits behind the point.
const WIDTH_MAX: usize = 1000;

/// A placeholder such as `%-8.2f`.
#[derive(Default)]
struct Field {
    left: bool,
    zeros: bool,
    plus: bool,
    groups: bool,
    place: Option<usize>,
    width: usize,
    precision: Option<usize>,
}

fn format(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.text.format";
    let Some(of) = text(name, &args[0])? else {
        return Ok(Value::Null);
    };
    let params = list(name, &args[1])?.unwrap_or_default();
    match args.get(2) {
        None | Some(Value::Null) => {}
        Some(Value::String(language)) if **language == *"en" => {}
        Some(other) => return Err(wrong(name, "'en' as the language", other)),
    }
    let mut out = Text::default();
    let mut rest = &**of;
    let mut next = 0;
    while let Some(at) = rest.find('%') {
        out.push(&rest[..at])?;
        rest = &rest[at + 1..];
        let (field, kind) = read_field(&mut rest).ok_or_else(|| ExecError::Argument {
            message: told!("{name}(): `{of}` has a placeholder that is none of Java's"),
        })?;
        if kind == '%' || kind == 'n' {
            out.push(&padded(
                if kind == 'n' { "\n" } else { "%" }.to_owned(),
                &field,
            ))?;
            continue;
        }
        let place = field.place.unwrap_or_else(|| {
            next += 1;
            next
        });
        let value = place.checked_sub(1).and_then(|place| params.get(place));
        let value = value.ok_or_else(|| ExecError::Argument {
            message: told!(
                "{name}(): `{of}` wants {place} values, got {}",
                params.len()
            ),
        })?;
        out.push(&padded(written(name, kind, &field, value)?, &field))?;
    }
    out.push(rest)?;
    out.value()
}

/// A placeholder behind its `%`, with its letter.
fn read_field(rest: &mut &str) -> Option<(Field, char)> {
    let mut field = Field::default();
    let number = |rest: &mut &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (own, behind) = rest.split_at(digits);
        *rest = behind;
        own.parse::<usize>().ok()
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if rest[digits..].starts_with('$') {
        field.place = Some(number(rest)?);
        *rest = &rest[1..];
    }
    loop {
        match rest.chars().next()? {
            '-' => field.left = true,
            '0' => field.zeros = true,
            '+' => field.plus = true,
            ',' => field.groups = true,
            ' ' | '#' | '(' => return None,
            _ => break,
        }
        *rest = &rest[1..];
    }
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        field.width = number(rest)?;
    }
    if let Some(behind) = rest.strip_prefix('.') {
        *rest = behind;
        field.precision = Some(number(rest)?);
    }
    if field.width > WIDTH_MAX || field.precision.is_some_and(|digits| digits > WIDTH_MAX) {
        return None;
    }
    let kind = rest.chars().next()?;
    *rest = &rest[kind.len_utf8()..];
    Some((field, kind))
}

fn written(name: &str, kind: char, field: &Field, value: &Value) -> Result<String> {
    let upper = kind.is_uppercase();
    let text = match (kind.to_ascii_lowercase(), value) {
        ('s' | 'b', value) => {
            let text = match (kind.to_ascii_lowercase(), value) {
                ('b', Value::Null) => "false".to_owned(),
                ('b', Value::Boolean(holds)) => holds.to_string(),
                ('b', _) => "true".to_owned(),
                (_, value) => super::key(value)?.to_string(),
            };
            match field.precision {
                Some(most) => text.chars().take(most).collect(),
                None => text,
            }
        }
        (_, Value::Null) => "null".to_owned(),
        ('d', Value::Integer(i)) => signed(i.to_string(), field),
        ('x', Value::Integer(i)) => with_zeros("", format!("{i:x}"), field),
        ('o', Value::Integer(i)) => with_zeros("", format!("{i:o}"), field),
        ('c', Value::Integer(i)) => {
            let c = u32::try_from(*i).ok().and_then(char::from_u32);
            c.ok_or_else(|| wrong(name, "the number of a character", value))?
                .to_string()
        }
        ('c', Value::String(text)) if text.chars().count() == 1 => text.to_string(),
        ('f' | 'e', Value::Float(x)) if !x.is_finite() => match (x.is_nan(), *x < 0.0) {
            (true, _) => "NaN",
            (false, true) => "-Infinity",
            (false, false) if field.plus => "+Infinity",
            (false, false) => "Infinity",
        }
        .to_owned(),
        ('f', Value::Float(x)) => {
            let digits = rounded(&format!("{}", x.abs()), field.precision.unwrap_or(6));
            signed(with_sign(*x, &digits), field)
        }
        ('e', Value::Float(x)) => {
            let text = format!("{:e}", x.abs());
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            let mut power: i32 = power.parse().unwrap_or(0);
            let most = field.precision.unwrap_or(6);
            let mut digits = rounded(digits, most);
            if digits.starts_with("10") {
                digits = rounded("1", most);
                power += 1;
            }
            let sign = if power < 0 { '-' } else { '+' };
            let text = format!("{digits}e{sign}{:02}", power.abs());
            signed(with_sign(*x, &text), field)
        }
        ('f' | 'e', value) if as_float(value).is_some() => {
            return Err(wrong(name, "a Float for %f and %e", value));
        }
        (_, value) => return Err(wrong(name, &format!("what %{kind} can show"), value)),
    };
    Ok(if upper { text.to_uppercase() } else { text })
}

fn with_sign(x: f64, digits: &str) -> String {
    let sign = if x.is_sign_negative() { "-" } else { "" };
    format!("{sign}{digits}")
}

/// Decimal digits with so many of them behind the point; a half goes up.
fn rounded(text: &str, most: usize) -> String {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let behind = part.bytes().chain(std::iter::repeat(b'0')).take(most);
    let mut digits: Vec<u8> = whole.bytes().chain(behind).collect();
    if part
        .as_bytes()
        .get(most)
        .is_some_and(|digit| *digit >= b'5')
    {
        let nines = digits
            .iter()
            .rev()
            .take_while(|digit| **digit == b'9')
            .count();
        let kept = digits.len() - nines;
        digits[kept..].fill(b'0');
        match kept.checked_sub(1) {
            Some(last) => digits[last] += 1,
            None => digits.insert(0, b'1'),
        }
    }
    let mut out: String = digits.iter().map(|digit| char::from(*digit)).collect();
    if most > 0 {
        out.insert(digits.len() - most, '.');
    }
    out
}

/// A number with its sign, commas between thousands, and zeros before it.
fn signed(text: String, field: &Field) -> String {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, &*text),
    };
    let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
    let mut out = String::new();
    for (at, c) in digits.char_indices() {
        if field.groups && at > 0 && at < whole && (whole - at) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    let sign = match (negative, field.plus) {
        (true, _) => "-",
        (false, true) => "+",
        (false, false) => "",
    };
    with_zeros(sign, out, field)
}

/// A number with the zeros that its width asks for.
fn with_zeros(sign: &str, digits: String, field: &Field) -> String {
    let missing = match field.zeros && !field.left {
        true => field.width.saturating_sub(digits.len() + sign.len()),
        false => 0,
    };
    format!("{sign}{}{digits}", "0".repeat(missing))
}

fn padded(text: String, field: &Field) -> String {
    let blanks = " ".repeat(field.width.saturating_sub(text.chars().count()));
    match field.left {
        true => text + &blanks,
        false => blanks + &text,
    }
}

/// The Soundex of each word.
fn phonetic(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(of) = text("apoc.text.phonetic", &args[0])? else {
        return Ok(Value::Null);
    };
    let mut out = Text::default();
    for word in of.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        out.push(&soundex(word))?;
    }
    out.value()
}

fn soundex(word: &str) -> String {
    let digit = |c: char| match c {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    };
    let letters = word.chars().filter(char::is_ascii_alphabetic);
    let mut letters = letters.map(|c| c.to_ascii_uppercase());
    let Some(first) = letters.next() else {
        return String::new();
    };
    let mut code = String::from(first);
    let mut last = digit(first);
    for c in letters {
        let own = digit(c);
        if let Some(own) = own
            && last != Some(own)
            && code.len() < 4
        {
            code.push(own);
        }
        // H and W do not part two letters of one digit.
        if !matches!(c, 'H' | 'W') {
            last = own;
        }
    }
    format!("{code:0<4}")
}

/// Random characters of a set such as `A-Z0-9.`.
fn random_text(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.text.random";
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let length = size(name, &args[0])?;
    let given = args
        .get(1)
        .map(|value| text(name, value))
        .transpose()?
        .flatten();
    let given = given.map_or("A-Za-z0-9", |text| text);
    charge(
        given
            .len()
            .saturating_mul(size_of::<char>() + 2 * size_of::<(usize, char)>()),
    )?;
    work(given.len() / 64)?;
    let valid: Vec<char> = given.chars().collect();
    // The first letter of each range, with how many letters there are up to its end.
    let mut ranges: Vec<(usize, char)> = Vec::with_capacity(valid.len());
    let mut count = 0;
    let mut at = 0;
    while at < valid.len() {
        let first = valid[at];
        let last = match valid.get(at + 1..at + 3) {
            Some(['-', last]) if first <= *last => {
                at += 3;
                *last
            }
            _ => {
                at += 1;
                first
            }
        };
        count += (first..=last).size_hint().0;
        ranges.push((count, first));
    }
    if count == 0 {
        let message = told!("{name}() needs at least one character to choose from");
        return Err(ExecError::Argument { message });
    }
    let mut out = Text::with_room(length)?;
    for _ in 0..length {
        let place = ((random() * count as f64) as usize).min(count - 1);
        let range = ranges.partition_point(|(end, _)| *end <= place);
        let before = range.checked_sub(1).map_or(0, |before| ranges[before].0);
        let letter = (ranges[range].1..)
            .nth(place - before)
            .unwrap_or(ranges[range].1);
        out.push(letter.encode_utf8(&mut [0; 4]))?;
    }
    out.value()
}

#[cfg(test)]
mod tests {
    //! Goal: words that sound alike have one code, as the archives give it.

    use super::soundex;

    #[test]
    fn words_that_sound_alike() {
        for (word, code) in [
            ("Robert", "R163"),
            ("Rupert", "R163"),
            ("Ashcraft", "A261"),
            ("Tymczak", "T522"),
            ("Pfister", "P236"),
            ("Honeyman", "H555"),
            ("Lee", "L000"),
            ("", ""),
        ] {
            assert_eq!(soundex(word), code, "{word}");
        }
    }
}
