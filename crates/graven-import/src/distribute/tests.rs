// Goal: records come out in order whatever was spilled, however nodes are weighted, and where a
// range needs another way. Method: pseudo-random records against a plain sort.
use super::*;
use graven_types::rng::SplitMix64;

const NODES: u64 = 100_000;

type Record = (Key, Vec<u8>);

fn records(n: u64, second: u64) -> Vec<Record> {
    let mut random = SplitMix64::new(3);
    (0..n)
        .map(|_| {
            // Low ids come more often.
            let node = random.below(NODES).min(random.below(NODES)) / (1 + random.below(9));
            let bytes = vec![random.bits() as u8; random.place(12)];
            ([node, random.below(second)], bytes)
        })
        .collect()
}

fn sorted(limit: u64, weights: &Weights, input: &[Record]) -> (Vec<Record>, u64) {
    let dir = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(dir.path().join("scratch"), 0).unwrap();
    let bytes = input.iter().map(|(_, bytes)| 9 + bytes.len() as u64).sum();
    let mut distributor = Distributor::new(&scratch, limit, weights, input.len() as u64, bytes);
    for (key, bytes) in input {
        distributor.push(*key, bytes).unwrap();
    }
    let mut sorted = distributor.finish();
    let mut out = Vec::new();
    while let Some((key, bytes)) = sorted.next().unwrap() {
        out.push((key, bytes.to_vec()));
    }
    (out, scratch.spilled())
}

fn by_degree(input: &[Record]) -> Weights {
    let mut degrees = vec![0; NODES as usize];
    input
        .iter()
        .for_each(|(key, _)| degrees[key[0] as usize] += 1);
    let ids: Vec<u32> = (0..NODES as u32).collect();
    Weights::of_degrees(&ids, &degrees)
}

#[test]
fn neither_memory_nor_weights_change_the_order() {
    // Second numbers that need more than a word go another way.
    for second in [1, 500, 1 << 40, u64::MAX] {
        let input = records(300_000, second);
        let mut expected = input.clone();
        expected.sort();
        for weights in [by_degree(&input), Weights::even(NODES)] {
            let (in_memory, spilled) = sorted(1 << 30, &weights, &input);
            assert!(in_memory == expected, "{second}");
            assert!(second == u64::MAX || spilled == 0, "{spilled}");
            let (from_file, spilled) = sorted(1 << 20, &weights, &input);
            assert!(from_file == expected, "{second}");
            assert!(spilled > 2 << 20, "{spilled}");
        }
    }
}

/// Goal: a node with more records than fit in memory is sorted all the same.
#[test]
fn a_range_that_does_not_fit_goes_through_a_sorter() {
    let mut input = records(100_000, 1 << 20);
    input.iter_mut().for_each(|(key, _)| key[0] = 77);
    let (out, spilled) = sorted(256 << 10, &by_degree(&input), &input);
    input.sort();
    assert!(out == input);
    assert!(spilled > 2 << 20, "{spilled}");
}

#[test]
fn nothing_and_one_record() {
    assert!(sorted(0, &Weights::even(0), &[]).0.is_empty());
    let one = vec![([0, 5], vec![1])];
    assert_eq!(sorted(0, &Weights::even(1), &one).0, one);
}
