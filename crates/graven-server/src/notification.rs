//! Notices and outcomes under the names that drivers know: Neo4j's codes, titles, severities and
//! categories, and the statuses of GQL.
//!
//! # How it works
//! A client may say that it wants no notices below a severity, or none of some categories: for all
//! that it does, or for a transaction.
//!
//! # Source
//! Neo4j 5.26: status codes for notifications, GQLSTATUS codes of successes, warnings and
//! information (ISO/IEC 39075).

use std::collections::{BTreeMap, BTreeSet};

use graven::{Notice, Value};

use crate::Version;
use crate::message::{Map, entry};

/// A kind of notice.
#[derive(Debug, PartialEq, Eq)]
struct Kind {
    /// Graven's code.
    own: &'static str,
    /// The end of Neo4j's.
    code: &'static str,
    title: &'static str,
    severity: Severity,
    category: &'static str,
    gql: &'static str,
    /// What the status says, before what the notice says.
    condition: &'static str,
}

/// How much a notice matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Severity {
    Information,
    Warning,
    /// More than any notice.
    Off,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Information => "INFORMATION",
            Severity::Warning => "WARNING",
            Severity::Off => "OFF",
        }
    }
}

const DEPRECATED: &str = "This feature is deprecated and will be removed in future versions.";

