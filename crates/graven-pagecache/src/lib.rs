//! Page cache: frames, size classes, translation, latches, faults, eviction, budget.
