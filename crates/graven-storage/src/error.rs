//! Everything that can go wrong in the data file.

use crate::transaction::options::Durable;
use graven_pagecache::PageRef;
use graven_types::PropertyValue;
use graven_types::told;
use std::cmp::Ordering;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What two indexes or constraints, or two users or tables, have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchemaClash {
    /// The name alone.
    Name,
    /// What they do; their names differ.
    Rule,
    /// Both.
    Both,
    /// The properties, of which both constraints demand something else.
    Demand,
    /// The properties, on which both constraints want an index, each of its own kind.
    Kind,
    /// The properties: an index is in the way of a constraint, or a constraint in the way of an
    /// index.
    Sort,
}

impl SchemaClash {
    /// What else an error says of it.
    fn remedy(self, what: &str) -> &'static str {
        match (self, what) {
            (SchemaClash::Demand, _) => " and demands something else: drop it first",
            (SchemaClash::Kind, _) => " on these properties, of another kind: drop it first",
            (SchemaClash::Sort, "index") => {
                " on these properties: drop it first; the constraint brings an index of its own"
            }
            (SchemaClash::Sort, _) => " on these properties and has the index",
            _ => "",
        }
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] graven_io::Error),
    /// The page cache could not deliver a page: damaged, unreadable, or no memory for it.
    #[error(transparent)]
    Cache(#[from] graven_pagecache::Error),
    /// The memory limit is reached.
    #[error(transparent)]
    Budget(#[from] graven_pagecache::BudgetError),
    /// The file has no content.
    #[error("{}: the file is empty, not a Graven database", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: not a Graven database (it starts with {found:02x?})", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first bytes.
        found: Vec<u8>,
    },
    /// The file was written in another format.
    #[error(
        "{}: data file format {found}, this build reads {known}; {}",
        path.display(),
        what_to_do(*found, *known)
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format number.
        found: u32,
        /// The format number of this build.
        known: u32,
    },
    /// The file uses a feature that this build does not know.
    #[error("{}: the file uses features {unknown:#x} that this build does not know; open it with a \
        newer one", path.display())]
    UnknownFeature {
        /// The file.
        path: PathBuf,
        /// Bits of the incompatible features unknown here.
        unknown: u64,
    },
    /// The file is shorter than its superblock says.
    #[error(
        "{}: the file has {found} bytes, its superblock says {expected}: it was cut off; restore a \
            backup, or copy what \
         is left with `graven salvage`",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Length according to the superblock, bytes.
        expected: u64,
        /// Length found, bytes.
        found: u64,
    },
    /// Neither superblock is intact.
    #[error(
        "{}: both superblocks are damaged (first: {first}; second: {second}); only they say where \
            everything lies, so \
         `graven salvage` can copy nothing either: restore a backup",
        path.display()
    )]
    Superblocks {
        /// The file.
        path: PathBuf,
        /// What is wrong with the first.
        first: String,
        /// What is wrong with the second.
        second: String,
    },
    /// A page is intact by its checksum but its content makes no sense.
    #[error("{}: damaged {kind} page {page}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The page.
        page: PageRef,
        /// Kind of the page.
        kind: &'static str,
        /// What was found.
        what: String,
    },
    /// Labels of nodes cannot be read.
    #[error(
        "the labels of nodes {first} to {} cannot be read: {why}; other nodes can be; `graven \
            salvage` copies what is \
         readable to a new file",
        end - 1
    )]
    LabelsLost {
        /// The first of the nodes.
        first: u64,
        /// The one behind the last.
        end: u64,
        /// What is wrong with the page.
        why: String,
    },
    /// The catalogue cannot be read, and without it nothing can.
    #[error(
        "{why}; nothing can be read without the catalogue: restore a backup, or copy what an older \
            state of the file \
         has with `graven salvage`"
    )]
    CatalogueLost {
        /// What is wrong with its pages.
        why: String,
    },
    /// The stored structures contradict each other.
    #[error("{}: inconsistent {store}: {what}", path.display())]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// The store.
        store: String,
        /// What was found.
        what: String,
    },
    /// A node id does not exist.
    #[error("node {node} does not exist, the store has ids below {limit}")]
    NoSuchNode {
        /// The id.
        node: u64,
        /// Ids are below this.
        limit: u64,
    },
    /// A relationship id does not exist.
    #[error("relationship {relationship} does not exist")]
    NoSuchRelationship {
        /// The id.
        relationship: u64,
    },
    /// Bulk writing got ids or keys out of order.
    #[error("{store}: entry {got} pushed after {last}, bulk writing needs ascending order")]
    Order {
        /// The store.
        store: String,
        /// What was pushed last.
        last: String,
        /// What came then.
        got: String,
    },
    /// Two nodes have the same value in a unique index.
    #[error("index {index}: value {value:?} of node {second} already belongs to node {first}")]
    NotUnique {
        /// The index.
        index: String,
        /// The value.
        value: PropertyValue,
        /// Node that has it.
        first: u64,
        /// Node that wants it as well.
        second: u64,
    },
    /// A limit of the format.
    #[error("{what} is {value}, the format allows {limit}")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        value: u64,
        /// How large it may be.
        limit: u64,
    },
    /// A list nests deeper than the format allows.
    #[error(
        "a list is nested more than {limit} levels deep, which no property can hold: flatten it"
    )]
    Nesting {
        /// Levels that a property can hold.
        limit: usize,
    },
    /// A node id does not fit 32 bits where the caller asked for 32-bit ids.
    #[error("node ids of this store need more than 32 bits: decode lists as 64-bit ids")]
    Wide,
    /// Bulk writing or a copy would end with something left out or contradictory.
    #[error("{store} cannot be completed: {what}")]
    Incomplete {
        /// The store.
        store: String,
        /// What is wrong.
        what: String,
    },
    /// Another transaction changed the same thing first; the same work may succeed in a new
    /// transaction.
    #[error(
        "conflict on {entity}: another transaction changed it after this one began; run the \
            transaction again"
    )]
    Conflict {
        /// What both changed.
        entity: String,
    },
    /// A uniqueness constraint or unique index has the value already.
    #[error(
        "{constraint}: {entity} with {keys} = {} exists already ({holder})",
        shown(values)
    )]
    Duplicate {
        /// Name of the constraint or index.
        constraint: String,
        /// Label or type.
        entity: String,
        /// The properties.
        keys: String,
        /// Their values.
        values: Vec<PropertyValue>,
        /// The node or relationship that has them, with its id.
        holder: String,
    },
    /// An existence or node-key constraint misses a property.
    #[error("{constraint}: {holder} with label or type {entity} must have the property {key}")]
    MissingProperty {
        /// Name of the constraint.
        constraint: String,
        /// Label or type.
        entity: String,
        /// The property.
        key: String,
        /// The node or relationship that lacks it, with its id.
        holder: String,
    },
    /// A property is not of the type that a constraint demands.
    #[error(
        "{constraint}: the property {key} of {holder} with label or type {entity} must be \
            {wanted}, not {found}"
    )]
    WrongType {
        /// Name of the constraint.
        constraint: Box<str>,
        /// Label or type.
        entity: Box<str>,
        /// The property.
        key: Box<str>,
        /// The type as it was declared.
        wanted: Box<str>,
        /// The type of the value.
        found: Box<str>,
        /// The node or relationship that has it, with its id.
        holder: Box<str>,
    },
    /// A relationship joins nodes that a constraint does not allow, or too many.
    #[error("{constraint}: {holder} of type {rel_type} {what}")]
    WrongEnds {
        /// Name of the constraint.
        constraint: String,
        /// Type of the relationship.
        rel_type: String,
        /// The relationship, with its id.
        holder: String,
        /// What is wrong with it.
        what: String,
    },
    /// A deleted node still has relationships.
    #[error(
        "node {node} still has {count} relationship{}; delete what is left first or use DETACH \
            DELETE",
        if *count == 1 { "" } else { "s" }
    )]
    NodeHasRelationships {
        /// The node.
        node: u64,
        /// Relationships left.
        count: u64,
    },
    /// An index or constraint of that name or of the same kind is there already.
    #[error("{what} {name} exists already{}", clash.remedy(what))]
    SchemaExists {
        /// `index` or `constraint`.
        what: &'static str,
        /// Its name.
        name: String,
        /// What is the same.
        clash: SchemaClash,
    },
    /// There is no such index or constraint.
    #[error("there is no {what} {name}")]
    NoSuchSchema {
        /// `index` or `constraint`.
        what: &'static str,
        /// The name asked for.
        name: String,
    },
    /// An index or constraint that names a property twice.
    #[error("{what} needs each of its properties once")]
    RepeatedProperty {
        /// `an index` or `a constraint`.
        what: &'static str,
    },
    /// An index that goes with its constraint alone.
    #[error("index {name} belongs to the constraint {constraint}: drop that")]
    IndexOfConstraint {
        /// The name of the index.
        name: String,
        /// The name of the constraint.
        constraint: String,
    },
    /// An index or constraint that cannot be.
    #[error("{what}")]
    InvalidSchema {
        /// Why.
        what: String,
    },
    /// The caller wanted to stop before the work was done; nothing of it is left.
    #[error("stopped before it was done")]
    Stopped,
    /// The store takes no writes.
    #[error("{}: opened for reading only: {why}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The transaction was committed or rolled back before.
    #[error("the transaction has ended: it was {how}")]
    TransactionEnded {
        /// How it ended.
        how: &'static str,
    },
    /// A transaction needs more memory for its changes than there is.
    #[error(
        "the changes of this transaction take {bytes} bytes, a transaction may hold {limit} of the \
            memory limit of {budget}; commit in smaller parts (CALL {{}} IN TRANSACTIONS) or raise \
            the memory limit"
    )]
    TransactionTooLarge {
        /// Bytes of its changes.
        bytes: u64,
        /// Bytes a transaction may hold.
        limit: u64,
        /// The memory limit.
        budget: u64,
    },
    /// The schema would become so large that the store might not open with the same memory again.
    #[error(
        "indexes, constraints, users, sequences and macros would take {bytes} bytes with their \
            names and texts, which may take {limit} of the memory limit of {budget}; drop some, \
            shorten their texts, or raise the memory limit"
    )]
    SchemaTooLarge {
        /// Bytes of the schema.
        bytes: u64,
        /// Bytes that a schema may take.
        limit: u64,
        /// The memory limit.
        budget: u64,
    },
    /// A new name would make the catalogue so large that the store would not open with the same
    /// memory again.
    #[error(
        "the new label, relationship type or property key `{name}` is one too many for the memory \
            limit of {budget}: all names, with what the database keeps for each, may take a \
            quarter of it; use properties for values that differ, or raise the memory limit"
    )]
    TooManyNames {
        /// The beginning of the name.
        name: String,
        /// The memory limit.
        budget: u64,
    },
    /// A label, relationship type or property key that no name may be.
    #[error(
        "`{}` is no name of a {what}: a name is not empty and has no zero character",
        name.escape_debug()
    )]
    InvalidName {
        /// What it was to be.
        what: &'static str,
        /// The beginning of the name.
        name: String,
    },
    /// A commit could not be written to the log, or an earlier one could not: the database takes no
    /// more writes.
    #[error(
        "the log failed, no more writes until the database is opened again (this commit durable: \
            {durable}): {why}"
    )]
    LogFailed {
        /// Whether the commit that asked is durable.
        durable: Durable,
        /// What failed.
        why: String,
    },
    /// There is no room for the log; writes work again when there is.
    #[error(
        "no room for the log (this commit durable: {durable}): {why}; free space and run the \
            transaction again"
    )]
    DiskFull {
        /// Whether the commit that asked is durable.
        durable: Durable,
        /// What failed.
        why: String,
    },
    /// Another process has the file open.
    #[error("{}: in use by {owner}; close it there or open read-only copies", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// The process that has it open, as far as known.
        owner: String,
    },
    /// An earlier checkpoint failed so that it is unknown what of it is durable.
    #[error("{}: no more checkpoints until the file is opened again, one failed: \
        {why}", path.display())]
    CheckpointsStopped {
        /// The file.
        path: PathBuf,
        /// What failed.
        why: String,
    },
    /// There is no log where the data file may need one.
    #[error(
        "{}: its log {} is missing, and commits may be in it that the data file has not: the data \
            file was copied or moved \
         alone, or not closed; put the log back, or copy the database with `graven backup`; to go \
         on without those commits \
         open it with --without-log, or copy it with `graven salvage`",
        path.display(), log.display()
    )]
    LogMissing {
        /// The data file.
        path: PathBuf,
        /// Where the log should be.
        log: PathBuf,
    },
    /// Where the log is to be made, there is something else.
    #[error(
        "{}: there is the log of another database, or another file, where the log of {} is to be; \
            nothing was written. Where a \
         process has that database open, because this data file was moved or another one put in \
         its place: close this one and \
         open it by the name that it has now. Where none has: move {} away, beside its data file \
         if there is one, and try again",
        log.display(), path.display(), log.display()
    )]
    LogOccupied {
        /// The data file.
        path: PathBuf,
        /// Where its log is to be.
        log: PathBuf,
    },
    /// The log beside the file is damaged or belongs elsewhere.
    #[error("{}: {what}", path.display())]
    Log {
        /// The log file.
        path: PathBuf,
        /// What is wrong and what to do.
        what: String,
    },
}

