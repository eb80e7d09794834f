//! LRU's whole curve by stack distances, while the trace is read.

use graven_trace::dense::Numbering;

use super::Point;
use crate::simulate::StackDistances;

/// LRU by stack distances, while the trace is read.
#[derive(Default)]
pub(super) struct Exact {
    pub(super) numbering: Numbering,
    pub(super) distances: StackDistances,
    pub(super) hits: Vec<u64>,
}

impl Exact {
    pub(super) fn push(&mut self, page: u64) {
        let index = self.numbering.index_of(page);
        if let Some(distance) = self.distances.access(index) {
            if distance >= self.hits.len() {
                self.hits.resize(distance + 1, 0);
            }
            self.hits[distance] += 1;
        }
    }

    pub(super) fn points(&self, sizes: &[u64], accesses: u64) -> Vec<Point> {
        let (mut from, mut sum) = (0, 0);
        let mut points = Vec::new();
        for &capacity_pages in sizes {
            let to = (capacity_pages as usize + 1).min(self.hits.len());
            sum += self.hits[from..to.max(from)].iter().sum::<u64>();
            from = to.max(from);
            points.push(Point {
                capacity_pages,
                miss_ratio: 1.0 - sum as f64 / accesses as f64,
                error: 0.0,
                sampling_rate: 1.0,
            });
        }
        points
    }
}
