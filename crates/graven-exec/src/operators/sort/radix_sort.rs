//! Sorts words, by radix where they are many, on several threads where they are very many.
//!
//! # How it works
//! ```text
//! words -> a run for each thread, sorted by radix -> pairs of runs merged, each merge cut where both halves are equally long
//! ```
//!
//! # Source
//! Odeh, Green, Mwassi, Shmueli and Birk, "Merge Path - Parallel Merging Made Simple", 2012.

use std::ops::Range;

use crate::threads::on_threads;

/// Fewer words than these are compared.
const RADIX_FROM: usize = 2048;
/// Fewer words than these are sorted on one thread.
const THREADS_FROM: usize = 64 << 10;
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Sorts words by `bits` bits from bit `from` on. They come in the order of the bits below, which
/// tell them apart.
pub(super) fn sort_words(words: &mut Vec<u64>, from: u32, bits: u32, threads: usize) {
    if words.len() < RADIX_FROM {
        words.sort_unstable();
        return;
    }
    let mut scratch = vec![0; words.len()];
    if threads < 2 || words.len() < THREADS_FROM {
        sort_run(words, &mut scratch, from, bits);
        return;
    }
    let length = words.len().div_ceil(threads);
    let parts = words.chunks_mut(length).zip(scratch.chunks_mut(length));
    on_threads(parts.collect(), |(run, scratch)| {
        sort_run(run, scratch, from, bits);
    });
    let mut runs: Vec<Range<usize>> = (0..words.len())
        .step_by(length)
        .map(|start| start..words.len().min(start + length))
        .collect();
    while runs.len() > 1 {
        runs = merge_pairs(words, &mut scratch, &runs, threads);
        std::mem::swap(words, &mut scratch);
    }
}

/// Sorts words by radix.
fn sort_run(words: &mut [u64], scratch: &mut [u64], from: u32, bits: u32) {
    let passes = bits.div_ceil(DIGIT_BITS);
    // The digits end at the top bit. The lowest one may reach into bits that are not asked for,
    // which does no harm: the words are in the order of these.
    let shift_of = |pass: u32| (from + bits).saturating_sub((passes - pass) * DIGIT_BITS);
    let mut counts = vec![[0_usize; DIGITS]; passes as usize];
    for word in words.iter() {
        for (pass, counts) in (0..passes).zip(&mut counts) {
            counts[digit(*word, shift_of(pass))] += 1;
        }
    }
    let (mut here, mut there) = (words, scratch);
    let mut turned = false;
    for (pass, counts) in (0..passes).zip(&mut counts) {
        if counts.contains(&here.len()) {
            continue;
        }
        let mut next = 0;
        for count in counts.iter_mut() {
            (*count, next) = (next, next + *count);
        }
        let shift = shift_of(pass);
        for word in here.iter() {
            let place = &mut counts[digit(*word, shift)];
            there[*place] = *word;
            *place += 1;
        }
        std::mem::swap(&mut here, &mut there);
        turned = !turned;
    }
    if turned {
        there.copy_from_slice(here);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "eight bits")]
fn digit(word: u64, shift: u32) -> usize {
    (word >> shift) as usize & (DIGITS - 1)
}

/// Merges runs that stand side by side, two and two, into `to`; the runs there.
fn merge_pairs(
    from: &[u64],
    to: &mut [u64],
    runs: &[Range<usize>],
    threads: usize,
) -> Vec<Range<usize>> {
    let pairs = runs.chunks(2);
    let pieces = threads.div_ceil(pairs.len()).max(1);
    let mut merged = Vec::with_capacity(pairs.len());
    let mut tasks = Vec::new();
    let mut left = to;
    for pair in pairs {
        let a = &from[pair[0].clone()];
        let b = pair.get(1).map_or(&from[..0], |run| &from[run.clone()]);
        let start = pair[0].start;
        let length = a.len() + b.len();
        merged.push(start..start + length);
        let mut before = (0, 0);
        for piece in 1..=pieces {
            let end = length * piece / pieces;
            let behind = (place_in_first(a, b, end), end - place_in_first(a, b, end));
            let part = (&a[before.0..behind.0], &b[before.1..behind.1]);
            let (out, rest) = left.split_at_mut(part.0.len() + part.1.len());
            left = rest;
            tasks.push((part, out));
            before = behind;
        }
    }
    on_threads(tasks, |((a, b), out)| merge(a, b, out));
    merged
}

/// How many of the first `count` words of two runs together come from `a`.
fn place_in_first(a: &[u64], b: &[u64], count: usize) -> usize {
    let (mut low, mut high) = (count.saturating_sub(b.len()), count.min(a.len()));
    while low < high {
        let middle = low.midpoint(high);
        if a[middle] < b[count - middle - 1] {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn merge(a: &[u64], b: &[u64], out: &mut [u64]) {
    let (mut i, mut j) = (0, 0);
    for slot in out {
        let first = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => x < y,
            (x, _) => x.is_some(),
        };
        *slot = if first { a[i] } else { b[j] };
        i += usize::from(first);
        j += usize::from(!first);
    }
}

#[cfg(test)]
mod tests {
    //! Words come out sorted, whatever the bits, the number and the threads.

    use graven_types::rng::SplitMix64;

    use super::*;

    #[test]
    fn words_are_sorted() {
        let mut random = SplitMix64::new(1);
        for (rows, threads) in [
            (0, 1),
            (1, 1),
            (100, 2),
            (2047, 1),
            (2048, 1),
            (20_000, 1),
            (70_000, 2),
            (70_001, 3),
            (66_000, 7),
        ] {
            for (from, bits) in [(20, 44), (20, 3), (24, 37), (17, 13), (17, 0), (30, 8)] {
                let words = (0..rows as u64).map(|row| {
                    let keys = if bits == 0 {
                        0
                    } else {
                        random.bits() >> (64 - bits)
                    };
                    keys << from | row
                });
                let mut words: Vec<u64> = words.collect();
                let mut wanted = words.clone();
                wanted.sort_by_key(|word| word >> from);
                sort_words(&mut words, from, bits, threads);
                assert_eq!(words, wanted, "{rows} {from} {bits} {threads}");
            }
        }
    }
}
