//! Procedures of APOC that have no effect here, so that statements with them run.
//!
//! # How it works
//! Transactions are optimistic: they hold no locks, and a conflict is found at the commit. A
//! database has no log of messages.

use graven_cypher::TypeSet;

use super::super::entry::{Body, Field, Procedure, procedure};
use crate::right::Right;

const NODES: Field = ("nodes", TypeSet::LIST);
const RELATIONSHIPS: Field = ("rels", TypeSet::LIST);

const NO_LOCK: &str = "without effect: transactions are optimistic and hold no locks";
const NO_LOG: &str = "without effect: a database has no log of messages";

const fn lock(name: &'static str, arguments: &'static [Field]) -> Procedure {
    let needed = arguments.len();
    procedure(
        name,
        NO_LOCK,
        (arguments, needed),
        Right::Read,
        &[],
        NOTHING,
    )
}

const fn log(name: &'static str) -> Procedure {
    const ARGUMENTS: &[Field] = &[("message", TypeSet::STRING), ("params", TypeSet::LIST)];
    procedure(name, NO_LOG, (ARGUMENTS, 1), Right::Read, &[], NOTHING)
}

const NOTHING: Body = Body::OfDatabase(|_, _| Ok(Vec::new()));

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    lock("apoc.lock.all", &[NODES, RELATIONSHIPS]),
    lock("apoc.lock.nodes", &[NODES]),
    lock("apoc.lock.read.nodes", &[NODES]),
    lock("apoc.lock.read.rels", &[RELATIONSHIPS]),
    lock("apoc.lock.rels", &[RELATIONSHIPS]),
    log("apoc.log.debug"),
    log("apoc.log.error"),
    log("apoc.log.info"),
    log("apoc.log.warn"),
];
