//! What a search of `apoc.path.*` is told: which relationships, which labels, how far.
//!
//! # Source
//! The forms of `relationshipFilter` and `labelFilter` are those of APOC 5: `KNOWS>|<LIKES|OWNS`,
//! and labels behind `+` (may be passed), `-` (never), `>` (a path may end there) and `/` (a path
//! ends there).

use std::sync::Arc;

use graven_exec::Value;

use super::super::contents::quoted;

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

/// Labels with what they are for.
#[derive(Default)]
struct Labels {
    passed: Vec<Vec<Arc<str>>>,
    never: Vec<Vec<Arc<str>>>,
    ends: Vec<Vec<Arc<str>>>,
    last: Vec<Vec<Arc<str>>>,
}

/// See the file header.
pub(super) struct Search {
    /// Types that are followed forwards, backwards, both ways: none of them at all means all types.
    forwards: Vec<Arc<str>>,
    backwards: Vec<Arc<str>>,
    both: Vec<Arc<str>>,
    any: (bool, bool, bool),
    labels: Labels,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) limit: u64,
    pub(super) once: Once,
    pub(super) filters_start: bool,
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
        Some(other) => Err(format!("{what} is an Integer, not {}", other.type_name())),
    }
}

fn words<'a>(value: Option<&'a Value>, what: &str) -> Result<&'a str, String> {
    match value {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("{what} is a String, not {}", other.type_name())),
    }
}

