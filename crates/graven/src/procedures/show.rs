//! What `SHOW TRANSACTIONS`, `SHOW PROCEDURES` and `SHOW FUNCTIONS` list, and `TERMINATE
//! TRANSACTIONS`.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use graven_cypher::TypeSet;
use graven_cypher::functions::{self, Availability, FUNCTIONS};
use graven_exec::{ExecError, Value};
use graven_storage::{PropertyValue, Role};
use graven_types::told;
use graven_types::{DateTime, Duration};

use super::databases::{id, name};
use super::described::{described, field_maps, part_map};
use super::entry::{Body, Procedure};
use super::{DatabaseProcedures, schema_list, user};
use crate::instance::Instance;
use crate::right::Right;
use crate::statements::RunningStatement;

type Rows = Result<Vec<Vec<Value>>, String>;

/// What `SHOW` and `TERMINATE` call.
pub(super) const TABLE: &[Procedure] = &[
    Procedure {
        name: "graven.show.constraints",
        about: "SHOW CONSTRAINTS",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("id", TypeSet::INTEGER),
            ("name", TypeSet::STRING),
            ("type", TypeSet::STRING),
            ("entityType", TypeSet::STRING),
            ("labelsOrTypes", TypeSet::LIST),
            ("properties", TypeSet::LIST),
            ("ownedIndex", TypeSet::STRING),
            ("propertyType", TypeSet::STRING),
            ("options", TypeSet::MAP),
            ("createStatement", TypeSet::STRING),
        ],
        run: Body::OfCall(schema_list::constraints),
    },
    Procedure {
        name: "graven.show.currentUser",
        about: "SHOW CURRENT USER",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("user", TypeSet::STRING),
            ("roles", TypeSet::LIST),
            ("passwordChangeRequired", TypeSet::BOOLEAN),
            ("suspended", TypeSet::BOOLEAN),
            ("home", TypeSet::STRING),
        ],
        run: Body::OfCaller(user::current),
    },
    Procedure {
        name: "graven.show.functions",
        about: "SHOW FUNCTIONS",
        arguments: &[
            ("builtIn", TypeSet::BOOLEAN),
            ("executable", TypeSet::BOOLEAN),
            ("user", TypeSet::STRING),
        ],
        optional: 3,
        right: Right::Read,
        columns: &[
            ("name", TypeSet::STRING),
            ("category", TypeSet::STRING),
            ("description", TypeSet::STRING),
            ("signature", TypeSet::STRING),
            ("isBuiltIn", TypeSet::BOOLEAN),
            ("argumentDescription", TypeSet::LIST),
            ("returnDescription", TypeSet::STRING),
            ("aggregating", TypeSet::BOOLEAN),
            ("rolesExecution", TypeSet::LIST),
            ("rolesBoostedExecution", TypeSet::LIST),
            ("isDeprecated", TypeSet::BOOLEAN),
            ("deprecatedBy", TypeSet::STRING),
        ],
        run: Body::OfCaller(functions),
    },
    Procedure {
        name: "graven.show.indexes",
        about: "SHOW INDEXES",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("id", TypeSet::INTEGER),
            ("name", TypeSet::STRING),
            ("state", TypeSet::STRING),
            ("populationPercent", TypeSet::FLOAT),
            ("type", TypeSet::STRING),
            ("entityType", TypeSet::STRING),
            ("labelsOrTypes", TypeSet::LIST),
            ("properties", TypeSet::LIST),
            ("indexProvider", TypeSet::STRING),
            ("owningConstraint", TypeSet::STRING),
            ("lastRead", TypeSet::TEMPORAL),
            ("readCount", TypeSet::INTEGER),
            ("trackedSince", TypeSet::TEMPORAL),
            ("options", TypeSet::MAP),
            ("failureMessage", TypeSet::STRING),
            ("createStatement", TypeSet::STRING),
        ],
        run: Body::OfCall(schema_list::indexes),
    },
    Procedure {
        name: "graven.show.procedures",
        about: "SHOW PROCEDURES",
        arguments: &[("executable", TypeSet::BOOLEAN), ("user", TypeSet::STRING)],
        optional: 2,
        right: Right::Read,
        columns: &[
            ("name", TypeSet::STRING),
            ("description", TypeSet::STRING),
            ("mode", TypeSet::STRING),
            ("worksOnSystem", TypeSet::BOOLEAN),
            ("signature", TypeSet::STRING),
            ("argumentDescription", TypeSet::LIST),
            ("returnDescription", TypeSet::LIST),
            ("admin", TypeSet::BOOLEAN),
            ("rolesExecution", TypeSet::LIST),
            ("rolesBoostedExecution", TypeSet::LIST),
            ("isDeprecated", TypeSet::BOOLEAN),
            ("deprecatedBy", TypeSet::STRING),
            ("option", TypeSet::MAP),
        ],
        run: Body::OfCaller(procedures),
    },
    Procedure {
        name: "graven.show.roles",
        about: "SHOW ROLES",
        arguments: &[],
        optional: 0,
        right: Right::Read,
        columns: &[("role", TypeSet::STRING)],
        run: Body::OfDatabase(user::roles),
    },
    Procedure {
        name: "graven.show.transactions",
        about: "SHOW TRANSACTIONS",
        arguments: &[("ids", TypeSet::LIST)],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("database", TypeSet::STRING),
            ("transactionId", TypeSet::STRING),
            ("currentQueryId", TypeSet::STRING),
            ("outerTransactionId", TypeSet::STRING),
            ("connectionId", TypeSet::STRING),
            ("clientAddress", TypeSet::STRING),
            ("username", TypeSet::STRING),
            ("metaData", TypeSet::MAP),
            ("currentQuery", TypeSet::STRING),
            ("parameters", TypeSet::MAP),
            ("planner", TypeSet::STRING),
            ("runtime", TypeSet::STRING),
            ("indexes", TypeSet::LIST),
            ("startTime", TypeSet::STRING),
            ("currentQueryStartTime", TypeSet::STRING),
            ("protocol", TypeSet::STRING),
            ("requestUri", TypeSet::STRING),
            ("status", TypeSet::STRING),
            ("currentQueryStatus", TypeSet::STRING),
            ("statusDetails", TypeSet::STRING),
            ("resourceInformation", TypeSet::MAP),
            ("activeLockCount", TypeSet::INTEGER),
            ("currentQueryActiveLockCount", TypeSet::INTEGER),
            ("elapsedTime", TypeSet::DURATION),
            ("cpuTime", TypeSet::DURATION),
            ("waitTime", TypeSet::DURATION),
            ("idleTime", TypeSet::DURATION),
            ("currentQueryElapsedTime", TypeSet::DURATION),
            ("currentQueryCpuTime", TypeSet::DURATION),
            ("currentQueryWaitTime", TypeSet::DURATION),
            ("currentQueryIdleTime", TypeSet::DURATION),
            ("currentQueryAllocatedBytes", TypeSet::INTEGER),
            ("allocatedDirectBytes", TypeSet::INTEGER),
            ("estimatedUsedHeapMemory", TypeSet::INTEGER),
            ("pageHits", TypeSet::INTEGER),
            ("pageFaults", TypeSet::INTEGER),
            ("currentQueryPageHits", TypeSet::INTEGER),
            ("currentQueryPageFaults", TypeSet::INTEGER),
            ("initializationStackTrace", TypeSet::STRING),
            ("memory", TypeSet::INTEGER),
        ],
        run: Body::OfCaller(transactions),
    },
    Procedure {
        name: "graven.show.users",
        about: "SHOW USERS",
        arguments: &[],
        optional: 0,
        right: Right::Admin,
        columns: &[
            ("user", TypeSet::STRING),
            ("roles", TypeSet::LIST),
            ("passwordChangeRequired", TypeSet::BOOLEAN),
            ("suspended", TypeSet::BOOLEAN),
            ("home", TypeSet::STRING),
        ],
        run: Body::OfCaller(user::users),
    },
    Procedure {
        name: "graven.show.usersWithAuth",
        about: "SHOW USERS WITH AUTH",
        arguments: &[],
        optional: 0,
        right: Right::Admin,
        columns: &[
            ("user", TypeSet::STRING),
            ("roles", TypeSet::LIST),
            ("passwordChangeRequired", TypeSet::BOOLEAN),
            ("suspended", TypeSet::BOOLEAN),
            ("home", TypeSet::STRING),
            ("provider", TypeSet::STRING),
            ("auth", TypeSet::MAP),
        ],
        run: Body::OfCaller(user::users_with_auth),
    },
    Procedure {
        name: "graven.terminate.transactions",
        about: "TERMINATE TRANSACTIONS",
        arguments: &[("ids", TypeSet::LIST)],
        optional: 0,
        right: Right::Read,
        columns: &[
            ("transactionId", TypeSet::STRING),
            ("username", TypeSet::STRING),
            ("message", TypeSet::STRING),
        ],
        run: Body::OfCaller(terminate),
    },
];