const KINDS: &[Kind] = &[
    Kind {
        own: "UnknownLabel",
        code: "UnknownLabelWarning",
        title: "The provided label is not in the database.",
        severity: Severity::Warning,
        category: "UNRECOGNIZED",
        gql: "01N50",
        condition: "warn: unknown label.",
    },
    Kind {
        own: "UnknownRelationshipType",
        code: "UnknownRelationshipTypeWarning",
        title: "The provided relationship type is not in the database.",
        severity: Severity::Warning,
        category: "UNRECOGNIZED",
        gql: "01N51",
        condition: "warn: unknown relationship type.",
    },
    Kind {
        own: "UnknownPropertyKey",
        code: "UnknownPropertyKeyWarning",
        title: "The provided property key is not in the database",
        severity: Severity::Warning,
        category: "UNRECOGNIZED",
        gql: "01N52",
        condition: "warn: unknown property key.",
    },
    Kind {
        own: "CartesianProduct",
        code: "CartesianProduct",
        title: "This query builds a cartesian product between disconnected patterns.",
        severity: Severity::Information,
        category: "PERFORMANCE",
        gql: "03N90",
        condition: "info: cartesian product.",
    },
    Kind {
        own: "DeprecatedUnionOrder",
        code: "FeatureDeprecationWarning",
        title: DEPRECATED,
        severity: Severity::Warning,
        category: "DEPRECATION",
        gql: "01N00",
        condition: "warn: feature deprecated.",
    },
    Kind {
        own: "DeprecatedReferenceInCreate",
        code: "FeatureDeprecationWarning",
        title: DEPRECATED,
        severity: Severity::Warning,
        category: "DEPRECATION",
        gql: "01N00",
        condition: "warn: feature deprecated.",
    },
    Kind {
        own: "DeprecatedSubqueryScope",
        code: "FeatureDeprecationWarning",
        title: DEPRECATED,
        severity: Severity::Warning,
        category: "DEPRECATION",
        gql: "01N00",
        condition: "warn: feature deprecated.",
    },
    Kind {
        own: "DeprecatedPropertiesOf",
        code: "FeatureDeprecationWarning",
        title: DEPRECATED,
        severity: Severity::Warning,
        category: "DEPRECATION",
        gql: "01N01",
        condition: "warn: feature deprecated with replacement.",
    },
    Kind {
        own: "DeprecatedTypeColon",
        code: "FeatureDeprecationWarning",
        title: DEPRECATED,
        severity: Severity::Warning,
        category: "DEPRECATION",
        gql: "01N01",
        condition: "warn: feature deprecated with replacement.",
    },
    Kind {
        own: "SubqueryVariableShadowing",
        code: "SubqueryVariableShadowing",
        title: "Variable in subquery is shadowing a variable with the same name from the outer scope.",
        severity: Severity::Information,
        category: "GENERIC",
        gql: "03N60",
        condition: "info: subquery variable shadowing.",
    },
    Kind {
        own: "RedundantOptionalSubquery",
        code: "RedundantOptionalSubquery",
        title: "The use of `OPTIONAL` is redundant when `CALL` is a unit subquery.",
        severity: Severity::Information,
        category: "GENERIC",
        gql: "03N62",
        condition: "info: redundant optional subquery.",
    },
    Kind {
        own: "RedundantOptionalProcedure",
        code: "RedundantOptionalProcedure",
        title: "The use of `OPTIONAL` is redundant when `CALL` is a void procedure.",
        severity: Severity::Information,
        category: "GENERIC",
        gql: "03N61",
        condition: "info: redundant optional procedure.",
    },
    Kind {
        own: "UnsatisfiableRelationshipType",
        code: "UnsatisfiableRelationshipTypeExpression",
        title: "The query contains a relationship type expression that cannot be satisfied.",
        severity: Severity::Warning,
        category: "GENERIC",
        gql: "01N61",
        condition: "warn: unsatisfiable relationship type expression.",
    },
    Kind {
        own: "DeprecatedFunction",
        code: "FeatureDeprecationWarning",
        title: DEPRECATED,
        severity: Severity::Warning,
        category: "DEPRECATION",
        gql: "01N02",
        condition: "warn: feature deprecated without replacement.",
    },
    Kind {
        own: "DeprecatedFunctionReplaced",
        code: "FeatureDeprecationWarning",
        title: DEPRECATED,
        severity: Severity::Warning,
        category: "DEPRECATION",
        gql: "01N01",
        condition: "warn: feature deprecated with replacement.",
    },
    Kind {
        own: "UnboundedShortestPath",
        code: "UnboundedVariableLengthPattern",
        title: "A search for shortest paths has no upper bound.",
        severity: Severity::Information,
        category: "PERFORMANCE",
        gql: "03N91",
        condition: "info: unbounded variable length pattern.",
    },
    Kind {
        own: "ExhaustiveShortestPath",
        code: "ExhaustiveShortestPath",
        title: "A search for shortest paths may look at all paths.",
        severity: Severity::Information,
        category: "PERFORMANCE",
        gql: "03N92",
        condition: "info: exhaustive shortest path.",
    },
    Kind {
        own: "ParameterNotProvided",
        code: "ParameterNotProvided",
        title: "A parameter of the statement was not given.",
        severity: Severity::Warning,
        category: "GENERIC",
        gql: "01N60",
        condition: "warn: parameter missing.",
    },
    Kind {
        own: "HintedIndexNotFound",
        code: "Schema.HintedIndexNotFound",
        title: "A hint asks for an index that does not exist.",
        severity: Severity::Warning,
        category: "HINT",
        gql: "01N31",
        condition: "warn: hinted index does not exist.",
    },
    Kind {
        own: "IndexOrConstraintAlreadyExists",
        code: "Schema.IndexOrConstraintAlreadyExists",
        title: "The command has no effect: the index or constraint is there already.",
        severity: Severity::Information,
        category: "SCHEMA",
        gql: "00NA0",
        condition: "note: successful completion - index or constraint already exists.",
    },
    Kind {
        own: "IndexOrConstraintDoesNotExist",
        code: "Schema.IndexOrConstraintDoesNotExist",
        title: "The command has no effect: there is no such index or constraint.",
        severity: Severity::Information,
        category: "SCHEMA",
        gql: "00NA1",
        condition: "note: successful completion - index or constraint does not exist.",
    },
];

/// One that Neo4j has no name for.
const OTHER: Kind = Kind {
    own: "",
    code: "",
    title: "",
    severity: Severity::Information,
    category: "GENERIC",
    gql: "03N42",
    condition: "info: unknown notification.",
};

fn kind(own: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.own == own).unwrap_or(&OTHER)
}

/// Which notices a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    least: Severity,
    without: Vec<&'static str>,
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            least: Severity::Information,
            without: Vec::new(),
        }
    }
}

impl Filter {
    /// The same, but for what these options say; versions before 5.2 know none.
    pub(crate) fn with(&self, version: Version, options: &Map) -> Filter {
        let mut filter = self.clone();
        if version < Version(5, 2) {
            return filter;
        }
        match options
            .get("notifications_minimum_severity")
            .and_then(Value::as_str)
        {
            Some("OFF") => filter.least = Severity::Off,
            Some("WARNING") => filter.least = Severity::Warning,
            Some("INFORMATION") => filter.least = Severity::Information,
            _ => {}
        }
        // The second name is that of versions from 5.5 on.
        for name in [
            "notifications_disabled_categories",
            "notifications_disabled_classifications",
        ] {
            if let Some(Value::List(names)) = options.get(name) {
                // Of those that there are: a client may name any number.
                let kinds = KINDS.iter().chain([&OTHER]);
                let mut without: BTreeSet<_> = kinds.map(|kind| kind.category).collect();
                without.retain(|known| names.iter().any(|name| name.as_str() == Some(known)));
                filter.without = without.into_iter().collect();
            }
        }
        filter
    }

