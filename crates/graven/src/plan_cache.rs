//! Plans by statement text, so that a program that asks the same thing again does not plan again.
//!
//! # How it works
//! A plan depends on the text and on which parameters are given: on their names, never on their
//! values, but for those that stand for labels or types, whose texts it was made for. The cache
//! holds up to [`PLANS_MAX`] texts; when it is full the one used longest ago goes. Names stay text
//! in a plan, so it stays right while data changes; it is made anew when the number of nodes, or
//! that of a label or type it asked for, is no longer of the same size, for it was chosen by those
//! ([`Counted`]), and all are dropped when indexes or constraints change.
//!
//! With a plan lie its physical plans ([`PhysicalPlans`]), from which every run starts its
//! operators.
//!
//! A prepared statement remembers a copy of its plan itself and asks only whether the cache has
//! been emptied since: no lock that all threads take, no hashing of its text, no counter of
//! references that all threads write.

mod compiled_statement;

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use graven_cypher::Plan;
use graven_cypher::plan::Notice as PlanNotice;
use graven_exec::{PhysicalPlans, UserFunctions};
use graven_pagecache::{Budget, Reservation};
use graven_storage::Snapshot;

use crate::error::{Error, Retry};
use crate::functions::Functions;
use crate::params::Params;
use crate::right::Right;
use crate::summary::StatementKind;
use crate::value::Value;

/// A plan, the text it was made of and the headings of its result.
#[derive(Clone, Debug)]
pub(crate) struct CompiledStatement {
    pub(crate) text: Arc<str>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) columns: Arc<[String]>,
    pub(crate) does: PlanProperties,
    counted: Arc<Counted>,
    /// What a long text and its plan are charged.
    pub(crate) memory: Option<Arc<Reservation>>,
    pub(crate) physical: Arc<PhysicalPlans>,
    /// Functions of the connection it was planned with, if it calls one.
    pub(crate) functions: Option<Arc<UserFunctions>>,
    /// How long it took this time to come by it.
    pub(crate) planning: Duration,
}

/// What is shown of a statement that may hold a password.
const HIDDEN: &str = "(a statement about users)";

/// What a plan does, found out once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanProperties {
    pub(crate) kind: StatementKind,
    /// Whether running it changes something.
    write: bool,
    run_in_transactions: bool,
    merge: bool,
    call: bool,
    needs: (Right, bool),
    secret: bool,
    /// It does something, though it changes nothing in the database.
    acts: bool,
    /// It calls a procedure that has transactions of its own.
    makes_transactions: bool,
    /// It depends on files, which may be others the next time.
    on_files: bool,
    /// It reads rows of files or frames.
    loads: bool,
    /// It has macros written out, which may be others the next time.
    pub(crate) has_macros: bool,
}

impl CompiledStatement {
    /// Whether it is the plan for the labels and types that these parameters hold.
    fn suits(&self, params: &Params) -> bool {
        let mut made_for = self.plan.planned_for.iter();
        made_for.all(|(name, texts)| {
            let given = params.get(name).and_then(texts_of);
            given.is_some_and(|given| given == *texts)
        })
    }

    /// Whether running it changes something.
    pub(crate) fn writes(&self) -> bool {
        self.does.write
    }

    /// Whether it is about users.
    pub(crate) fn is_about_users(&self) -> bool {
        self.does.secret
    }

    /// What running it needs, and whether it concerns only the user that runs it.
    pub(crate) fn needs(&self) -> (Right, bool) {
        self.does.needs
    }

    /// Whether a procedure of it has transactions of its own.
    pub(crate) fn makes_transactions(&self) -> bool {
        self.does.makes_transactions
    }

    /// Whether it does something, whether or not its rows are read.
    pub(crate) fn acts(&self) -> bool {
        self.does.acts
    }

    /// Whether it is right for the next run, too: a plan of files or macros is not, and a name may
    /// have come to exist of which a notice says that it does not. Other notices are about the text
    /// alone and stay right with the plan.
    fn is_lasting(&self) -> bool {
        let changing = self.does.on_files || self.does.has_macros;
        let unknown = |notice: &PlanNotice| notice.code.starts_with("Unknown");
        let knows_names = !self.plan.notices.iter().any(unknown);
        knows_names && !self.does.secret && !changing
    }

    /// Whether it is right for all connections. Functions are those of one, and go with it.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_lasting() && self.functions.is_none()
    }

    /// Whether it reads rows of files or frames.
    pub(crate) fn loads(&self) -> bool {
        self.does.loads
    }

    /// Whether running it makes transactions of its own.
    pub(crate) fn runs_in_transactions(&self) -> bool {
        self.does.run_in_transactions
    }

    /// Whether it may meet a duplicate of a `MERGE` beside it.
    pub(crate) fn merges(&self) -> bool {
        self.does.merge
    }

    /// Whether it calls procedures.
    pub(crate) fn calls(&self) -> bool {
        self.does.call
    }

    /// A copy that shares nothing with this one, so that threads with prepared statements of their
    /// own do not write the same counters of references; a long one, which is charged, is shared.
    fn apart(&self) -> CompiledStatement {
        let planning = Duration::ZERO;
        if self.memory.is_some() {
            return CompiledStatement {
                planning,
                ..self.clone()
            };
        }
        CompiledStatement {
            text: Arc::from(&*self.text),
            plan: Arc::new(Plan::clone(&self.plan)),
            columns: self.columns.to_vec().into(),
            does: self.does,
            counted: Arc::new(self.counted.apart()),
            memory: None,
            physical: Arc::default(),
            functions: self.functions.clone(),
            planning,
        }
    }
}

