//! Paths into JSON, such as `$.store.book[?(@.price < 10)].title`.
//!
//! # How it works
//! A path is steps from the whole value on: `.name`, `['a', 'b']`, `[0]`, `[-1]`, `[0, 2]`,
//! `[1:3]`, `.*`, `[*]`, `..name` at any depth, `[?(condition)]`, and a function such as
//! `.length()` at the end. A path of single names and places gives one value, or none; any other
//! gives the list of all that it meets.
//!
//! # Cost
//! One unit of work for each value that is looked at.
//!
//! # Source
//! Jayway JsonPath, which APOC uses.

use serde_json::Value as Json;

use crate::error::Result;
use crate::growth::{charge, work};

/// Brackets and negations within each other.
const DEPTH_MAX: usize = 32;

/// What a path leads to.
pub(super) enum Found<'a> {
    One(Option<&'a Json>),
    Many(Vec<&'a Json>),
    Made(Json),
}

/// A path that was read.
#[derive(Debug, Default)]
pub(super) struct JsonPath {
    steps: Vec<Step>,
    function: Option<Function>,
}

#[derive(Debug)]
struct Step {
    /// It looks at all that lies below, too.
    deep: bool,
    of: Selector,
}

#[derive(Debug)]
enum Selector {
    All,
    Names(Vec<String>),
    Places(Vec<i64>),
    Slice(Option<i64>, Option<i64>),
    Where(Condition),
}

#[derive(Clone, Copy, Debug)]
enum Function {
    Length,
    Keys,
    Sum,
    Min,
    Max,
    Avg,
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("length()", Function::Length),
    ("size()", Function::Length),
    ("keys()", Function::Keys),
    ("sum()", Function::Sum),
    ("min()", Function::Min),
    ("max()", Function::Max),
    ("avg()", Function::Avg),
];

#[derive(Debug)]
enum Condition {
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
    Is(Operand),
    Compares(Operand, Comparison, Operand),
    In(Operand, Vec<Json>, bool),
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longer signs stand before those that they begin with.
const COMPARISONS: &[(&str, Comparison)] = &[
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

#[derive(Debug)]
enum Operand {
    /// From the value that is looked at, or from the whole.
    Path(bool, JsonPath),
    Literal(Json),
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, what: &str) -> bool {
        match self.rest.strip_prefix(what) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Behind a blank.
    fn eat_next(&mut self, what: &str) -> bool {
        self.blank();
        self.eat(what)
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let found = (self.depth <= DEPTH_MAX).then(|| read(self)).flatten();
        self.depth -= 1;
        found
    }

    /// Steps, as far as they go; `ends`: the text ends behind them.
    fn path(&mut self, ends: bool) -> Option<JsonPath> {
        let mut path = JsonPath::default();
        loop {
            let deep = self.eat("..");
            if self.rest.starts_with('[') {
                let of = self.brackets()?;
                path.steps.push(Step { deep, of });
                continue;
            }
            let first = ends && path.steps.is_empty() && !self.rest.is_empty();
            if !(deep || self.eat(".") || first) {
                break;
            }
            let mut functions = FUNCTIONS.iter();
            let function = functions.find(|(name, _)| self.rest.starts_with(name));
            if let Some((name, function)) = function {
                self.rest = &self.rest[name.len()..];
                path.function = Some(*function);
                break;
            }
            let of = match self.eat("*") {
                true => Selector::All,
                false => Selector::Names(vec![self.bare(ends)?.to_owned()]),
            };
            path.steps.push(Step { deep, of });
        }
        (!ends || self.rest.is_empty()).then_some(path)
    }

    /// A name without quotes; within a condition it is one word.
    fn bare(&mut self, ends: bool) -> Option<&'a str> {
        let is_end = |c: char| match ends {
            true => matches!(c, '.' | '['),
            false => !(c.is_alphanumeric() || matches!(c, '_' | '$' | '-')),
        };
        let length = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        (!name.is_empty()).then_some(name)
    }

    fn brackets(&mut self) -> Option<Selector> {
        self.eat("[");
        self.blank();
        let found = if self.eat("*") {
            Selector::All
        } else if self.eat("?") {
            let opened = self.eat_next("(");
            let condition = self.deeper(|reader| reader.any_of())?;
            (!opened || self.eat_next(")")).then_some(())?;
            Selector::Where(condition)
        } else if self.rest.starts_with(['\'', '"']) {
            let mut names = vec![self.quoted()?];
            while self.eat_next(",") {
                self.blank();
                names.push(self.quoted()?);
            }
            Selector::Names(names)
        } else {
            let first = self.place()?;
            if self.eat_next(":") {
                Selector::Slice(first, self.place()?)
            } else {
                let mut places = vec![first?];
                while self.eat_next(",") {
                    places.push(self.place()??);
                }
                Selector::Places(places)
            }
        };
        self.eat_next("]").then_some(found)
    }

    /// A whole number, if one stands here; none of a number that is too large.
    fn place(&mut self) -> Option<Option<i64>> {
        self.blank();
        let is_end = |c: char| !(c.is_ascii_digit() || c == '-');
        let length = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(length);
        if digits.is_empty() {
            return Some(None);
        }
        self.rest = rest;
        digits.parse().ok().map(Some)
    }

    fn quoted(&mut self) -> Option<String> {
        let mut letters = self.rest.char_indices();
        let (_, quote) = letters.next().filter(|(_, c)| matches!(c, '\'' | '"'))?;
        let mut text = String::new();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => text.push(letters.next()?.1),
                end if end == quote => {
                    self.rest = &self.rest[at + end.len_utf8()..];
                    return Some(text);
                }
                other => text.push(other),
            }
        }
        None
    }

    fn any_of(&mut self) -> Option<Condition> {
        let mut left = self.all_of()?;
        while self.eat_next("||") {
            left = Condition::Or(Box::new(left), Box::new(self.all_of()?));
        }
        Some(left)
    }

    fn all_of(&mut self) -> Option<Condition> {
        let mut left = self.one_of()?;
        while self.eat_next("&&") {
            left = Condition::And(Box::new(left), Box::new(self.one_of()?));
        }
        Some(left)
    }

    fn one_of(&mut self) -> Option<Condition> {
        if self.eat_next("!") {
            let not = self.deeper(Self::one_of)?;
            return Some(Condition::Not(Box::new(not)));
        }
        if self.eat_next("(") {
            let inner = self.deeper(Self::any_of)?;
            return self.eat_next(")").then_some(inner);
        }
        let left = self.operand()?;
        self.blank();
        for (word, within) in [("in ", true), ("nin ", false)] {
            if self.eat(word) {
                return Some(Condition::In(left, self.list()?, within));
            }
        }
        let mut all = COMPARISONS.iter();
        match all.find(|(sign, _)| self.rest.starts_with(sign)) {
            Some((sign, comparison)) => {
                self.rest = &self.rest[sign.len()..];
                Some(Condition::Compares(left, *comparison, self.operand()?))
            }
            None => Some(Condition::Is(left)),
        }
    }

    fn list(&mut self) -> Option<Vec<Json>> {
        self.eat_next("[").then_some(())?;
        let mut all = Vec::new();
        while !self.eat_next("]") {
            if !all.is_empty() && !self.eat_next(",") {
                return None;
            }
            self.blank();
            all.push(self.literal()?);
        }
        Some(all)
    }

    fn operand(&mut self) -> Option<Operand> {
        self.blank();
        for (sign, of_whole) in [("@", false), ("$", true)] {
            if self.eat(sign) {
                let path = self.deeper(|reader| reader.path(false))?;
                return Some(Operand::Path(of_whole, path));
            }
        }
        self.literal().map(Operand::Literal)
    }

    fn literal(&mut self) -> Option<Json> {
        if self.rest.starts_with(['\'', '"']) {
            return self.quoted().map(Json::String);
        }
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
        let length = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        let read: Json = serde_json::from_str(word).ok()?;
        Some(read)
    }
}

