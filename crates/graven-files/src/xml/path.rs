//! Paths into a document: the steps of XPath that lead down and up, with conditions.
//!
//! # How it works
//! A path is steps between `/`; behind `//` a step is taken from every depth. A step is a name,
//! `*`, `.` or `..`, and conditions in brackets: a place from 1, `last()`, `name`, `@name`, or one
//! of these with `=` or `!=` and a text in quotes.

use super::{At, Document};
use graven_types::told;

/// What a step leads to.
enum To<'a> {
    Name(&'a str),
    Any,
    Itself,
    Parent,
}

/// What an element of a step meets.
enum Condition<'a> {
    Place(usize),
    Last,
    /// An attribute or an element within, and what it must be, or must not.
    Has(Part<'a>, Option<(bool, &'a str)>),
}

enum Part<'a> {
    Attribute(&'a str),
    Element(&'a str),
    Text,
}

struct Step<'a> {
    is_deep: bool,
    to: To<'a>,
    conditions: Vec<Condition<'a>>,
}

impl Document {
    /// The elements that a path leads to, in their order; `/` leads to the one at the top.
    ///
    /// # Errors
    /// What is wrong with the path.
    pub fn at(&self, path: &str) -> Result<Vec<At>, String> {
        let steps = steps(path).ok_or_else(|| {
            told!(
                "`{path}` is no path: write steps such as /catalog/book[@id='1']/author, //author, \
                    * and .."
            )
        })?;
        // None is what holds the element at the top.
        let mut here: Vec<Option<At>> = vec![None];
        for step in &steps {
            let mut next = Vec::new();
            for from in here {
                match step.is_deep {
                    true => {
                        let below = std::iter::once(from).chain(self.below(from).map(Some));
                        below.for_each(|from| next.extend(self.step(from, step)));
                    }
                    false => next.extend(self.step(from, step)),
                }
            }
            next.sort_unstable();
            next.dedup();
            here = next;
        }
        match steps.is_empty() {
            true => Ok(vec![0]),
            false => Ok(here.into_iter().flatten().collect()),
        }
    }

    fn below(&self, from: Option<At>) -> impl Iterator<Item = At> + '_ {
        let mut waiting: Vec<At> = self.children(from);
        std::iter::from_fn(move || {
            let at = waiting.pop()?;
            waiting.extend(self.within(at));
            Some(at)
        })
    }

    fn children(&self, from: Option<At>) -> Vec<At> {
        match from {
            None => vec![0],
            Some(at) => self.within(at).collect(),
        }
    }

    fn step(&self, from: Option<At>, step: &Step<'_>) -> Vec<Option<At>> {
        let mut found: Vec<Option<At>> = match step.to {
            To::Itself => vec![from],
            To::Parent => from
                .map(|at| self.elements[at].parent)
                .into_iter()
                .collect(),
            To::Any => self.children(from).into_iter().map(Some).collect(),
            To::Name(name) => {
                let all = self.children(from).into_iter();
                let named = all.filter(|at| self.elements[*at].name == name);
                named.map(Some).collect()
            }
        };
        for condition in &step.conditions {
            found = match condition {
                Condition::Place(place) => {
                    let one = place.checked_sub(1).and_then(|place| found.get(place));
                    one.copied().into_iter().collect()
                }
                Condition::Last => found.last().copied().into_iter().collect(),
                Condition::Has(part, wanted) => {
                    let all = found.into_iter();
                    let meets = |at: &Option<At>| at.is_some_and(|at| self.has(at, part, *wanted));
                    all.filter(meets).collect()
                }
            };
        }
        found
    }

    fn has(&self, at: At, part: &Part<'_>, wanted: Option<(bool, &str)>) -> bool {
        let fits = |text: &str| wanted.is_none_or(|(same, wanted)| (text == wanted) == same);
        match part {
            Part::Attribute(name) => {
                let mut all = self.elements[at].attributes.iter();
                all.any(|(known, value)| known == name && fits(value))
            }
            Part::Element(name) => {
                let mut all = self
                    .within(at)
                    .filter(|at| self.elements[*at].name == *name);
                all.any(|at| fits(&self.whole_text(at)))
            }
            Part::Text => fits(&self.whole_text(at)),
        }
    }
}