/// The ids given: texts, or lists of them.
fn ids(args: &[Value]) -> Result<Vec<Arc<str>>, String> {
    let mut ids = Vec::new();
    for arg in args {
        match arg {
            Value::String(id) => ids.push(Arc::clone(id)),
            Value::List(items) => ids.extend(self::ids(items)?),
            other => return Err(told!("the id of a transaction is text, not {other}")),
        }
    }
    Ok(ids)
}

/// Whether a text has the form of an id.
fn is_id(text: &str) -> bool {
    let parts = text.rsplit_once("-transaction-");
    parts.is_some_and(|(_, number)| number.parse::<u64>().is_ok())
}

fn moment(time: SystemTime) -> Value {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Value::from(PropertyValue::DateTime(DateTime {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: since.subsec_nanos(),
        offset_seconds: 0,
        zone: None,
    }))
}

/// A moment as text, as Neo4j's lists have it.
pub(super) fn told_moment(time: SystemTime) -> Value {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default().as_millis();
    let since = u64::try_from(since).unwrap_or(u64::MAX);
    let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(since);
    Value::text(&moment(time).to_string())
}

/// Whether the caller may see and end what this one runs: its own, or any user's if it is an admin.
fn concerns(caller: &DatabaseProcedures, running: &RunningStatement) -> bool {
    let access = caller.access();
    access.is_admin(&caller.database.store) || access.user.is_some() && access.user == running.user
}