/// What a prepared statement remembers of its plan, so that it need not look it up.
#[derive(Debug)]
pub(crate) struct CachedPlan {
    planned: CompiledStatement,
    params: Vec<Arc<str>>,
    nodes: u64,
    generation: u64,
}

impl CachedPlan {
    /// A plan made while the cache was at `generation`; none if it may be out of date by the next
    /// time.
    pub(crate) fn new(
        planned: &CompiledStatement,
        params: &Params,
        nodes: u64,
        generation: u64,
    ) -> Option<Self> {
        let kept = planned.is_lasting();
        kept.then(|| CachedPlan {
            planned: planned.apart(),
            params: params.iter().map(|(name, _)| Arc::from(name)).collect(),
            nodes,
            generation,
        })
    }

    /// The plan, if the cache would still give it for these parameters.
    pub(crate) fn get(
        &self,
        params: &Params,
        snapshot: &Snapshot,
        nodes: u64,
        (generation, functions): (u64, &Functions),
    ) -> Option<CompiledStatement> {
        let made_with = self.planned.functions.as_ref();
        if made_with.is_some_and(|made_with| !Arc::ptr_eq(made_with, &functions.now())) {
            return None;
        }
        let names = params.iter().map(|(name, _)| name);
        let same = self.generation == generation
            && self.params.len() == names.len()
            && self.params.iter().map(|name| &**name).eq(names);
        let suits = same && alike(self.nodes, nodes) && self.planned.suits(params);
        (suits && self.planned.counted.hold(snapshot, nodes)).then(|| self.planned.clone())
    }
}

/// Counts that a plan was chosen by.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    labels: Vec<(Arc<str>, u64)>,
    types: Vec<(Arc<str>, u64)>,
    /// Nodes, and bytes of all commits, when they were compared last with what is there.
    nodes: AtomicU64,
    written: AtomicU64,
    /// Runs of the plan.
    runs: AtomicU64,
}

impl Counted {
    pub(crate) fn new(
        labels: Vec<(Arc<str>, u64)>,
        types: Vec<(Arc<str>, u64)>,
        nodes: u64,
    ) -> Self {
        Counted {
            labels,
            types,
            nodes: AtomicU64::new(nodes),
            written: AtomicU64::default(),
            runs: AtomicU64::default(),
        }
    }

    fn apart(&self) -> Counted {
        let nodes = self.nodes.load(Ordering::Relaxed);
        let counted = Counted::new(self.labels.clone(), self.types.clone(), nodes);
        let written = self.written.load(Ordering::Relaxed);
        counted.written.store(written, Ordering::Relaxed);
        counted
    }

    /// Whether they are still of the same size. They are compared when nodes have come or gone,
    /// when much was written, labels and relationships for example, and every few runs.
    fn hold(&self, snapshot: &Snapshot, nodes: u64) -> bool {
        /// So many nodes more or fewer change nothing, nor do so many bytes of commits.
        const NODES: u64 = 50;
        const BYTES: u64 = 4096;
        /// Runs between two comparisons.
        const RUNS: u64 = 32;
        let runs = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let written = snapshot.written_bytes();
        let near = self.nodes.load(Ordering::Relaxed).abs_diff(nodes) < NODES
            && self.written.load(Ordering::Relaxed).abs_diff(written) < BYTES;
        if near && !runs.is_multiple_of(RUNS) {
            return true;
        }
        let labels = self.labels.iter().all(|(name, then)| {
            let label = snapshot.label(name);
            alike(*then, label.map_or(0, |label| snapshot.label_count(label)))
        });
        let hold = labels
            && self.types.iter().all(|(name, then)| {
                let of = snapshot.rel_type(name);
                alike(*then, of.map_or(0, |of| snapshot.type_count(of)))
            });
        if hold {
            self.nodes.store(nodes, Ordering::Relaxed);
            self.written.store(written, Ordering::Relaxed);
        }
        hold
    }
}

/// Most texts of a parameter that a plan is made for.
const TEXTS_MAX: usize = 16;

/// The texts that a parameter holds, where it is a text or a short list of them.
pub(crate) fn texts_of(value: &Value) -> Option<Vec<Arc<str>>> {
    let text = |value: &Value| value.as_str().map(Arc::from);
    match value {
        Value::List(items) if items.len() <= TEXTS_MAX => items.iter().map(text).collect(),
        value => Some(vec![text(value)?]),
    }
}

