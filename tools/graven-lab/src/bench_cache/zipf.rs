//! Zipfian page numbers over scattered pages.

use graven_types::rng::SplitMix64;

/// Accesses to `pages` pages for each of `threads` threads: exactly Zipfian with exponent 0.99,
/// ranks scattered over the pages at random.
pub(super) fn traces(pages: u32, threads: usize, length: usize) -> Vec<Vec<u32>> {
    let mut sums = Vec::with_capacity(pages as usize);
    let mut sum = 0.0;
    for rank in 1..=pages {
        sum += f64::from(rank).powf(-0.99);
        sums.push(sum);
    }
    let mut order: Vec<u32> = (0..pages).collect();
    let mut random = SplitMix64::new(42);
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    (0..threads)
        .map(|thread| {
            let mut random = SplitMix64::new(1000 + thread as u64);
            let mut draw = || {
                let point = random.unit() * sum;
                order[sums.partition_point(|&s| s < point).min(order.len() - 1)]
            };
            (0..length).map(|_| draw()).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the hottest of 1,000 pages gets about 13 % of the accesses, as exponent 0.99 says.
    #[test]
    fn the_first_rank_has_its_share() {
        let trace = traces(1000, 1, 100_000).remove(0);
        let mut counts = vec![0u32; 1000];
        trace.iter().for_each(|&page| counts[page as usize] += 1);
        let share = f64::from(*counts.iter().max().unwrap()) / 1e5;
        assert!((0.12..0.14).contains(&share), "{share}");
        assert!(counts.iter().filter(|&&count| count > 0).count() > 990);
    }
}