/// The databases that the list covers: this one, and those of its server.
fn instances(caller: &DatabaseProcedures) -> Vec<Arc<Instance>> {
    let Some(database_manager) = caller.connection.database_manager() else {
        return vec![Arc::clone(&caller.database)];
    };
    let listed = database_manager.databases().into_iter();
    let open = listed.filter_map(|listed| listed.database);
    open.filter_map(|database| database.inner().ok().map(Arc::clone))
        .collect()
}

pub(super) fn transactions(
    caller: &DatabaseProcedures,
    args: &[Value],
) -> Result<Vec<Vec<Value>>, ExecError> {
    let wanted = ids(args).map_err(argument)?;
    let mut rows = Vec::new();
    for db in instances(caller) {
        for running in db.statements.list() {
            let id = running.id();
            let named = wanted.is_empty() || wanted.iter().any(|w| **w == *id);
            if named && concerns(caller, &running) {
                rows.push(row_of_transaction(&db, &id, &running));
            }
        }
    }
    Ok(rows)
}

fn row_of_transaction(db: &Instance, id: &str, running: &RunningStatement) -> Vec<Value> {
    let elapsed = running.begun.elapsed();
    let at = SystemTime::now() - elapsed;
    let elapsed = PropertyValue::Duration(Duration {
        months: 0,
        days: 0,
        seconds: i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: elapsed.subsec_nanos(),
    });
    let memory = super::integer(running.memory.load(Ordering::Relaxed));
    let client = running.client();
    let protocol = if client.is_some() { "bolt" } else { "embedded" };
    let (none, unknown) = (Value::Integer(0), Value::Null);
    let (begun, elapsed) = (told_moment(at), Value::from(elapsed));
    let status = running.status();
    vec![
        name(db),
        Value::text(id),
        Value::text(&running.query_id()),
        Value::text(""),
        Value::text(client.map_or("", |client| &client.connection)),
        Value::text(client.map_or("", |client| &client.address)),
        running.user.clone().map_or(Value::Null, Value::String),
        running.metadata(),
        Value::String(running.text()),
        Value::map(Vec::new()),
        unknown.clone(),
        unknown.clone(),
        Value::list(Vec::new()),
        begun.clone(),
        begun,
        Value::text(protocol),
        unknown.clone(),
        Value::text(status),
        Value::text(&status.to_lowercase()),
        Value::text(""),
        Value::map(Vec::new()),
        // There are no locks.
        none.clone(),
        none.clone(),
        elapsed.clone(),
        unknown.clone(),
        unknown.clone(),
        unknown.clone(),
        elapsed,
        unknown.clone(),
        unknown.clone(),
        unknown.clone(),
        memory.clone(),
        none,
        memory.clone(),
        unknown.clone(),
        unknown.clone(),
        unknown.clone(),
        unknown,
        Value::text(""),
        memory,
    ]
}

