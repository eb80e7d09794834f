//! What a search of `apoc.path.*` is told: which relationships, which labels, how far.
//!
//! # Source
//! The forms of `relationshipFilter` and `labelFilter` are those of APOC 5: `KNOWS>|<LIKES|OWNS`,
//! and labels behind `+` (may be passed), `-` (never), `>` (a path may end there) and `/` (a path
//! ends there). Filters between commas hold for one step each, in turn; `sequence` has those of
//! labels and of relationships in turn.

use graven_exec::Value;
use graven_types::told;

use super::super::Rows;
use super::path_filters::{InTurn, Labels, Relations, has};

/// Which nodes and relationships occur in a path, or in all paths, once at most.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Once {
    /// Relationships of a path.
    Relationship,
    /// Nodes of a path.
    Node,
    /// Nodes of all paths together.
    NodeOfAll,
    /// Relationships of all paths together.
    RelationshipOfAll,
    /// Nothing.
    Never,
}

/// What may be done at a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fate {
    /// A path that ends here is given.
    pub(super) given: bool,
    /// Paths go on from here.
    pub(super) passed: bool,
}

/// See the file header.
pub(super) struct Search {
    relations: InTurn<Relations>,
    labels: InTurn<Labels>,
    /// Whether labels count from the start on, not from the node behind it.
    labels_from_start: bool,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) limit: u64,
    pub(super) once: Once,
    pub(super) filters_start: bool,
    /// One row of null where nothing is found.
    optional: bool,
    ends: Option<Vec<Value>>,
    last: Option<Vec<Value>>,
    allowed: Option<Vec<Value>>,
    denied: Vec<Value>,
}

fn number(value: Option<&Value>, usual: u64, what: &str) -> Result<u64, String> {
    match value {
        None | Some(Value::Null) => Ok(usual),
        Some(Value::Integer(number)) if *number < 0 => Ok(usual),
        Some(Value::Integer(number)) => Ok(number.unsigned_abs()),
        Some(other) => Err(told!("{what} is an Integer, not {}", other.type_name())),
    }
}

fn words<'a>(value: Option<&'a Value>, what: &str) -> Result<&'a str, String> {
    match value {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(told!("{what} is a String, not {}", other.type_name())),
    }
}

impl Search {
    /// That of `expand(start, relationships, labels, least, most)`.
    pub(super) fn of_arguments(args: &[Value]) -> Result<Self, String> {
        let mut search = Search::new(
            Relations::in_turn(words(args.get(1), "relFilter")?, true),
            Labels::in_turn(words(args.get(2), "labels")?),
        );
        search.least = number(args.get(3), 0, "minDepth")?;
        search.most = number(args.get(4), u64::MAX, "maxDepth")?;
        Ok(search)
    }

    /// That of a configuration.
    pub(super) fn of_config(config: Option<&Value>, once: Once) -> Result<Self, String> {
        const KNOWN: &[&str] = &[
            "minLevel",
            "maxLevel",
            "relationshipFilter",
            "labelFilter",
            "sequence",
            "beginSequenceAtStart",
            "uniqueness",
            "bfs",
            "filterStartNode",
            "limit",
            "optional",
            "endNodes",
            "terminatorNodes",
            "allowlistNodes",
            "denylistNodes",
            "whitelistNodes",
            "blacklistNodes",
        ];
        let empty = graven_exec::Map::default();
        let config = match config {
            None | Some(Value::Null) => &empty,
            Some(Value::Map(map)) => map,
            Some(other) => return Err(told!("config is a Map, not {}", other.type_name())),
        };
        let mut names = config.entries().iter().map(|(name, _)| &**name);
        if let Some(name) = names.find(|name| !KNOWN.contains(name)) {
            let known = KNOWN.join(", ");
            return Err(told!("there is no option {name}; there are {known}"));
        }
        let from_start = config.get("beginSequenceAtStart") != Some(&Value::Boolean(false));
        let sequence = words(config.get("sequence"), "sequence")?;
        let mut search = match sequence.trim().is_empty() {
            false => Search::of_sequence(sequence, from_start),
            true => Search::new(
                Relations::in_turn(
                    words(config.get("relationshipFilter"), "relationshipFilter")?,
                    from_start,
                ),
                Labels::in_turn(words(config.get("labelFilter"), "labelFilter")?),
            ),
        };
        search.labels_from_start = from_start;
        search.least = number(config.get("minLevel"), 0, "minLevel")?;
        search.most = number(config.get("maxLevel"), u64::MAX, "maxLevel")?;
        search.limit = number(config.get("limit"), u64::MAX, "limit")?;
        search.optional = config.get("optional") == Some(&Value::Boolean(true));
        search.filters_start = config.get("filterStartNode") == Some(&Value::Boolean(true));
        search.once = match words(config.get("uniqueness"), "uniqueness")? {
            "" => once,
            "RELATIONSHIP_PATH" => Once::Relationship,
            "NODE_PATH" => Once::Node,
            "NODE_GLOBAL" => Once::NodeOfAll,
            "RELATIONSHIP_GLOBAL" => Once::RelationshipOfAll,
            "NONE" => Once::Never,
            other => {
                return Err(told!(
                    "uniqueness {other} is not available; there are RELATIONSHIP_PATH, NODE_PATH, \
                        NODE_GLOBAL, RELATIONSHIP_GLOBAL and NONE"
                ));
            }
        };
        if search.once == Once::Never && search.most == u64::MAX && search.limit == u64::MAX {
            return Err("uniqueness NONE needs maxLevel or limit: paths have no end".to_owned());
        }
        if config.get("bfs") == Some(&Value::Boolean(false)) && search.limit != u64::MAX {
            return Err(
                "bfs: false with a limit is not available; paths come by length".to_owned(),
            );
        }
        let nodes = |names: &[&str]| {
            let found = names.iter().find_map(|name| config.get(name));
            match found {
                None | Some(Value::Null) => None,
                Some(Value::List(items)) => Some(items.to_vec()),
                Some(single) => Some(vec![single.clone()]),
            }
        };
        search.ends = nodes(&["endNodes"]);
        search.last = nodes(&["terminatorNodes"]);
        search.allowed = nodes(&["allowlistNodes", "whitelistNodes"]);
        search.denied = nodes(&["denylistNodes", "blacklistNodes"]).unwrap_or_default();
        Ok(search)
    }

