//! What Neo4j's tools ask of a server before they do anything: its version, settings, the routing
//! table.
//!
//! # How it works
//! The version is that of Neo4j whose language and protocol this build follows: tools decide by it
//! what they may send. Graven's own version is what `graven.version` says.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::Value;
use graven_types::told;

use super::entry::{Body, Field, Procedure};
use crate::instance::Instance;
use crate::right::Right;

type Rows = Result<Vec<Vec<Value>>, String>;

/// The version of Neo4j that this build follows.
const COMPATIBLE_WITH: &str = "5.26.0";

/// How long a routing table holds, in seconds.
const ROUTES_HOLD: i64 = 300;

const SETTINGS: &[Field] = &[
    ("name", TypeSet::STRING),
    ("description", TypeSet::STRING),
    ("value", TypeSet::STRING),
    ("dynamic", TypeSet::BOOLEAN),
    ("defaultValue", TypeSet::STRING),
    ("startupValue", TypeSet::STRING),
    ("explicitlySet", TypeSet::BOOLEAN),
    ("validValues", TypeSet::STRING),
];

const ROUTING: (&[Field], &[Field]) = (
    &[("context", TypeSet::MAP), ("database", TypeSet::STRING)],
    &[("ttl", TypeSet::INTEGER), ("servers", TypeSet::LIST)],
);

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    Procedure {
        name: "dbms.clientConfig",
        about: "settings that concern clients",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: SETTINGS,
        run: Body::OfDatabase(|db, _| Ok(settings(db).into_iter().map(listed).collect())),
    },
    Procedure {
        name: "dbms.cluster.routing.getRoutingTable",
        about: "the routing table: one server for all roles, at the address that the context names",
        arguments: ROUTING.0,
        optional: 1,
        right: Right::Read,
        columns: ROUTING.1,
        run: Body::OfDatabase(routes),
    },
    Procedure {
        name: "dbms.components",
        about: "the version of Neo4j that this build follows; graven.version has its own",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("name", TypeSet::STRING),
            ("versions", TypeSet::LIST),
            ("edition", TypeSet::STRING),
        ],
        run: Body::OfDatabase(components),
    },
    Procedure {
        name: "dbms.listConfig",
        about: "settings whose names contain a text",
        arguments: &[("searchString", TypeSet::STRING)],
        optional: 1,
        right: Right::Admin,
        columns: SETTINGS,
        run: Body::OfDatabase(list_config),
    },
    Procedure {
        name: "dbms.queryJmx",
        about: "nothing: counters are those of graven.cache.stats and graven.log.stats",
        arguments: &[("query", TypeSet::STRING)],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("name", TypeSet::STRING),
            ("description", TypeSet::STRING),
            ("attributes", TypeSet::MAP),
        ],
        run: Body::OfDatabase(|_, _| Ok(Vec::new())),
    },
    Procedure {
        name: "dbms.routing.getRoutingTable",
        about: "the routing table: one server for all roles, at the address that the context names",
        arguments: ROUTING.0,
        optional: 1,
        right: Right::Read,
        columns: ROUTING.1,
        run: Body::OfDatabase(routes),
    },
    Procedure {
        name: "graven.show.servers",
        about: "SHOW SERVERS",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("name", TypeSet::STRING),
            ("address", TypeSet::STRING),
            ("state", TypeSet::STRING),
            ("health", TypeSet::STRING),
            ("hosting", TypeSet::LIST),
        ],
        run: Body::OfDatabase(servers),
    },
    Procedure {
        name: "graven.show.settings",
        about: "SHOW SETTINGS",
        arguments: &[("names", TypeSet::LIST)],
        optional: 0,
        right: Right::Admin,
        columns: &[
            ("name", TypeSet::STRING),
            ("value", TypeSet::STRING),
            ("isDynamic", TypeSet::BOOLEAN),
            ("defaultValue", TypeSet::STRING),
            ("description", TypeSet::STRING),
            ("startupValue", TypeSet::STRING),
            ("isExplicitlySet", TypeSet::BOOLEAN),
            ("validValues", TypeSet::STRING),
            ("isDeprecated", TypeSet::BOOLEAN),
        ],
        run: Body::OfDatabase(show_settings),
    },
    Procedure {
        name: "graven.version",
        about: "the version of this build, and of Neo4j that it follows",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("version", TypeSet::STRING),
            ("compatibleWith", TypeSet::STRING),
        ],
        run: Body::OfDatabase(|_, _| {
            let own = Value::text(env!("CARGO_PKG_VERSION"));
            Ok(vec![vec![own, Value::text(COMPATIBLE_WITH)]])
        }),
    },
];

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn components(_: &Arc<Instance>, _: &[Value]) -> Rows {
    let versions = Value::list(vec![Value::text(COMPATIBLE_WITH)]);
    let (name, edition) = (Value::text("Neo4j Kernel"), Value::text("community"));
    Ok(vec![vec![name, versions, edition]])
}