fn argument(message: String) -> ExecError {
    ExecError::Argument { message }
}

pub(super) fn terminate(
    caller: &DatabaseProcedures,
    args: &[Value],
) -> Result<Vec<Vec<Value>>, ExecError> {
    let instances = instances(caller);
    let ids = ids(args).map_err(argument)?;
    if let Some(other) = ids.iter().find(|id| !is_id(id)) {
        return Err(ExecError::Named {
            kind: "ArgumentError",
            detail: "InvalidTransactionId",
            message: told!("`{other}` is no id of a transaction: database-transaction-number"),
        });
    }
    let told = ids.into_iter().map(|id| {
        let mut all = instances.iter();
        let found = all.find_map(|db| db.statements.find(&id));
        let found = found.filter(|running| concerns(caller, running));
        if let Some(running) = &found {
            running.terminate();
        }
        let message = match &found {
            Some(_) => "Transaction terminated.",
            None => "Transaction not found.",
        };
        let user = found.and_then(|running| running.user.clone());
        let user = user.map_or(Value::Null, Value::String);
        vec![Value::String(id), user, Value::text(message)]
    });
    Ok(told.collect())
}

/// The role whose procedures and functions are asked for: all of them without `EXECUTABLE`; none
/// for a user that there is not, or that may not log in.
fn role_asked_for(caller: &DatabaseProcedures, args: &[Value]) -> Result<Option<Role>, ExecError> {
    let access = caller.access();
    let store = &caller.database.store;
    let Some(name) = (match args {
        [Value::Boolean(true), Value::String(name)] => Some(Arc::clone(name)),
        [Value::Boolean(true), ..] => None,
        _ => return Ok(Some(Role::Admin)),
    }) else {
        let listed = access.listed.then(|| access.listed_user(store)).flatten();
        return Ok(Some(
            listed.map_or(access.role, |user| user.role.min(access.role)),
        ));
    };
    if access.user.as_ref() != Some(&name) && !access.is_admin(store) {
        let message = told!("EXECUTABLE BY {name}: what others may do is listed for admins only");
        return Err(ExecError::Forbidden { message });
    }
    let snapshot = access.users_of(store).snapshot();
    let mut users = snapshot.users().iter();
    let user = users.find(|user| user.name == name && !user.suspended);
    let own = (access.user.as_ref() == Some(&name) && !access.listed).then_some(access.role);
    Ok(user.map(|user| user.role).or(own))
}

