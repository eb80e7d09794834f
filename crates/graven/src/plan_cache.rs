//! Plans by statement text, so that a program that asks the same thing again does not plan again.
//!
//! # How it works
//! A plan depends on the text and on which parameters are given (their names, never their values). The cache
//! holds up to [`PLANS_MAX`] texts; when it is full the one used longest ago goes. Names stay text in a plan, so it
//! stays right while data changes; it is made anew when the number of nodes is no longer of the same size, for it
//! was chosen by that, and all are dropped when indexes or constraints change.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use graven_cypher::Plan;

/// Texts kept.
const PLANS_MAX: usize = 256;

#[derive(Default)]
pub(crate) struct PlanCache {
    inner: Mutex<Plans>,
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
    text: Arc<str>,
    plan: Arc<Plan>,
}

/// Whether two numbers of nodes are of the same size.
fn alike(a: u64, b: u64) -> bool {
    /// Numbers below this are all small.
    const SMALL: u64 = 100;
    let (small, large) = (a.min(b) + SMALL, a.max(b) + SMALL);
    large <= small.saturating_mul(2)
}

impl PlanCache {
    /// The plan made for this text and these parameter names, and the text as it is kept.
    pub(crate) fn get<'a>(
        &self,
        text: &str,
        params: impl ExactSizeIterator<Item = &'a str>,
        nodes: u64,
    ) -> Option<(Arc<str>, Arc<Plan>)> {
        let mut plans = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        plans.clock += 1;
        let now = plans.clock;
        let entry = plans.by_text.get_mut(text)?;
        let same = entry.params.len() == params.len()
            && entry.params.iter().map(String::as_str).eq(params);
        if !same || !alike(entry.nodes, nodes) {
            return None;
        }
        entry.last_use = now;
        Some((Arc::clone(&entry.text), Arc::clone(&entry.plan)))
    }

    /// Forgets all plans: indexes or constraints have changed.
    pub(crate) fn clear(&self) {
        let mut plans = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        plans.by_text.clear();
    }

    /// Keeps a plan; it replaces one for the same text and other parameters.
    pub(crate) fn put(
        &self,
        text: &Arc<str>,
        params: BTreeSet<String>,
        nodes: u64,
        plan: Arc<Plan>,
    ) {
        let mut plans = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.by_text.len() >= PLANS_MAX && !plans.by_text.contains_key(&**text) {
            let oldest = plans
                .by_text
                .iter()
                .min_by_key(|(_, e)| e.last_use)
                .map(|(t, _)| Arc::clone(t));
            if let Some(oldest) = oldest {
                plans.by_text.remove(&oldest);
            }
        }
        plans.clock += 1;
        let entry = Entry {
            last_use: plans.clock,
            params,
            nodes,
            text: Arc::clone(text),
            plan,
        };
        plans.by_text.insert(Arc::clone(text), entry);
    }
}
