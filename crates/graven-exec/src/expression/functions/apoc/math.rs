//! `apoc.math`, `apoc.bitwise`, `apoc.scoring`, and numbers in texts of `apoc.number`: limits of
//! Java's numbers, curves, operations on bits.

use super::number::is_language;
use super::{integer, text, wrong};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::as_float;
use graven_types::told;

/// A limit of a type of Java.
macro_rules! limit {
    ($name:literal, $value:expr) => {
        Function {
            name: concat!("apoc.math.", $name),
            arity: (0, 0),
            body: |_, _| Ok($value),
        }
    };
}

/// A function of one number; none where it has no value.
macro_rules! curve {
    ($name:literal, $f:expr) => {
        Function {
            name: concat!("apoc.math.", $name),
            arity: (1, 1),
            body: |_, args| {
                let f: fn(f64) -> Option<f64> = $f;
                match (&args[0], as_float(&args[0])) {
                    (Value::Null, _) => Ok(Value::Null),
                    (_, Some(x)) => Ok(f(x).map_or(Value::Null, Value::Float)),
                    (other, None) => Err(wrong(concat!("apoc.math.", $name), "a number", other)),
                }
            },
        }
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "apoc.bitwise.op",
        arity: (3, 3),
        body: bitwise,
    },
    curve!("cosh", |x| Some(cosh(x))),
    curve!("coth", |x| (x != 0.0).then(|| cosh(x) / sinh(x))),
    curve!("csch", |x| (x != 0.0).then(|| 1.0 / sinh(x))),
    limit!("maxbyte", Value::Integer(i8::MAX as i64)),
    limit!("maxdouble", Value::Float(f64::MAX)),
    limit!("maxint", Value::Integer(i32::MAX as i64)),
    limit!("maxlong", Value::Integer(i64::MAX)),
    limit!("minbyte", Value::Integer(i8::MIN as i64)),
    // The least positive one, as in Java.
    limit!("mindouble", Value::Float(f64::from_bits(1))),
    limit!("minint", Value::Integer(i32::MIN as i64)),
    limit!("minlong", Value::Integer(i64::MIN)),
    curve!("sech", |x| Some(1.0 / cosh(x))),
    curve!("sigmoid", |x| Some(sigmoid(x))),
    curve!("sigmoidprime", |x| Some(sigmoid(x) * (1.0 - sigmoid(x)))),
    curve!("sinh", |x| Some(sinh(x))),
    curve!("tanh", |x| Some(sinh(x) / cosh(x))),
    Function {
        name: "apoc.number.parsefloat",
        arity: (1, 3),
        body: |_, args| {
            let read = leading("apoc.number.parseFloat", args)?;
            let read = read.and_then(|of| of.parse().ok());
            Ok(read.map_or(Value::Null, Value::Float))
        },
    },
    Function {
        name: "apoc.number.parseint",
        arity: (1, 3),
        body: |_, args| {
            let Some(of) = leading("apoc.number.parseInt", args)? else {
                return Ok(Value::Null);
            };
            // What is behind the point is cut off.
            let whole = match of.contains('E') {
                true => &*of,
                false => of.split_once('.').map_or(&*of, |(whole, _)| whole),
            };
            let read = whole.parse().ok();
            let read = read.or_else(|| of.parse::<f64>().ok().map(|x| x as i64));
            Ok(read.map_or(Value::Null, Value::Integer))
        },
    },
    Function::new("apoc.scoring.existence", (2, 2), |_, args| {
        match (as_float(&args[0]), &args[1]) {
            (Some(score), Value::Boolean(true)) => Ok(Value::Float(score)),
            (Some(_), Value::Boolean(false)) => Ok(Value::Float(0.0)),
            (None, _) if !args[0].is_null() => {
                Err(wrong("apoc.scoring.existence", "a number", &args[0]))
            }
            (_, other) if args[0].is_null() || other.is_null() => Ok(Value::Null),
            (_, other) => Err(wrong("apoc.scoring.existence", "a Boolean", other)),
        }
    }),
    Function::new("apoc.scoring.pareto", (4, 4), pareto),
];

/// A score that nears its maximum: four fifths of it at the second argument.
fn pareto(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let mut numbers = [0.0; 4];
    for (number, value) in numbers.iter_mut().zip(args) {
        match as_float(value) {
            Some(given) => *number = given,
            None if value.is_null() => return Ok(Value::Null),
            None => return Err(wrong("apoc.scoring.pareto", "numbers", value)),
        }
    }
    let [least, at_80_percent, most, score] = numbers;
    Ok(Value::Float(match score < least {
        true => 0.0,
        false => most * (1.0 - (-(5.0_f64.ln() / at_80_percent) * score).exp()),
    }))
}

/// The number that a text begins with, without its commas; none of null.
fn leading(function: &str, args: &[Value]) -> Result<Option<String>> {
    let Some(of) = text(function, &args[0])? else {
        return Ok(None);
    };
    let is_plain = |other: &&Value| match other {
        Value::String(word) => word.is_empty() || &**word == "en",
        other => other.is_null(),
    };
    if let Some(other) = args[1..].iter().find(|other| !is_plain(other)) {
        let language = args.get(2).filter(|language| !is_plain(language));
        return match language {
            // No language has such a name.
            Some(Value::String(name)) if !is_language(name) => Ok(None),
            _ => Err(wrong(function, "no pattern and no language", other)),
        };
    }
    charge(of.len())?;
    work(1 + of.len() / 256)?;
    let of = of.trim();
    let mut number = String::new();
    for (at, c) in of.char_indices() {
        match c {
            '0'..='9' => number.push(c),
            '-' if at == 0 => number.push(c),
            ',' if !number.contains(['.', 'E']) => {}
            '.' if !number.contains(['.', 'E']) => number.push(c),
            'E' if !number.contains('E') => {
                let behind = of[at + 1..].strip_prefix('-').unwrap_or(&of[at + 1..]);
                if !behind.starts_with(|c: char| c.is_ascii_digit()) {
                    break;
                }
                number.push(c);
            }
            '-' if number.ends_with('E') => number.push(c),
            _ => break,
        }
    }
    Ok(Some(number))
}

/// By its definition, as APOC has it, which loses digits of small numbers.
fn sinh(x: f64) -> f64 {
    (x.exp() - (-x).exp()) / 2.0
}

fn cosh(x: f64) -> f64 {
    (x.exp() + (-x).exp()) / 2.0
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn bitwise(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.bitwise.op";
    let Some(operation) = text(name, &args[1])? else {
        return Ok(Value::Null);
    };
    let operation = &*operation.to_lowercase();
    // It has one operand; by its name, APOC wants two.
    let is_sign = operation == "~";
    if args[0].is_null() || (args[2].is_null() && !is_sign) {
        return Ok(Value::Null);
    }
    let a = integer(name, &args[0])?;
    if is_sign {
        return Ok(Value::Integer(!a));
    }
    let b = integer(name, &args[2])?;
    // Java shifts by the last six bits.
    let by = (b & 63) as u32;
    Ok(Value::Integer(match operation {
        "&" | "and" => a & b,
        "|" | "or" => a | b,
        "not" => !a,
        "^" | "xor" => a ^ b,
        "<<" | "left shift" => a << by,
        ">>" | "right shift" => a >> by,
        ">>>" | "right shift unsigned" => (a.cast_unsigned() >> by).cast_signed(),
        other => {
            let message =
                told!("{name}() knows no operation `{other}`: give &, |, ^, ~, <<, >> or >>>");
            return Err(ExecError::Argument { message });
        }
    }))
}
