//! Signatures of procedures and functions as Neo4j writes them: what tools show while a call is
//! typed.
//!
//! # How it works
//! `name(argument :: TYPE, argument = default :: TYPE) :: TYPE`, and of a procedure with columns
//! `:: (column :: TYPE, ...)`. Parts are cut at commas that are in no brackets.

/// A signature, cut into its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature<'a> {
    /// The name of the procedure or function.
    pub name: &'a str,
    /// What it takes.
    pub arguments: Vec<Part<'a>>,
    /// What it gives: a type, or columns between parentheses; nothing of a procedure without any.
    pub returns: &'a str,
}

/// An argument or a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part<'a> {
    /// Its name.
    pub name: &'a str,
    /// What an argument is if it is left out, as text.
    pub default: Option<&'a str>,
    /// The name of its type.
    pub kind: &'a str,
}

impl<'a> Signature<'a> {
    /// The parts of a signature; none of a text that is none.
    #[must_use]
    pub fn read(text: &'a str) -> Option<Signature<'a>> {
        let open = text.find('(')?;
        let close = open + closing(&text[open..])?;
        let returns = text[close + 1..].trim();
        Some(Signature {
            name: &text[..open],
            arguments: parts(&text[open + 1..close]),
            returns: returns.strip_prefix("::").unwrap_or(returns).trim(),
        })
    }

    /// The columns of a procedure.
    #[must_use]
    pub fn columns(&self) -> Vec<Part<'a>> {
        let inside = self.returns.strip_prefix('(');
        let inside = inside.and_then(|inside| inside.strip_suffix(')'));
        inside.map(parts).unwrap_or_default()
    }
}

/// The parts of a list between commas.
#[must_use]
pub fn parts(list: &str) -> Vec<Part<'_>> {
    let mut depth = 0_usize;
    let pieces = list.split(|c: char| {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    pieces.filter_map(one).collect()
}

fn one(piece: &str) -> Option<Part<'_>> {
    let (left, kind) = piece.rsplit_once(" :: ")?;
    let (name, default) = match left.split_once(" = ") {
        Some((name, default)) => (name, Some(default)),
        None => (left, None),
    };
    Some(Part {
        name: name.trim(),
        default,
        kind: kind.trim(),
    })
}

/// Where the bracket ends that the text begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Part, Signature};

    #[test]
    fn signatures_are_cut_into_their_parts() {
        let text =
            "a.b(x :: LIST<ANY>, y = [{*=c}, {}] :: MAP, z =  :: STRING) :: (v :: A, w :: B)";
        let read = Signature::read(text).expect("a signature");
        let part = |name, default, kind| Part {
            name,
            default,
            kind,
        };
        assert_eq!(read.name, "a.b");
        let wanted = [
            part("x", None, "LIST<ANY>"),
            part("y", Some("[{*=c}, {}]"), "MAP"),
            part("z", Some(""), "STRING"),
        ];
        assert_eq!(read.arguments, wanted);
        assert_eq!(read.columns(), [part("v", None, "A"), part("w", None, "B")]);
        let read = Signature::read("f(x :: INTEGER | FLOAT) :: INTEGER | FLOAT").expect("one");
        assert_eq!(read.returns, "INTEGER | FLOAT");
        assert!(read.columns().is_empty());
        assert_eq!(Signature::read("p()").expect("one").returns, "");
        assert_eq!(Signature::read("none"), None);
    }
}