pub(super) fn procedures(
    caller: &DatabaseProcedures,
    args: &[Value],
) -> Result<Vec<Vec<Value>>, ExecError> {
    let role = role_asked_for(caller, args)?;
    let may = |right: Right| role.is_some_and(|role| role >= right.role());
    let listed = described(&caller.database.registered).into_iter();
    let rows = listed
        .filter(|procedure| may(procedure.right))
        .map(|procedure| {
            let text = |text: &str| Value::text(text);
            let deprecated = Value::Boolean(procedure.is_deprecated);
            vec![
                text(&procedure.name),
                text(procedure.about),
                text(procedure.mode),
                Value::Boolean(procedure.on_system),
                text(&procedure.signature),
                procedure.arguments,
                procedure.returns,
                Value::Boolean(procedure.is_admin),
                Value::Null,
                Value::Null,
                deprecated.clone(),
                procedure.replacement.map_or(Value::Null, text),
                Value::map(vec![("deprecated".into(), deprecated)]),
            ]
        });
    Ok(rows.collect())
}

pub(super) fn functions(
    caller: &DatabaseProcedures,
    args: &[Value],
) -> Result<Vec<Vec<Value>>, ExecError> {
    // Every user may call every function.
    let role = role_asked_for(caller, args.get(1..).unwrap_or_default())?;
    if role.is_none() {
        return Ok(Vec::new());
    }
    let mut rows: Vec<FunctionRow> = functions::described().map(of_neo4j).collect();
    let named: HashSet<&str> = functions::described().map(|it| it.name).collect();
    rows.extend(own_functions().filter(|row| !named.contains(row.name)));
    if let Some(Value::Boolean(built_in)) = args.first() {
        rows.retain(|row| row.is_built_in() == *built_in);
    }
    rows.sort_by_key(|row| row.name);
    Ok(rows.into_iter().map(FunctionRow::values).collect())
}

/// What is said of a function.
struct FunctionRow {
    name: &'static str,
    category: &'static str,
    signature: String,
    arguments: Value,
    returns: String,
    aggregates: bool,
    is_deprecated: bool,
    replacement: Option<&'static str>,
}

impl FunctionRow {
    /// Functions of APOC are those of a library, as in Neo4j's lists.
    fn is_built_in(&self) -> bool {
        !self.name.starts_with("apoc.")
    }

    fn values(self) -> Vec<Value> {
        let is_built_in = self.is_built_in();
        vec![
            Value::text(self.name),
            Value::text(self.category),
            Value::text(&self.signature),
            Value::text(&self.signature),
            Value::Boolean(is_built_in),
            self.arguments,
            Value::text(&self.returns),
            Value::Boolean(self.aggregates),
            Value::Null,
            Value::Null,
            Value::Boolean(self.is_deprecated),
            self.replacement.map_or(Value::Null, Value::text),
        ]
    }
}

fn of_neo4j(it: functions::Described) -> FunctionRow {
    FunctionRow {
        name: it.name,
        category: it.category,
        signature: it.signature.to_owned(),
        arguments: Value::list(it.arguments.iter().map(part_map).collect()),
        returns: it.returns.to_owned(),
        aggregates: it.aggregates,
        is_deprecated: it.is_deprecated,
        replacement: it.replacement,
    }
}

/// All functions that have a row in a table.
fn own_functions() -> impl Iterator<Item = FunctionRow> {
    let own = |name: &'static str, signature: String, (takes, gives): (u8, TypeSet)| {
        let names: Vec<String> = (1..=takes).map(|at| format!("input{at}")).collect();
        let arguments = names.iter().map(|name| (name.as_str(), TypeSet::ANY));
        FunctionRow {
            name,
            category: functions::category(name),
            signature,
            arguments: field_maps(arguments),
            returns: gives.to_string(),
            aggregates: false,
            is_deprecated: false,
            replacement: None,
        }
    };
    let available = FUNCTIONS
        .iter()
        .filter(|f| f.availability == Availability::Available);
    available.map(move |f| own(f.display, f.signature(), (f.args_min, f.returns)))
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn info(db: &Arc<Instance>, _: &[Value]) -> Rows {
    Ok(vec![vec![id(db), name(db), Value::Null]])
}

/// What Neo4j calls the database of all databases: there is one file, so that its id is that of the
/// file.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn system(db: &Arc<Instance>, _: &[Value]) -> Rows {
    Ok(vec![vec![id(db), Value::text("system"), Value::Null]])
}
