//! The graph of the traversals: computed, not stored.

use graven_types::rng::mix;

/// A graph that is computed.
pub(super) struct Graph {
    pub(super) nodes: u64,
}

impl Graph {
    /// 4 to 131, most of them small.
    pub(super) fn degree(&self, node: u64) -> u64 {
        let unit = (mix(node ^ 0xdeca) >> 11) as f64 / (1u64 << 53) as f64;
        4 + (unit.powi(6) * 128.0) as u64
    }

    pub(super) fn neighbour(&self, node: u64, place: u64) -> u64 {
        let bits = mix(node.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place);
        if bits & 1 == 0 {
            let near = (bits >> 1) % 2_048;
            return (node + self.nodes + near - 1_024.min(self.nodes)) % self.nodes;
        }
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        ((unit * unit * unit * self.nodes as f64) as u64).min(self.nodes - 1)
    }
}