    fn wants(&self, kind: &Kind) -> bool {
        kind.severity >= self.least && !self.without.contains(&kind.category)
    }
}

/// The name that a notice is about, and what it says besides.
fn subject(message: &str) -> Option<(&str, &str)> {
    let (_, rest) = message.split_once('`')?;
    let (name, more) = rest.split_once("` in this database")?;
    Some((name, more))
}

/// A notice in Neo4j's words: as it is described, and as a status.
fn texts(notice: &Notice, kind: &Kind) -> (String, String) {
    let own = notice.message.as_str();
    let Some((name, more)) = subject(own) else {
        return (own.to_owned(), format!("{} {own}", kind.condition));
    };
    let (thing, missing) = match kind.own {
        "UnknownLabel" => ("labels", "label name"),
        "UnknownRelationshipType" => ("relationship types", "relationship type"),
        "UnknownPropertyKey" => ("property names", "property name"),
        _ => return (own.to_owned(), format!("{} {own}", kind.condition)),
    };
    let described = format!(
        "One of the {thing} in your query is not available in the database, make sure you didn't \
            misspell it or that the label is \
         available when you run this statement in your application (the missing {missing} is: \
         {name}){more}"
    );
    let what = match kind.own {
        "UnknownLabel" => "label",
        "UnknownRelationshipType" => "relationship type",
        _ => "property",
    };
    let status = format!(
        "{} The {what} `{name}` does not exist. Verify that the spelling is correct.",
        kind.condition
    );
    (described, status)
}

/// A place in the text of a statement.
pub(crate) fn position(text: &str, (line, column): (u32, u32)) -> Map {
    let lines = text.split_inclusive('\n').take(line as usize - 1);
    let before: usize = lines.map(|line| line.chars().count()).sum();
    let offset = before + column as usize - 1;
    Map::from([
        entry("offset", i64::try_from(offset).unwrap_or(i64::MAX)),
        entry("line", line),
        entry("column", column),
    ])
}

fn full_code(notice: &Notice, kind: &Kind) -> String {
    let code = match kind.code {
        "" => notice.code.as_str(),
        code => code,
    };
    match code.contains('.') {
        true => format!("Neo.ClientNotification.{code}"),
        false => format!("Neo.ClientNotification.Statement.{code}"),
    }
}

fn title<'a>(notice: &'a Notice, kind: &Kind) -> &'a str {
    match kind.title {
        "" => notice.code.as_str(),
        title => title,
    }
}

/// Notices as versions before 5.5 have them.
pub(crate) fn notifications(notices: &[Notice], filter: &Filter, text: &str) -> Vec<Value> {
    let wanted = wanted(notices, filter);
    let maps = wanted.map(|(notice, kind)| {
        let mut map = Map::from([
            entry("code", full_code(notice, kind)),
            entry("title", title(notice, kind)),
            entry("description", texts(notice, kind).0),
            entry("severity", kind.severity.name()),
            entry("category", kind.category),
        ]);
        map.extend(
            notice
                .position
                .map(|at| entry("position", position(text, at))),
        );
        Value::Map(map)
    });
    maps.collect()
}

fn wanted<'a>(
    notices: &'a [Notice],
    filter: &'a Filter,
) -> impl Iterator<Item = (&'a Notice, &'static Kind)> {
    let all = notices.iter().map(|notice| (notice, kind(&notice.code)));
    all.filter(|(_, kind)| filter.wants(kind))
}

/// What every status says of the operation.
pub(crate) fn record() -> Map {
    Map::from([
        entry("OPERATION", ""),
        entry("OPERATION_CODE", "0"),
        entry("CURRENT_SCHEMA", "/"),
    ])
}

