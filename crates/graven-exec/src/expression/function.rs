//! The registry of scalar functions: name, number of arguments, body.

use crate::expression::signature::{Callable, Function};
use std::collections::HashMap;
use std::sync::OnceLock;

use super::functions;

/// The function of this lower-case name.
pub(crate) fn lookup(name: &str) -> Option<&'static Callable> {
    static TABLE: OnceLock<HashMap<&'static str, Callable>> = OnceLock::new();
    TABLE
        .get_or_init(|| all().map(|f| (f.name, Callable::of(f))).collect())
        .get(name)
}

/// All functions.
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    [
        functions::apoc::coll::FUNCTIONS,
        functions::apoc::agg::FUNCTIONS,
        functions::apoc::coll_numbers::FUNCTIONS,
        functions::apoc::coll_parts::FUNCTIONS,
        functions::apoc::compress::FUNCTIONS,
        functions::apoc::convert::FUNCTIONS,
        functions::apoc::cypher_text::FUNCTIONS,
        functions::apoc::date::FUNCTIONS,
        functions::apoc::digest::FUNCTIONS,
        functions::apoc::entity::FUNCTIONS,
        functions::apoc::exact::FUNCTIONS,
        functions::apoc::fingerprint::FUNCTIONS,
        functions::apoc::url::FUNCTIONS,
        functions::apoc::xml::FUNCTIONS,
        functions::apoc::graph::FUNCTIONS,
        functions::apoc::likeness::FUNCTIONS,
        functions::apoc::map::FUNCTIONS,
        functions::apoc::math::FUNCTIONS,
        functions::apoc::metaphone::FUNCTIONS,
        functions::apoc::neighbours::FUNCTIONS,
        functions::apoc::number::FUNCTIONS,
        functions::apoc::regular::FUNCTIONS,
        functions::apoc::schema::FUNCTIONS,
        functions::apoc::standing::FUNCTIONS,
        functions::apoc::text::FUNCTIONS,
        functions::apoc::text_format::FUNCTIONS,
        functions::blob::FUNCTIONS,
        functions::cast::FUNCTIONS,
        functions::graph::FUNCTIONS,
        functions::json::FUNCTIONS,
        functions::list::FUNCTIONS,
        functions::number::FUNCTIONS,
        functions::places::FUNCTIONS,
        functions::sequence::FUNCTIONS,
        functions::kuzu_type::FUNCTIONS,
        functions::text::FUNCTIONS,
        functions::convert::FUNCTIONS,
        functions::types::FUNCTIONS,
        functions::spatial::FUNCTIONS,
        functions::vector::FUNCTIONS,
        functions::wide::FUNCTIONS,
        functions::temporal::FUNCTIONS,
        functions::temporal::DATE,
        functions::temporal::LOCAL_TIME,
        functions::temporal::TIME,
        functions::temporal::LOCAL_DATE_TIME,
        functions::temporal::DATE_TIME,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use graven_cypher::functions::FUNCTIONS;

    use super::*;
    use crate::expression::signature::MANY;

    /// The binder's table and this one agree: what the binder lets through is here, with the same
    /// arity.
    #[test]
    fn every_function_the_binder_knows_as_available_is_here() {
        for known in FUNCTIONS {
            let here = lookup(known.name);
            // `exists` never reaches the executor: the binder turns it into other expressions.
            if known.name == "exists" {
                continue;
            }
            let here = here.unwrap_or_else(|| panic!("`{}` is missing", known.name));
            let most = if known.args_max == u8::MAX {
                MANY
            } else {
                usize::from(known.args_max)
            };
            let arity = (usize::from(known.args_min), most);
            assert_eq!(here.arity, arity, "`{}`", known.name);
        }
        for here in all() {
            assert!(
                FUNCTIONS.iter().any(|known| known.name == here.name),
                "the binder does not know `{}`",
                here.name
            );
        }
    }
}
