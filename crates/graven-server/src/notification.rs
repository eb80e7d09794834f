//! Notices under the names that drivers know: code, title, severity and category of Neo4j 5.

/// How clients are told of a notice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Notification<'a> {
    pub(crate) code: &'a str,
    pub(crate) title: &'a str,
    pub(crate) severity: &'static str,
    pub(crate) category: &'static str,
}

/// Graven's code, and Neo4j's code, title, severity and category.
type Known = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const DEPRECATED: &str = "This feature is deprecated and will be removed in future versions.";

const KNOWN: &[Known] = &[
    (
        "UnknownLabel",
        "UnknownLabelWarning",
        "The provided label is not in the database.",
        "WARNING",
        "UNRECOGNIZED",
    ),
    (
        "UnknownRelationshipType",
        "UnknownRelationshipTypeWarning",
        "The provided relationship type is not in the database.",
        "WARNING",
        "UNRECOGNIZED",
    ),
    (
        "UnknownPropertyKey",
        "UnknownPropertyKeyWarning",
        "The provided property key is not in the database",
        "WARNING",
        "UNRECOGNIZED",
    ),
    (
        "CartesianProduct",
        "CartesianProduct",
        "This query builds a cartesian product between disconnected patterns.",
        "INFORMATION",
        "PERFORMANCE",
    ),
    (
        "DeprecatedUnionOrder",
        "FeatureDeprecationWarning",
        DEPRECATED,
        "WARNING",
        "DEPRECATION",
    ),
    (
        "DeprecatedReferenceInCreate",
        "FeatureDeprecationWarning",
        DEPRECATED,
        "WARNING",
        "DEPRECATION",
    ),
];

/// How a notice of this code is told; one that Neo4j has no name for keeps its own.
pub(crate) fn of(code: &str) -> Notification<'_> {
    let mut all = KNOWN.iter();
    match all.find(|(own, ..)| *own == code) {
        Some((_, code, title, severity, category)) => Notification {
            code,
            title,
            severity,
            category,
        },
        None => Notification {
            code,
            title: code,
            severity: "INFORMATION",
            category: "GENERIC",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_have_the_names_that_drivers_know() {
        let unknown = of("UnknownLabel");
        assert_eq!(unknown.code, "UnknownLabelWarning");
        assert_eq!(
            (unknown.severity, unknown.category),
            ("WARNING", "UNRECOGNIZED")
        );
        let product = of("CartesianProduct");
        assert_eq!(
            (product.severity, product.category),
            ("INFORMATION", "PERFORMANCE")
        );
        assert_eq!(of("HintNotUsed").code, "HintNotUsed");
    }
}