impl Search {
    /// That of `expand(start, relationships, labels, least, most)`.
    pub(super) fn of_arguments(args: &[Value]) -> Result<Self, String> {
        let mut search = Search::new(
            words(args.get(1), "relFilter")?,
            words(args.get(2), "labels")?,
        )?;
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
            Some(other) => return Err(format!("config is a Map, not {}", other.type_name())),
        };
        let mut names = config.entries().iter().map(|(name, _)| &**name);
        if let Some(name) = names.find(|name| !KNOWN.contains(name)) {
            let known = KNOWN.join(", ");
            return Err(format!("there is no option {name}; there are {known}"));
        }
        let relationships = words(config.get("relationshipFilter"), "relationshipFilter")?;
        let labels = words(config.get("labelFilter"), "labelFilter")?;
        let mut search = Search::new(relationships, labels)?;
        search.least = number(config.get("minLevel"), 0, "minLevel")?;
        search.most = number(config.get("maxLevel"), u64::MAX, "maxLevel")?;
        search.limit = number(config.get("limit"), u64::MAX, "limit")?;
        search.filters_start = config.get("filterStartNode") == Some(&Value::Boolean(true));
        search.once = match words(config.get("uniqueness"), "uniqueness")? {
            "" => once,
            "RELATIONSHIP_PATH" => Once::Relationship,
            "NODE_PATH" => Once::Node,
            "NODE_GLOBAL" => Once::NodeOfAll,
            "RELATIONSHIP_GLOBAL" => Once::RelationshipOfAll,
            "NONE" => Once::Never,
            other => {
                return Err(format!(
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

    fn new(relationships: &str, labels: &str) -> Result<Self, String> {
        let mut search = Search {
            forwards: Vec::new(),
            backwards: Vec::new(),
            both: Vec::new(),
            any: (false, false, relationships.trim().is_empty()),
            labels: Labels::default(),
            least: 0,
            most: u64::MAX,
            limit: u64::MAX,
            once: Once::Relationship,
            filters_start: false,
            ends: None,
            last: None,
            allowed: None,
            denied: Vec::new(),
        };
        if relationships.contains(',') || labels.contains(',') {
            return Err("filters that change from step to step are not available".to_owned());
        }
        for one in relationships
            .split('|')
            .map(str::trim)
            .filter(|one| !one.is_empty())
        {
            let (backwards, name) = match one.strip_prefix('<') {
                Some(rest) => (true, rest),
                None => (false, one),
            };
            let (forwards, name) = match name.strip_suffix('>') {
                Some(rest) => (true, rest),
                None => (false, name),
            };
            let (any, list) = match (forwards, backwards) {
                (true, false) => (&mut search.any.0, &mut search.forwards),
                (false, true) => (&mut search.any.1, &mut search.backwards),
                _ => (&mut search.any.2, &mut search.both),
            };
            match name {
                "" => *any = true,
                name => list.push(Arc::from(name.trim_start_matches(':'))),
            }
        }
        for one in labels
            .split('|')
            .map(str::trim)
            .filter(|one| !one.is_empty())
        {
            let own = &mut search.labels;
            let (list, names) = match one.as_bytes()[0] {
                b'-' => (&mut own.never, &one[1..]),
                b'>' => (&mut own.ends, &one[1..]),
                b'/' => (&mut own.last, &one[1..]),
                b'+' => (&mut own.passed, &one[1..]),
                _ => (&mut own.passed, one),
            };
            let names = names
                .split(':')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            list.push(names.map(Arc::from).collect());
        }
        Ok(search)
    }

    /// A statement that finds, for nodes of `$from`, relationships `r` and the nodes `m` behind
    /// them, with the labels of these if they matter.
    pub(super) fn step(&self) -> String {
        let labels = match self.needs_labels() {
            true => "labels(m)",
            false => "null",
        };
        let part = |any: bool, types: &[Arc<str>], ends: (&str, &str)| {
            let types: Vec<String> = types.iter().map(|name| quoted(name)).collect();
            let types = match any {
                true => String::new(),
                false => format!(":{}", types.join("|")),
            };
            let (before, behind) = ends;
            format!("MATCH (n){before}[r{types}]{behind}(m) RETURN r, m")
        };
        let mut parts = Vec::new();
        for (any, types, ends) in [
            (self.any.0, &self.forwards, ("-", "->")),
            (self.any.1, &self.backwards, ("<-", "-")),
            (self.any.2, &self.both, ("-", "-")),
        ] {
            if any || !types.is_empty() {
                parts.push(part(any, types, ends));
            }
        }
        let parts = parts.join(" UNION ");
        format!(
            "UNWIND $from AS i MATCH (n) WHERE id(n) = i CALL (n) {{ {parts} }} \
                RETURN i, r, m, {labels} AS labels"
        )
    }

    pub(super) fn needs_labels(&self) -> bool {
        let own = &self.labels;
        [&own.passed, &own.never, &own.ends, &own.last]
            .iter()
            .any(|list| !list.is_empty())
    }

    /// What may be done at a node with these labels; `None`: no path comes here.
    pub(super) fn fate(&self, node: &Value, labels: &[Value], is_start: bool) -> Option<Fate> {
        if is_start && !self.filters_start {
            let only_ends = !self.labels.ends.is_empty() || !self.labels.last.is_empty();
            let only = self.ends.is_some() || self.last.is_some() || only_ends;
            let given = !only || self.is_end(node);
            return Some(Fate {
                given,
                passed: true,
            });
        }
        let has = |list: &[Vec<Arc<str>>]| {
            let one = |name: &Arc<str>| {
                labels
                    .iter()
                    .any(|label| matches!(label, Value::String(own) if own == name))
            };
            list.iter().any(|names| names.iter().all(one))
        };
        let own = &self.labels;
        let (last, end) = (has(&own.last), has(&own.ends));
        if has(&own.never) || self.denied.contains(node) {
            return None;
        }
        let of_nodes = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|l| l.contains(node));
        let (last_node, end_node) = (of_nodes(&self.last), of_nodes(&self.ends));
        let allowed_label = own.passed.is_empty() || has(&own.passed) || last || end;
        let allowed_node = match &self.allowed {
            None => true,
            Some(_) => of_nodes(&self.allowed) || last_node || end_node,
        };
        if !allowed_label || !allowed_node {
            return None;
        }
        let by_label = (own.last.is_empty() && own.ends.is_empty()) || last || end;
        let by_node = (self.last.is_none() && self.ends.is_none()) || last_node || end_node;
        Some(Fate {
            given: by_label && by_node,
            passed: !last && !last_node,
        })
    }

    fn is_end(&self, node: &Value) -> bool {
        let mut lists = [&self.ends, &self.last].into_iter();
        lists.any(|list| list.as_ref().is_some_and(|list| list.contains(node)))
    }
}