/// The steps of a path; none if it is no path.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = path.trim();
    let mut steps = Vec::new();
    if rest == "/" || rest.is_empty() {
        return Some(steps);
    }
    if !rest.starts_with('/') {
        // A path without `/` begins at the top, too.
        let (step, behind) = step(rest, false)?;
        steps.push(step);
        rest = behind;
    }
    while !rest.is_empty() {
        let is_deep = rest.starts_with("//");
        let from = rest.strip_prefix("//").or_else(|| rest.strip_prefix('/'))?;
        let (step, behind) = step(from, is_deep)?;
        steps.push(step);
        rest = behind;
    }
    Some(steps)
}

fn step(text: &str, is_deep: bool) -> Option<(Step<'_>, &str)> {
    let end = text.find(['/', '[']).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let to = match name.trim() {
        "*" => To::Any,
        "." => To::Itself,
        ".." => To::Parent,
        name if is_name(name) => To::Name(name),
        _ => return None,
    };
    let mut conditions = Vec::new();
    while let Some(within) = rest.strip_prefix('[') {
        let end = end_of_condition(within)?;
        conditions.push(condition(within[..end].trim())?);
        rest = &within[end + 1..];
    }
    let step = Step {
        is_deep,
        to,
        conditions,
    };
    Some((step, rest))
}

/// The place of the bracket that closes a condition; those within quotes do not.
fn end_of_condition(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, ']') => return Some(at),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

fn condition(text: &str) -> Option<Condition<'_>> {
    if let Ok(place) = text.parse() {
        return Some(Condition::Place(place));
    }
    if text == "last()" {
        return Some(Condition::Last);
    }
    let (part, wanted) = match text.split_once('=') {
        None => (text, None),
        Some((part, wanted)) => {
            let (part, same) = match part.strip_suffix('!') {
                Some(part) => (part, false),
                None => (part, true),
            };
            let wanted = wanted.trim();
            let quote = wanted.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
            let wanted = wanted.strip_prefix(quote)?.strip_suffix(quote)?;
            (part, Some((same, wanted)))
        }
    };
    let part = match part.trim() {
        "text()" | "." => Part::Text,
        part => match part.strip_prefix('@') {
            Some(name) if is_name(name) => Part::Attribute(name),
            None if is_name(part) => Part::Element(part),
            _ => return None,
        },
    };
    Some(Condition::Has(part, wanted))
}

/// Whether an element or attribute may have this name.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    !name.is_empty() && name.chars().all(fits) && !name.contains("::")
}

#[cfg(test)]
mod tests {
    //! Goal: paths lead to what XPath says, and what is no path is refused.

    use super::*;

    const TEXT: &str = "<c><b id='1'><t>A</t></b><b id='2'><t>B</t><x><t>C</t></x></b><t>D</t></c>";

    fn texts(path: &str) -> Vec<String> {
        let document = Document::read(TEXT).expect("XML");
        let found = document.at(path).expect("a path");
        found
            .into_iter()
            .map(|at| document.whole_text(at))
            .collect()
    }

    #[test]
    fn paths_lead_to_elements() {
        assert_eq!(texts("/"), ["ABCD"]);
        assert_eq!(texts("/c/b/t"), ["A", "B"]);
        assert_eq!(texts("//t"), ["A", "B", "C", "D"]);
        assert_eq!(texts("/c/b[2]/*"), ["B", "C"]);
        assert_eq!(texts("/c/b[@id='1']"), ["A"]);
        assert_eq!(texts("/c/b[@id!='1']/t"), ["B"]);
        assert_eq!(texts("//b[t=\"B\"]/x/.."), ["BC"]);
        assert_eq!(texts("//x/t[last()]"), ["C"]);
        assert_eq!(texts("/b"), Vec::<String>::new());
        let document = Document::read(TEXT).expect("XML");
        for path in [
            "/c/",
            "/c/b[",
            "/c/@id",
            "/c/b[t=B]",
            "/child::b",
            "/c/b[1 + 1]",
        ] {
            assert!(document.at(path).is_err(), "{path}");
        }
    }
}
