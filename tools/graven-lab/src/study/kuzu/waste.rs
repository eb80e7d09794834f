//! Figures 1 to 3 of the original as an experiment: a small memory whose pages are pinned and given
//! back at random.
//!
//! # How it works
//! The memory has 64 KiB. Requests ask for pages of 2 or 4 KiB, hold them pinned for a while, then
//! leave them unpinned. A request that finds no room evicts unpinned pages, oldest first; it is
//! refused when none is left. Three layouts are played the same requests: one pool of contiguous
//! memory (a page needs one piece), two static pools of half the memory for each size, and size
//! classes (every class has its own addresses, so only the sum of bytes counts). A refusal is
//! *waste* when all pinned pages together leave enough bytes. The first such moment is drawn.

use graven_types::rng::SplitMix64;

use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::study::{Section, Table};

/// Units of 2 KiB.
const UNITS: usize = 32;
const UNIT_KIB: f64 = 2.0;
const REQUESTS: usize = 20_000;
/// Pages that are pinned at once, on average.
const PINNED: u64 = 9;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    Contiguous,
    TwoPools,
    Classes,
}

impl Layout {
    pub(super) const ALL: [Self; 3] = [Self::Contiguous, Self::TwoPools, Self::Classes];

    fn name(self) -> &'static str {
        match self {
            Self::Contiguous => "one pool, contiguous (figure 1)",
            Self::TwoPools => "two static pools (figure 2)",
            Self::Classes => "size classes (figure 3)",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Page {
    /// First unit; for size classes within the class's own addresses.
    at: usize,
    units: usize,
    /// The request that unpins it.
    until: usize,
}

/// What became of the requests.
pub(super) struct Played {
    pub(super) layout: Layout,
    refused: usize,
    /// Refused although enough bytes were not pinned.
    pub(super) wasted: usize,
    /// Pages at the first such moment, the request's number and its units.
    moment: Option<(Vec<Page>, usize, usize)>,
}

pub(super) fn play(layout: Layout) -> Played {
    let mut random = SplitMix64::new(7);
    let mut pages: Vec<Page> = Vec::new();
    let mut played = Played {
        layout,
        refused: 0,
        wasted: 0,
        moment: None,
    };
    for request in 0..REQUESTS {
        // Phases that ask for one size more than for the other, as a query's scans and
        // intermediates do.
        let large = random.below(100) < if request / 200 % 2 == 0 { 85 } else { 25 };
        let units = if large { 2 } else { 1 };
        let until = request + 1 + random.below(2 * PINNED * if large { 1 } else { 2 }) as usize;
        let at = loop {
            if let Some(at) = place(layout, &pages, units) {
                break Some(at);
            }
            let Some(victim) = pages.iter().position(|page| {
                page.until <= request && (layout != Layout::TwoPools || page.units == units)
            }) else {
                break None;
            };
            pages.remove(victim);
        };
        match at {
            Some(at) => pages.push(Page { at, units, until }),
            None => {
                played.refused += 1;
                let pinned: usize = pages
                    .iter()
                    .filter(|page| page.until > request)
                    .map(|page| page.units)
                    .sum();
                if UNITS - pinned >= units {
                    played.wasted += 1;
                    played
                        .moment
                        .get_or_insert_with(|| (pages.clone(), request, units));
                }
            }
        }
    }
    played
}

/// Where a page of so many units fits.
fn place(layout: Layout, pages: &[Page], units: usize) -> Option<usize> {
    let is_free = |at: usize, class: Option<usize>| {
        pages.iter().all(|page| {
            class.is_some_and(|class| page.units != class)
                || at + units <= page.at
                || page.at + page.units <= at
        })
    };
    let (from, to, class) = match (layout, units) {
        (Layout::Contiguous, _) => (0, UNITS, None),
        (Layout::TwoPools, 2) => (0, UNITS / 2, None),
        (Layout::TwoPools, _) => (UNITS / 2, UNITS, None),
        (Layout::Classes, _) => {
            let used: usize = pages.iter().map(|page| page.units).sum();
            if used + units > UNITS {
                return None;
            }
            (0, UNITS, Some(units))
        }
    };
    let step = if layout == Layout::Contiguous {
        1
    } else {
        units
    };
    (from..=to - units)
        .step_by(step)
        .find(|&at| is_free(at, class))
}

pub(super) fn measure() -> Vec<Played> {
    Layout::ALL.into_iter().map(play).collect()
}

pub(super) fn section(all: &[Played]) -> Section {
    let mut table = Table::new(
        &format!(
            "{REQUESTS} requests for pages of 2 and 4 KiB in 64 KiB, the same for each layout"
        ),
        &["layout", "refused", "of them with enough bytes not pinned"],
    );
    for one in all {
        table.rows.push(vec![
            one.layout.name().to_owned(),
            one.refused.to_string(),
            one.wasted.to_string(),
        ]);
    }
    let drawn = all
        .iter()
        .filter_map(|one| Some((one, one.moment.as_ref()?)));
    let panels = drawn.map(|(one, (pages, request, units))| {
        let blocks = |is_pinned: bool| {
            let of = pages
                .iter()
                .filter(|page| (page.until > *request) == is_pinned);
            let (points, lengths) = of
                .map(|page| {
                    let start = (page.at as f64 * UNIT_KIB, 0.0);
                    (start, page.units as f64 * UNIT_KIB)
                })
                .unzip();
            (points, lengths)
        };
        let series = |name: &str, (points, errors): (Vec<(f64, f64)>, Vec<f64>)| Series {
            name: name.to_owned(),
            points,
            errors,
        };
        Panel {
            title: format!(
                "{}: {} KiB refused",
                one.layout.name(),
                *units as f64 * UNIT_KIB
            ),
            x: Axis {
                include: vec![0.0, UNITS as f64 * UNIT_KIB],
                ..Axis::linear("KiB of the memory")
            },
            shape: Shape::Blocks,
            series: vec![
                series("pinned", blocks(true)),
                series("unpinned", blocks(false)),
            ],
            ..Panel::default()
        }
    });
    Section {
        title: "Fragmentation and static waste (figures 1 to 3)".to_owned(),
        text: vec![
            "The original draws three moments; here they are found by playing requests. A refusal \
                with enough bytes not pinned is waste: in one pool because \
             they lie in pieces, in two pools because they belong to the other size. Size classes \
             refuse only what does not fit into the sum."
                .to_owned(),
        ],
        figures: vec![Figure {
            name: "waste".to_owned(),
            title: "Memory when a request is first refused with enough bytes not pinned".to_owned(),
            panels: panels.collect(),
            columns: 2,
        }],
        tables: vec![table],
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: contiguous memory and static pools waste, size classes never; all three hold no more
    /// than the memory.
    #[test]
    fn size_classes_waste_nothing() {
        let [contiguous, pools, classes] = Layout::ALL.map(play);
        assert!(contiguous.wasted > 0 && pools.wasted > 0);
        assert_eq!(classes.wasted, 0);
        assert!(classes.refused <= contiguous.refused && classes.refused <= pools.refused);
        let figure = &section(&[contiguous, pools, classes]).figures[0];
        assert_eq!(figure.panels.len(), 2, "nothing to draw of the third");
        assert!(figure.svg().contains("4 KiB refused"));
    }
}
