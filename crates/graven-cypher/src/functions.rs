//! The function table: every scalar function of the language, its arity, its types and whether this
//! build evaluates it.
//!
//! # How it works
//! The binder looks names up here (case-insensitively, with namespaces joined by dots) and refuses
//! what is unknown, called with the wrong number of arguments, or not available. The executor
//! implements exactly the entries whose [`Function::availability`] is [`Availability::Available`]
//! or [`Availability::Internal`]; aggregates are not here, they become
//! [`crate::plan::AggregateFunction`].
//!
//! # Invariants
//! * CY-30 Names in the table are lower case, sorted and unique; [`crate::plan::Expr::Call`]
//!   carries them so.

mod apoc;
mod table;

use crate::types::TypeSet;

/// All functions, sorted by lower-case name.
pub const FUNCTIONS: &[Function] =
    &merged::<{ table::LANGUAGE.len() + apoc::APOC.len() }>(table::LANGUAGE, apoc::APOC);

/// Two sorted tables as one.
const fn merged<const N: usize>(a: &[Function], b: &[Function]) -> [Function; N] {
    let mut all = [a[0]; N];
    let (mut of_a, mut of_b) = (0, 0);
    while of_a + of_b < N {
        let at = of_a + of_b;
        if of_b == b.len() || (of_a < a.len() && is_before(a[of_a].name, b[of_b].name)) {
            all[at] = a[of_a];
            of_a += 1;
        } else {
            all[at] = b[of_b];
            of_b += 1;
        }
    }
    all
}

const fn is_before(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] != b[at] {
            return a[at] < b[at];
        }
        at += 1;
    }
    a.len() < b.len()
}

/// Whether a function can be called in this build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Availability {
    /// The executor evaluates it.
    Available,
    /// Written by the planner only; not a name users can call.
    Internal,
}

/// One function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Lower-case name, the one that plans carry.
    pub name: &'static str,
    /// Name as documented.
    pub display: &'static str,
    /// Fewest arguments.
    pub args_min: u8,
    /// Most arguments; 255 means any number.
    pub args_max: u8,
    /// What the first argument may be.
    pub first: TypeSet,
    /// What it returns.
    pub returns: TypeSet,
    /// What the elements are if it returns a list.
    pub element: TypeSet,
    /// Whether it can be called.
    pub availability: Availability,
    /// Equal arguments give equal results within a statement.
    pub deterministic: bool,
}

/// Name of the internal function behind map projections: merges maps, later ones win; null maps are
/// skipped.
pub const MERGE_MAPS: &str = "graven.merge_maps";

/// Notes a row that is left out: its source, a label, the key and its value; an empty map.
pub(crate) const LEFT_OUT: &str = "graven.leftOut";

/// Name of the internal function behind `a || b`.
pub(crate) const CONCATENATE: &str = "graven.concatenate";

/// Name of the internal function behind `%`: whether a node has any label; every relationship has a
/// type.
pub(crate) const IS_LABELED: &str = "graven.is_labeled";

/// Names of the internal functions behind `$(names)` and `$any(names)`: whether a node or
/// relationship has all, or one, of the labels or types that a text or a list of texts names.
pub(crate) const HAS_ALL_LABELS: &str = "graven.has_all_labels";
pub(crate) const HAS_ANY_LABEL: &str = "graven.has_any_label";

/// Name of the function behind `x IS NFC NORMALIZED`: a value and the name of a normal form.
pub(crate) const IS_NORMALIZED: &str = "graven.is_normalized";

/// Name of the function behind `x IS :: TYPE`: a value and the text of a type.
pub(crate) const IS_TYPED: &str = "graven.is_typed";
/// `nextval(name)`: advances a sequence, so that a statement with it writes.
pub(crate) const NEXT_VALUE: &str = "graven.nextvalue";

/// `typeof(x)` of Kuzu.
pub(crate) const TYPE_OF: &str = "graven.typeof";

/// Names of the aggregates, as documented.
pub const AGGREGATES: &[&str] = &[
    "avg",
    "collect",
    "count",
    "max",
    "min",
    "percentileCont",
    "percentileDisc",
    "stDev",
    "stDevP",
    "sum",
];

/// The function of that name, in any case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Function> {
    let lower = name.to_ascii_lowercase();
    FUNCTIONS
        .binary_search_by(|f| f.name.cmp(lower.as_str()))
        .ok()
        .map(|idx| &FUNCTIONS[idx])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_lower_case() {
        for pair in FUNCTIONS.windows(2) {
            assert!(
                pair[0].name < pair[1].name,
                "CY-30: {} before {}",
                pair[0].name,
                pair[1].name
            );
        }
        for f in FUNCTIONS {
            assert_eq!(f.display.to_ascii_lowercase(), f.name, "CY-30");
            assert!(f.args_min <= f.args_max);
            assert_eq!(find(f.display).map(|g| g.name), Some(f.name));
        }
    }
}