impl JsonPath {
    /// The path that a text says; none if it says none.
    pub(super) fn read(text: &str) -> Option<JsonPath> {
        let text = text.trim();
        let rest = text.strip_prefix('$').unwrap_or(text);
        Reader { rest, depth: 0 }.path(true)
    }

    /// Whether it leads to one value at most.
    fn is_definite(&self) -> bool {
        self.steps.iter().all(|step| {
            let single = match &step.of {
                Selector::Names(names) => names.len() == 1,
                Selector::Places(places) => places.len() == 1,
                _ => false,
            };
            single && !step.deep
        })
    }

    /// What it leads to from `from`, which is a part of `whole`.
    pub(super) fn find<'a>(&self, from: &'a Json, whole: &'a Json) -> Result<Found<'a>> {
        let mut found = vec![from];
        for step in &self.steps {
            let mut next = Vec::new();
            for at in found {
                match step.deep {
                    true => below(at, &mut |at| step.of.select(at, whole, &mut next))?,
                    false => step.of.select(at, whole, &mut next)?,
                }
            }
            charge(next.len() * size_of::<&Json>())?;
            found = next;
        }
        let is_one = self.is_definite();
        if let Some(function) = self.function {
            let of = match is_one {
                true => found.first().copied(),
                false => None,
            };
            let made = function.of(of, &found);
            return Ok(made.map_or(Found::One(None), Found::Made));
        }
        Ok(match is_one {
            true => Found::One(found.first().copied()),
            false => Found::Many(found),
        })
    }
}

