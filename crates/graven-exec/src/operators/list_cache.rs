//! Lists of neighbours that a statement keeps laid out.

use crate::memory::Memory;
use crate::operators::neighbor_batch::csr_lists::CsrLists;
use crate::worker_pool::CooperativeCell;
use foldhash::{HashMap, HashMapExt as _};
use graven_cypher::plan::Expr;
use graven_storage::TypeId;
use std::sync::Arc;
use std::sync::Mutex;

/// What is laid out: type, direction, whether loops are left out, ends.
pub(super) type Key = (TypeId, bool, bool, Option<Vec<(u64, u64)>>);

/// The lists of a statement; what is laid out when, and from what, is said in
/// [`super::adjacency_cache`].
pub(crate) struct AdjacencyCache {
    pub(super) known: Mutex<HashMap<Key, Arc<CooperativeCell<State>>>>,
    /// Holds what is laid out; made by the first that needs it, so that it counts for the
    /// statement.
    pub(super) memory: Mutex<Option<Memory>>,
    /// Lists with a condition.
    pub(super) conditional: Mutex<Vec<Conditional>>,
}

/// Incoming lists with a condition on relationships, and how far they have come.
pub(super) struct Conditional {
    pub(super) key: Key,
    pub(super) condition: Expr,
    pub(super) state: Arc<CooperativeCell<State>>,
}

/// How far an adjacency has come.
pub(super) enum State {
    /// What its visits have cost, and whether its lists have one neighbour each as far as is known.
    Visited {
        cost: u64,
        to_one: bool,
    },
    /// It does not fit.
    TooLarge,
    There(Arc<CsrLists>),
}

impl State {
    /// It was not visited yet.
    pub(super) const NEW: Self = Self::Visited {
        cost: 0,
        to_one: false,
    };
}

impl AdjacencyCache {
    pub(crate) fn new() -> Self {
        Self {
            known: Mutex::new(HashMap::new()),
            memory: Mutex::new(None),
            conditional: Mutex::default(),
        }
    }
}