impl Error {
    /// Whether it came from a lack of memory: what gives some back may be followed by another try.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        use graven_pagecache::Error as Cache;
        matches!(
            self,
            Error::Budget(_)
                | Error::Cache(Cache::Budget(_) | Cache::AllPinned { .. } | Cache::Map { .. })
        )
    }

    /// Whether a page of the file is damaged or cannot be read. A request to object storage that
    /// fails says nothing of the page.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        use graven_pagecache::Error as Cache;
        use std::io::ErrorKind;
        if let Error::Cache(Cache::Io { source, .. }) = self
            && matches!(
                source.kind(),
                ErrorKind::HostUnreachable | ErrorKind::PermissionDenied
            )
        {
            return false;
        }
        matches!(
            self,
            Error::Damaged { .. }
                | Error::Inconsistent { .. }
                | Error::LabelsLost { .. }
                | Error::CatalogueLost { .. }
                | Error::Cache(Cache::Damaged { .. } | Cache::Io { .. } | Cache::BeyondEnd { .. })
        )
    }

    /// Whether the same work may succeed in a new transaction.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Conflict { .. })
    }

    /// Whether the commit that gave this error is durable; `None` if it was no commit that failed
    /// at the log (nothing of it is durable then).
    #[must_use]
    pub fn durable(&self) -> Option<Durable> {
        match self {
            Error::LogFailed { durable, .. } | Error::DiskFull { durable, .. } => Some(*durable),
            _ => None,
        }
    }
}

/// What can be done about a file of another format.
fn what_to_do(found: u32, known: u32) -> &'static str {
    match found.cmp(&known) {
        Ordering::Less => "`graven upgrade` makes a copy of it that this build reads",
        Ordering::Equal => "it needs no other",
        Ordering::Greater => "read it with the build that wrote it, or one that is newer",
    }
}

/// Values in a message: simple ones as the language writes them. Of dates and the like only
/// `graven` knows how.
fn shown(values: &[PropertyValue]) -> String {
    let one = |value: &PropertyValue| match value {
        PropertyValue::String(text) => told!("\"{text}\""),
        PropertyValue::Integer(number) => number.to_string(),
        PropertyValue::Float(number) => format!("{number:?}"),
        PropertyValue::Boolean(truth) => truth.to_string(),
        other => format!("a {}", other.type_name()),
    };
    values.iter().map(one).collect::<Vec<_>>().join(", ")
}
