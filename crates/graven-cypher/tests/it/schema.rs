//! A schema for tests: a social network with persons, places, tags, forums and posts.

use graven_cypher::{IndexView, Named, ProcedureView, SchemaView, TypeSet};

/// The schema.
pub(crate) struct Social;

const LABELS: &[(&str, u64)] = &[
    ("Person", 10_000),
    ("City", 1_000),
    ("Country", 100),
    ("Place", 1_100),
    ("Tag", 16_000),
    ("Forum", 90_000),
    ("Post", 1_000_000),
    ("Message", 3_000_000),
    ("Comment", 2_000_000),
];

/// Type, start label, end label, count.
const TYPES: &[(&str, &str, &str, u64)] = &[
    ("KNOWS", "Person", "Person", 180_000),
    ("IS_LOCATED_IN", "Person", "City", 10_000),
    ("IS_PART_OF", "City", "Country", 1_000),
    ("HAS_INTEREST", "Person", "Tag", 230_000),
    ("HAS_CREATOR", "Message", "Person", 3_000_000),
    ("HAS_TAG", "Message", "Tag", 3_500_000),
    ("REPLY_OF", "Comment", "Message", 2_000_000),
    ("HAS_MEMBER", "Forum", "Person", 3_400_000),
    ("CONTAINER_OF", "Forum", "Post", 1_000_000),
];

const KEYS: &[&str] = &[
    "id",
    "firstName",
    "lastName",
    "name",
    "creationDate",
    "birthday",
    "joinDate",
    "age",
];

impl SchemaView for Social {
    fn is_called(&self, name: &str) -> bool {
        name == "neo4j"
    }

    fn node_count(&self) -> u64 {
        3_127_000
    }

    fn label_count(&self, label: &str) -> Option<u64> {
        LABELS
            .iter()
            .find(|(name, _)| *name == label)
            .map(|(_, count)| *count)
    }

    fn type_count(&self, rel_type: &str) -> Option<u64> {
        TYPES.iter().find(|t| t.0 == rel_type).map(|t| t.3)
    }

    fn relationship_count(&self) -> u64 {
        TYPES.iter().map(|t| t.3).sum()
    }

    fn pattern_count(&self, start: Option<&str>, rel_type: Option<&str>, end: Option<&str>) -> u64 {
        let fits = |wanted: Option<&str>, have: &str| wanted.is_none_or(|w| w == have);
        TYPES
            .iter()
            .filter(|t| fits(rel_type, t.0) && fits(start, t.1) && fits(end, t.2))
            .map(|t| t.3)
            .sum()
    }

    fn knows_key(&self, key: &str) -> bool {
        KEYS.contains(&key)
    }

    fn index(&self, label: &str, key: &str) -> Option<IndexView> {
        let count = self.label_count(label)?;
        match (label, key) {
            ("Person" | "City" | "Country" | "Tag" | "Forum" | "Message", "id") => {
                Some(IndexView {
                    unique: true,
                    distinct: count,
                })
            }
            ("Person", "firstName") => Some(IndexView {
                unique: false,
                distinct: 500,
            }),
            _ => None,
        }
    }

    fn names(&self, of: Named) -> Vec<String> {
        let names: Vec<&str> = match of {
            Named::Label => LABELS.iter().map(|l| l.0).collect(),
            Named::RelationshipType => TYPES.iter().map(|t| t.0).collect(),
            Named::PropertyKey => KEYS.to_vec(),
        };
        names.into_iter().map(str::to_owned).collect()
    }

    fn procedure(&self, name: &str) -> Option<ProcedureView> {
        let (arguments, columns) = match name {
            "test.my.proc" => (
                vec![
                    ("name".to_owned(), TypeSet::STRING),
                    ("id".to_owned(), TypeSet::INTEGER),
                ],
                vec![
                    ("city".to_owned(), TypeSet::STRING),
                    ("country_code".to_owned(), TypeSet::INTEGER),
                ],
            ),
            "graven.cache.resize" => (
                vec![("size".to_owned(), TypeSet::STRING)],
                vec![("bytes".to_owned(), TypeSet::INTEGER)],
            ),
            _ => return None,
        };
        Some(ProcedureView {
            writes: false,
            arguments,
            optional: 0,
            columns,
        })
    }
}
