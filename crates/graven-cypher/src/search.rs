//! Full-text and vector indexes, which there are not: what to write in their place.
//!
//! # How it works
//! Commands that make such an index and procedures that ask one are refused, and the error says
//! what finds the same without it.

/// The kind of index that a procedure of this name asks.
pub(crate) fn kind_of_procedure(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let kinds = [
        ("db.index.fulltext.", "FULLTEXT"),
        ("db.index.vector.", "VECTOR"),
    ];
    let mut kinds = kinds.into_iter();
    kinds.find_map(|(prefix, kind)| name.starts_with(prefix).then_some(kind))
}

/// What finds the same without an index of this kind.
pub(crate) fn instead_of(kind: &str) -> &'static str {
    match kind {
        "VECTOR" => {
            "without one, `ORDER BY vector.similarity.cosine(n.key, $vector) DESC LIMIT 10` \
                compares all nodes"
        }
        _ => {
            "without one, `WHERE n.key CONTAINS 'text'` finds texts, with `CREATE TEXT INDEX` \
                faster"
        }
    }
}

#[cfg(test)]
mod tests {
    //! Goal: procedures of both kinds are known in any letter case, and others are not.

    use super::*;

    #[test]
    fn procedures_of_search_are_known() {
        let kind = kind_of_procedure("db.index.Vector.queryNodes");
        assert_eq!(kind, Some("VECTOR"));
        assert_eq!(
            kind_of_procedure("db.index.fulltext.queryRelationships"),
            Some("FULLTEXT")
        );
        assert_eq!(kind_of_procedure("db.indexes"), None);
        assert_ne!(instead_of("VECTOR"), instead_of("FULLTEXT"));
    }
}
