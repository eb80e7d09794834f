//! Which way the next sweep goes: up and down in turn, remembered by the thread across statements.

use std::cell::Cell;

use graven_storage::Sweep;

thread_local!(static DOWN: Cell<bool> = const { Cell::new(false) });

/// The direction of the next sweep, the opposite of the one before.
pub(crate) fn alternate() -> Sweep {
    DOWN.with(|down| {
        let now = down.get();
        down.set(!now);
        if now { Sweep::Down } else { Sweep::Up }
    })
}