/// Visits the value and all that lies below, from above to below.
fn below<'a>(at: &'a Json, visit: &mut dyn FnMut(&'a Json) -> Result<()>) -> Result<()> {
    work(1)?;
    visit(at)?;
    match at {
        Json::Array(items) => items.iter().try_for_each(|item| below(item, visit)),
        Json::Object(entries) => entries.values().try_for_each(|item| below(item, visit)),
        _ => Ok(()),
    }
}

/// The place in a list, counted from its end if it is negative.
fn place(given: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let at = if given < 0 { given + length } else { given };
    usize::try_from(at).ok()
}

impl Selector {
    fn select<'a>(&self, at: &'a Json, whole: &'a Json, into: &mut Vec<&'a Json>) -> Result<()> {
        work(1)?;
        match (self, at) {
            (Selector::All, Json::Array(items)) => into.extend(items),
            (Selector::All, Json::Object(entries)) => into.extend(entries.values()),
            (Selector::Names(names), Json::Object(entries)) => {
                into.extend(names.iter().filter_map(|name| entries.get(name)));
            }
            (Selector::Places(places), Json::Array(items)) => {
                let places = places.iter();
                into.extend(places.filter_map(|at| items.get(place(*at, items.len())?)));
            }
            (Selector::Slice(from, to), Json::Array(items)) => {
                let bound = |given: Option<i64>, otherwise: usize| match given {
                    None => otherwise,
                    Some(given) => place(given, items.len()).unwrap_or(0).min(items.len()),
                };
                let (from, to) = (bound(*from, 0), bound(*to, items.len()));
                into.extend(items.get(from..to).unwrap_or_default());
            }
            (Selector::Where(condition), Json::Array(items)) => {
                for item in items {
                    if condition.holds(item, whole)? {
                        into.push(item);
                    }
                }
            }
            (Selector::Where(condition), one @ Json::Object(_))
                if condition.holds(one, whole)? =>
            {
                into.push(one);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Condition {
    fn holds(&self, at: &Json, whole: &Json) -> Result<bool> {
        work(1)?;
        Ok(match self {
            Condition::And(a, b) => a.holds(at, whole)? && b.holds(at, whole)?,
            Condition::Or(a, b) => a.holds(at, whole)? || b.holds(at, whole)?,
            Condition::Not(not) => !not.holds(at, whole)?,
            Condition::Is(operand) => operand.value(at, whole)?.is_some(),
            Condition::Compares(left, comparison, right) => {
                let (left, right) = (left.value(at, whole)?, right.value(at, whole)?);
                match (left, right) {
                    (Some(left), Some(right)) => comparison.holds(&left, &right),
                    // What is not there is unlike anything that is.
                    (left, right) => {
                        matches!(comparison, Comparison::NotEqual)
                            && left.is_some() != right.is_some()
                    }
                }
            }
            Condition::In(operand, list, within) => match operand.value(at, whole)? {
                Some(value) => list.iter().any(|item| equal(item, &value)) == *within,
                None => !within,
            },
        })
    }
}

impl Operand {
    /// Its value; of several, the list of them.
    fn value(&self, at: &Json, whole: &Json) -> Result<Option<Json>> {
        let (of_whole, path) = match self {
            Operand::Literal(value) => return Ok(Some(value.clone())),
            Operand::Path(of_whole, path) => (*of_whole, path),
        };
        let from = if of_whole { whole } else { at };
        Ok(match path.find(from, whole)? {
            Found::One(found) => match found {
                // A list or map is there, and equals nothing that a condition can say.
                Some(Json::Array(_)) => Some(Json::Array(Vec::new())),
                Some(Json::Object(_)) => Some(Json::Object(serde_json::Map::new())),
                other => other.cloned(),
            },
            Found::Many(all) => (!all.is_empty()).then(|| Json::Array(Vec::new())),
            Found::Made(made) => Some(made),
        })
    }
}

fn equal(a: &Json, b: &Json) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(_), Some(_)) if a.is_i64() && b.is_i64() => a == b,
        (Some(a), Some(b)) => a == b,
        _ => a == b && !a.is_array() && !a.is_object(),
    }
}