    /// All simple paths to one node, of so many relationships at most.
    pub(super) fn between(relationships: &str, end: &Value, most: u64) -> Self {
        let mut search = Search::new(Relations::in_turn(relationships, true), Labels::in_turn(""));
        search.once = Once::Node;
        search.most = most;
        search.filters_start = true;
        search.last = Some(vec![end.clone()]);
        search
    }

    /// Labels and relationships in turn, from the start on or from the first relationship.
    fn of_sequence(sequence: &str, from_start: bool) -> Self {
        let parts = |first: usize| -> Vec<&str> {
            let parts = sequence.split(',').enumerate();
            let own = parts.filter(|(at, _)| at % 2 == first);
            own.map(|(_, part)| part).collect()
        };
        let (labels, relations) = match from_start {
            true => (parts(0), parts(1)),
            false => (parts(1), parts(0)),
        };
        Search::new(
            Relations::in_turn(&relations.join(","), from_start),
            Labels::in_turn(&labels.join(",")),
        )
    }

    fn new(relations: InTurn<Relations>, labels: InTurn<Labels>) -> Self {
        Search {
            relations,
            labels,
            labels_from_start: true,
            least: 0,
            most: u64::MAX,
            limit: u64::MAX,
            once: Once::Relationship,
            filters_start: false,
            optional: false,
            ends: None,
            last: None,
            allowed: None,
            denied: Vec::new(),
        }
    }

    /// A statement that finds, for nodes of `$from`, the relationships `r` of the step that makes
    /// paths so long, and the nodes `m` behind them, with the labels of these if they matter.
    pub(super) fn step(&self, length: u64) -> String {
        let labels = match self.needs_labels() {
            true => "labels(m)",
            false => "null",
        };
        let parts = self.relations.at(length - 1).patterns();
        let parts = parts.map(|pattern| format!("MATCH {pattern} RETURN r, m"));
        let parts = parts.collect::<Vec<_>>().join(" UNION ");
        format!(
            "UNWIND $from AS i MATCH (n) WHERE id(n) = i CALL (n) {{ {parts} }} \
                RETURN i, r, m, {labels} AS labels"
        )
    }

    /// What was found; one null if that is nothing and the search says so.
    pub(super) fn or_null(&self, mut rows: Rows) -> Rows {
        if rows.is_empty() && self.optional {
            rows.push(vec![Value::Null]);
        }
        rows
    }

    pub(super) fn needs_labels(&self) -> bool {
        self.labels.any(|own| !own.is_empty())
    }

    /// What may be done at a node with these labels, at the end of a path so long; `None`: no path
    /// comes here.
    pub(super) fn fate(&self, node: &Value, labels: &[Value], length: u64) -> Option<Fate> {
        // If one step names ends, no other node is one.
        let only_ends = self.labels.any(|own| own.names_ends());
        if length == 0 && !(self.filters_start && self.labels_from_start) {
            let only = self.ends.is_some() || self.last.is_some() || only_ends;
            return Some(Fate {
                given: !only,
                passed: true,
            });
        }
        let own = self.labels.at(match self.labels_from_start {
            true => length,
            false => length - 1,
        });
        let (last, end) = (has(&own.last, labels), has(&own.ends, labels));
        if has(&own.never, labels) || self.denied.contains(node) {
            return None;
        }
        let of_nodes = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|l| l.contains(node));
        let (last_node, end_node) = (of_nodes(&self.last), of_nodes(&self.ends));
        let allowed_label = own.passed.is_empty() || has(&own.passed, labels) || last || end;
        let allowed_node = match &self.allowed {
            None => true,
            Some(_) => of_nodes(&self.allowed) || last_node || end_node,
        };
        if !allowed_label || !allowed_node {
            return None;
        }
        let by_label = !only_ends || last || end;
        let by_node = (self.last.is_none() && self.ends.is_none()) || last_node || end_node;
        Some(Fate {
            given: by_label && by_node,
            // Nothing ends a path that is too short to be given.
            passed: length < self.least || !(last || last_node),
        })
    }
}