/// Outcome and notices as statuses, from version 5.5 on; what is most important comes first.
pub(crate) fn statuses(
    notices: &[Notice],
    filter: &Filter,
    text: &str,
    (has_columns, had_rows): (bool, bool),
) -> Vec<Value> {
    let (gql, said) = match (has_columns, had_rows) {
        (_, true) => ("00000", "note: successful completion"),
        (true, false) => ("02000", "note: no data"),
        (false, false) => ("00001", "note: successful completion - omitted result"),
    };
    let outcome = Map::from([
        entry("gql_status", gql),
        entry("status_description", said),
        entry("diagnostic_record", record()),
    ]);
    let mut statuses = BTreeMap::from([((rank(gql), 0), outcome)]);
    for (number, (notice, kind)) in wanted(notices, filter).enumerate() {
        let mut about = record();
        about.extend([
            entry("_classification", kind.category),
            entry("_severity", kind.severity.name()),
        ]);
        about.extend(
            notice
                .position
                .map(|at| entry("_position", position(text, at))),
        );
        let (described, status) = texts(notice, kind);
        let status = Map::from([
            entry("gql_status", kind.gql),
            entry("status_description", status),
            entry("description", described),
            entry("neo4j_code", full_code(notice, kind)),
            entry("title", title(notice, kind)),
            entry("diagnostic_record", about),
        ]);
        statuses.insert((rank(kind.gql), number + 1), status);
    }
    statuses.into_values().map(Value::Map).collect()
}

/// No data comes before warnings, those before success, and that before information.
fn rank(gql: &str) -> u8 {
    match &gql[..2] {
        "02" => 0,
        "01" => 1,
        "00" => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    //! Goal: notices have the names, texts and places that drivers know; a filter leaves out what
    //! it says and nothing else.

    use super::*;

    fn notice(code: &str, message: &str) -> Notice {
        Notice {
            code: code.to_owned(),
            message: message.to_owned(),
            position: Some((2, 3)),
        }
    }

    fn text_at<'a>(value: &'a Value, name: &str) -> &'a str {
        let Value::Map(map) = value else {
            panic!("a map")
        };
        map[name].as_str().expect("text")
    }

    #[test]
    fn notices_have_the_names_that_drivers_know() {
        let notices = [
            notice("CartesianProduct", "two parts"),
            notice(
                "UnknownLabel",
                "no label `Nowher` in this database; did you mean `Nowhere`?",
            ),
            notice("HintNotUsed", "not used"),
        ];
        let text = "MATCH\n(\u{e4}:Nowher)";
        let told = notifications(&notices, &Filter::default(), text);
        assert_eq!(told.len(), 3);
        assert_eq!(
            text_at(&told[1], "code"),
            "Neo.ClientNotification.Statement.UnknownLabelWarning"
        );
        assert!(
            text_at(&told[1], "description")
                .ends_with("(the missing label name is: Nowher); did you mean `Nowhere`?")
        );
        let Value::Map(map) = &told[1] else { panic!() };
        let Value::Map(at) = &map["position"] else {
            panic!()
        };
        assert_eq!(at["offset"], 8.into());
        assert_eq!(text_at(&told[2], "title"), "HintNotUsed");
        let statuses = statuses(&notices, &Filter::default(), text, (true, true));
        let codes: Vec<&str> = statuses
            .iter()
            .map(|it| text_at(it, "gql_status"))
            .collect();
        assert_eq!(codes, ["01N50", "00000", "03N90", "03N42"]);
        assert_eq!(
            text_at(&statuses[0], "status_description"),
            "warn: unknown label. The label `Nowher` does not exist. Verify that the spelling is \
                correct."
        );
    }

    #[test]
    fn filters_leave_out_what_they_say() {
        let notices = [
            notice("CartesianProduct", "a"),
            notice("DeprecatedUnionOrder", "b"),
        ];
        let told = |filter: &Filter| notifications(&notices, filter, "a\nb  ").len();
        let all = Filter::default();
        let option = |name: &str, value: Value| Map::from([entry(name, value)]);
        let warning = option("notifications_minimum_severity", "WARNING".into());
        assert_eq!(all.with(Version(5, 1), &warning), all);
        let only_warnings = all.with(Version(5, 2), &warning);
        assert_eq!(told(&only_warnings), 1);
        let off = option("notifications_minimum_severity", "OFF".into());
        assert_eq!(told(&only_warnings.with(Version(5, 2), &off)), 0);
        let without = option(
            "notifications_disabled_categories",
            vec!["PERFORMANCE"].into(),
        );
        assert_eq!(told(&all.with(Version(5, 4), &without)), 1);
        let without = vec!["PERFORMANCE", "DEPRECATION"].into();
        let without = option("notifications_disabled_classifications", without);
        assert_eq!(told(&all.with(Version(5, 8), &without)), 0);
    }
}