impl Comparison {
    fn holds(self, a: &Json, b: &Json) -> bool {
        let order = match (a, b) {
            (Json::String(a), Json::String(b)) => Some(a.cmp(b)),
            (Json::Number(x), Json::Number(y)) => match (x.as_i64(), y.as_i64()) {
                (Some(x), Some(y)) => Some(x.cmp(&y)),
                _ => x.as_f64().partial_cmp(&y.as_f64()),
            },
            _ => None,
        };
        match self {
            Comparison::Equal => equal(a, b),
            Comparison::NotEqual => !equal(a, b),
            Comparison::Less => order.is_some_and(std::cmp::Ordering::is_lt),
            Comparison::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
            Comparison::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
            Comparison::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}

impl Function {
    /// Of one value, or of the numbers among several.
    fn of(self, one: Option<&Json>, all: &[&Json]) -> Option<Json> {
        let numbers = || {
            let items: Vec<f64> = match one {
                Some(Json::Array(items)) => items.iter().filter_map(Json::as_f64).collect(),
                Some(_) => Vec::new(),
                None => all.iter().filter_map(|item| item.as_f64()).collect(),
            };
            (!items.is_empty()).then_some(items)
        };
        let number = |of: f64| serde_json::Number::from_f64(of).map(Json::Number);
        match self {
            Function::Length => {
                let length = match one {
                    Some(Json::Array(items)) => items.len(),
                    Some(Json::Object(entries)) => entries.len(),
                    Some(Json::String(text)) => text.chars().count(),
                    Some(_) => return None,
                    None => all.len(),
                };
                Some(Json::from(length))
            }
            Function::Keys => match one {
                Some(Json::Object(entries)) => {
                    Some(entries.keys().map(|key| Json::from(key.as_str())).collect())
                }
                _ => None,
            },
            Function::Sum => number(numbers()?.into_iter().sum()),
            Function::Min => number(numbers()?.into_iter().fold(f64::INFINITY, f64::min)),
            Function::Max => number(numbers()?.into_iter().fold(f64::NEG_INFINITY, f64::max)),
            Function::Avg => {
                let numbers = numbers()?;
                number(numbers.iter().sum::<f64>() / numbers.len() as f64)
            }
        }
    }
}

#[cfg(test)]
mod tests;
