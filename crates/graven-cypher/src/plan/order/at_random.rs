//! Any order of a pattern at all, for plans that chance makes (`plan/forced.rs`).

use super::{OrderStep, Ordered, Search, State};
use crate::plan::forced::Dice;

/// No step is taken that is expected to give more rows than this, while there is another one.
const ROWS_MAX: f64 = 50_000.0;

/// Times of a hundred that a step goes on from what is found, where it can.
const CONNECTED: usize = 75;

impl Search<'_> {
    /// A way by steps at random; mostly connected ones, since the others multiply rows.
    pub(super) fn walk(&self, mut state: State, mut dice: Dice) -> Option<Vec<Ordered>> {
        while state.nodes.len() + state.edges.len() < self.goal {
            let mut next = self.successors(&state, true);
            let fewest = next.iter().map(rows).fold(f64::INFINITY, f64::min);
            next.retain(|state| rows(state) <= ROWS_MAX.max(fewest));
            let connected = dice.below(100) < CONNECTED;
            if next.iter().any(|state| follows(state) == connected) {
                next.retain(|state| follows(state) == connected);
            }
            if next.is_empty() {
                return None;
            }
            let chosen = dice.below(next.len());
            state = next.swap_remove(chosen);
        }
        Some(state.way)
    }
}

/// What the newest step gives.
fn rows(state: &State) -> f64 {
    state.way.last().map_or(0.0, |step| step.rows)
}

/// Whether the newest step goes on from what was found before.
fn follows(state: &State) -> bool {
    let step = state.way.last().map(|ordered| &ordered.step);
    !matches!(step, Some(OrderStep::Find { .. }))
}