/// Texts kept.
const PLANS_MAX: usize = 256;

/// Part of the memory limit that the plans kept may take.
const PLANS_SHARE: u64 = 8;

/// Texts of fewer bytes are not charged with their plans.
const LONG_TEXT: usize = 512;

/// Bytes that a byte of text takes, and a word or a sign of it more, as tokens, tree, plan and
/// operators.
const BYTE_BYTES: u64 = 64;
const TOKEN_BYTES: u64 = 128;

/// Bytes that a text and its plan take, about.
pub(crate) fn plan_bytes(text: &str) -> u64 {
    let mut tokens = 0_u64;
    let mut in_word = false;
    for byte in text.bytes() {
        let is_word = byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        tokens += u64::from(!(byte.is_ascii_whitespace() || is_word && in_word));
        in_word = is_word;
    }
    let of_bytes = (text.len() as u64).saturating_mul(BYTE_BYTES);
    of_bytes.saturating_add(tokens.saturating_mul(TOKEN_BYTES))
}

/// Reserves what a text and its plan take.
///
/// # Errors
/// `Memory.Limit`.
pub(crate) fn reserved(
    text: &str,
    bytes: impl FnOnce(&str) -> u64,
    budget: &Arc<Budget>,
) -> Result<Option<Reservation>, Error> {
    if text.len() < LONG_TEXT {
        return Ok(None);
    }
    let bytes = bytes(text);
    let reserved = budget.reserve("statement texts and plans", bytes);
    reserved.map(Some).map_err(|refusal| {
        let retry = match bytes > budget.limit() / 2 {
            true => Retry::IsUseless,
            false => Retry::MayHelp,
        };
        let message = format!(
            "the statement's text of {} bytes is too long for the memory limit: {refusal}; give \
                its values as parameters",
            text.len()
        );
        Error::with_retry("Memory.Limit", message, retry)
    })
}

#[derive(Default)]
pub(crate) struct PlanCache {
    inner: Mutex<Plans>,
    /// How often all plans were forgotten.
    generation: AtomicU64,
}

#[derive(Default)]
struct Plans {
    by_text: HashMap<Arc<str>, Entry>,
    clock: u64,
}

struct Entry {
    last_use: u64,
    params: BTreeSet<String>,
    /// Nodes when it was made.
    nodes: u64,
    planned: CompiledStatement,
}

/// Whether two numbers of nodes are of the same size.
fn alike(a: u64, b: u64) -> bool {
    /// Numbers below this are all small.
    const SMALL: u64 = 100;
    let (small, large) = (a.min(b) + SMALL, a.max(b) + SMALL);
    large <= small.saturating_mul(2)
}

impl PlanCache {
    /// The plan made for this text and these parameters, and the text as it is kept.
    pub(crate) fn get(
        &self,
        text: &str,
        params: &Params,
        snapshot: &Snapshot,
        nodes: u64,
    ) -> Option<CompiledStatement> {
        let known = self.known(text, params, nodes)?;
        known.counted.hold(snapshot, nodes).then_some(known)
    }

    fn known(&self, text: &str, params: &Params, nodes: u64) -> Option<CompiledStatement> {
        let mut plans = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        plans.clock += 1;
        let now = plans.clock;
        let entry = plans.by_text.get_mut(text)?;
        let names = params.iter().map(|(name, _)| name);
        let same =
            entry.params.len() == names.len() && entry.params.iter().map(String::as_str).eq(names);
        if !same || !alike(entry.nodes, nodes) || !entry.planned.suits(params) {
            return None;
        }
        entry.last_use = now;
        Some(entry.planned.clone())
    }

    /// Forgets all plans: indexes or constraints have changed.
    pub(crate) fn clear(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        let mut plans = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        plans.by_text.clear();
    }

    /// Changes whenever plans made before must not be used any more.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Keeps a plan; it replaces one for the same text and other parameters.
    pub(crate) fn put(
        &self,
        params: BTreeSet<String>,
        nodes: u64,
        planned: CompiledStatement,
        limit: u64,
    ) {
        let bytes =
            |planned: &CompiledStatement| planned.memory.as_ref().map_or(0, |it| it.bytes());
        let room = (limit / PLANS_SHARE).checked_sub(bytes(&planned));
        let Some(room) = room else { return };
        let mut plans = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let kept: u64 = plans.by_text.values().map(|e| bytes(&e.planned)).sum();
            let full =
                plans.by_text.len() >= PLANS_MAX && !plans.by_text.contains_key(&planned.text);
            if !full && kept <= room {
                break;
            }
            let oldest = plans
                .by_text
                .iter()
                .min_by_key(|(_, e)| e.last_use)
                .map(|(t, _)| Arc::clone(t));
            let Some(oldest) = oldest else { break };
            plans.by_text.remove(&oldest);
        }
        plans.clock += 1;
        let text = Arc::clone(&planned.text);
        let entry = Entry {
            last_use: plans.clock,
            params,
            nodes,
            planned,
        };
        plans.by_text.insert(text, entry);
    }
}