/// A setting as it is now.
struct Setting {
    name: &'static str,
    about: &'static str,
    value: String,
    default: &'static str,
    /// It can be changed while the database is used.
    dynamic: bool,
}

fn settings(db: &Instance) -> Vec<Setting> {
    let stem = db.path.file_stem().unwrap_or_default();
    vec![
        Setting {
            name: "graven.memory",
            about: "bytes of the memory budget; graven.cache.resize changes it",
            value: db.budget.limit().to_string(),
            default: "a quarter of the machine's memory",
            dynamic: true,
        },
        Setting {
            name: "graven.policy",
            about: "replacement policy of the page cache; graven.cache.setPolicy changes it",
            value: db.cache.stats().policy,
            default: crate::DEFAULT_POLICY,
            dynamic: true,
        },
        Setting {
            name: "initial.dbms.default_database",
            about: "the database of clients that name none: that of the file",
            value: stem.to_string_lossy().into_owned(),
            default: "neo4j",
            dynamic: false,
        },
        Setting {
            name: "server.databases.default_to_read_only",
            about: "whether the file was opened for reading only",
            value: db.store.read_only().is_some().to_string(),
            default: "false",
            dynamic: false,
        },
    ]
}

fn listed(setting: Setting) -> Vec<Value> {
    let value = Value::text(&setting.value);
    vec![
        Value::text(setting.name),
        Value::text(setting.about),
        value.clone(),
        Value::Boolean(setting.dynamic),
        Value::text(setting.default),
        value,
        Value::Boolean(setting.value != setting.default),
        Value::text(""),
    ]
}

fn list_config(db: &Arc<Instance>, args: &[Value]) -> Rows {
    let part = match args {
        [] | [Value::Null] => "",
        [Value::String(part)] => part,
        _ => return Err("give a part of the names as text".to_owned()),
    };
    let part = part.to_lowercase();
    let all = settings(db).into_iter();
    Ok(all
        .filter(|it| it.name.contains(&part))
        .map(listed)
        .collect())
}

fn show_settings(db: &Arc<Instance>, args: &[Value]) -> Rows {
    let mut wanted = Vec::new();
    if let [Value::List(names)] = args {
        for name in names.iter() {
            match name {
                Value::String(name) => wanted.push(Arc::clone(name)),
                other => return Err(told!("the name of a setting is text, not {other}")),
            }
        }
    }
    let is_wanted =
        |it: &Setting| wanted.is_empty() || wanted.iter().any(|name| **name == *it.name);
    let shown = settings(db).into_iter().filter(is_wanted).map(|setting| {
        let value = Value::text(&setting.value);
        vec![
            Value::text(setting.name),
            value.clone(),
            Value::Boolean(setting.dynamic),
            Value::text(setting.default),
            Value::text(setting.about),
            value,
            Value::Boolean(setting.value != setting.default),
            Value::text(""),
            Value::Boolean(false),
        ]
    });
    Ok(shown.collect())
}

/// One server, which has no address unless it is asked over the network.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
fn servers(db: &Arc<Instance>, _: &[Value]) -> Rows {
    let stem = db.path.file_stem().unwrap_or_default();
    let name = Value::text(&stem.to_string_lossy());
    Ok(vec![vec![
        name.clone(),
        Value::text(""),
        Value::text("Enabled"),
        Value::text("Available"),
        Value::list(vec![name, Value::text("system")]),
    ]])
}

fn routes(_: &Arc<Instance>, args: &[Value]) -> Rows {
    let address = match args.first() {
        Some(Value::Map(context)) => context.get("address").cloned(),
        _ => None,
    };
    let Some(Value::String(address)) = address else {
        let told = "the context has no `address`: over Bolt from version 4.3 on, ask with ROUTE";
        return Err(told.to_owned());
    };
    let of_role = |role| {
        let addresses = Value::list(vec![Value::String(Arc::clone(&address))]);
        Value::map(vec![
            ("addresses".into(), addresses),
            ("role".into(), Value::text(role)),
        ])
    };
    let servers = ["WRITE", "READ", "ROUTE"].map(of_role);
    Ok(vec![vec![
        Value::Integer(ROUTES_HOLD),
        Value::list(servers.into()),
    ]])
}
