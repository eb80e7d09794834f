//! What became of the claims on variable-size pages.

use super::Outcome;
use super::pools::QUERIES;
use super::ways::Way;
use crate::study::Verdict;

/// Verdicts from outcomes in the order small, middle, large budget, each with two pools first.
pub(super) fn of(outcomes: &[Outcome], ways: &[Way]) -> Vec<Verdict> {
    let incomplete = |at: usize| outcomes[at].incomplete().len();
    let time = |at: usize| -> f64 {
        let both = outcomes[at].ran.iter().zip(&outcomes[at ^ 1].ran);
        let both = both.filter(|(a, b)| a.completed && b.completed);
        both.map(|(one, _)| one.milliseconds).sum()
    };
    let (pools, classes) = (&outcomes[4], &outcomes[5]);
    let end = |outcome: &Outcome| outcome.ran.last().map_or(0.0, |one| one.physical_mib);
    let ratios = [time(1) / time(0).max(1e-9), time(3) / time(2).max(1e-9)];
    let virtual_ratio = classes.start.0 / pools.start.0.max(1.0);
    vec![
        Verdict::judged(
            "With a fixed split three or four queries over whole tables do not complete; with shared memory all do",
            (3..=4).contains(&incomplete(0))
                && (3..=4).contains(&incomplete(2))
                && incomplete(1) + incomplete(3) == 0,
            format!(
                "Incomplete of {QUERIES}: {} and {} with two pools, {} and {} with size classes, at the two smaller budgets.",
                incomplete(0),
                incomplete(2),
                incomplete(1),
                incomplete(3)
            ),
        ),
        Verdict::judged(
            "Completion times are alike where both complete",
            ratios.iter().all(|ratio| (0.67..1.5).contains(ratio)),
            format!(
                "Size classes take {:.2} of the pools' time in the small budget, {:.2} in the middle one.",
                ratios[0], ratios[1]
            ),
        ),
        Verdict::judged(
            "Static pools hold all their memory from the start; shared memory grows with use and stays below",
            pools.start.1 > 0.8 * end(pools)
                && classes.start.1 < 0.3 * end(classes)
                && end(classes) < 0.8 * end(pools),
            format!(
                "Physical memory at the start and after the last query: pools {:.0} and {:.0} MiB, size classes {:.0} and {:.0} MiB.",
                pools.start.1,
                end(pools),
                classes.start.1,
                end(classes)
            ),
        ),
        Verdict::judged(
            "The buffer manager with size classes takes about twice the virtual memory at the start",
            (1.5..3.0).contains(&virtual_ratio),
            format!(
                "{:.0} MiB against {:.0} MiB: all classes of Graven cut their frames out of one reservation, where the original reserved the whole \
                 budget once for each class.",
                classes.start.0, pools.start.0
            ),
        ),
        Verdict::judged(
            "Pointer swizzling would save over a hash map from page to frame",
            ways[2].chained < 0.8 * ways[0].chained,
            format!(
                "{:.1} ns by a swizzled word, {:.1} ns by an array, {:.1} ns by a hash map, where each access waits for the one before; a checked and \
                 counted read of Graven, which keeps an array and moves frames, takes {:.1} ns.",
                ways[2].chained, ways[1].chained, ways[0].chained, ways[4].chained
            ),
        ),
        Verdict::not_testable(
            "LDBC business-intelligence queries on Kuzu, before and after",
            "Kuzu's two buffer managers are not part of this program; what they ask of a page cache is modelled.",
        ),
    ]
}
