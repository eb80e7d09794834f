// Goal: the generated network is the same for the same seed and has the shape of LDBC's data.
// Method: degree distribution, clustering and three-hop reach beside those of the real SF1 and SF10
// graphs; `docs/reference/generator.md` shows the table that `cargo test -- --nocapture` prints.
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use graven_import::generate::{Compression, Social, SocialOptions, social};
use graven_import::{ImportOptions, ImportSource};

use crate::{dump, go_on, open, run, shared};

fn generate(dir: &Path, scale: f64, seed: u64, compress: Compression) {
    let options = SocialOptions {
        network: Social { scale, seed },
        out: dir.to_path_buf(),
        compress,
        memory: 1 << 30,
    };
    let report = social(&options, &mut go_on).unwrap();
    assert_eq!(report.files.len(), 3);
}

fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let mut text = String::new();
    if path.extension().is_some_and(|e| e == "zst") {
        zstd::Decoder::new(&bytes[..])
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        return text;
    }
    String::from_utf8(bytes).unwrap()
}

struct Shape {
    persons: usize,
    friendships: usize,
    mean: f64,
    median: usize,
    p99: usize,
    max: usize,
    isolated: usize,
    clustering: f64,
    reach: f64,
}

/// Sorted friend lists of a graph.
fn adjacency(persons: &Path, knows: &Path) -> (Vec<Vec<u32>>, usize) {
    let persons = text(persons);
    let ids: HashMap<&str, u32> = persons
        .lines()
        .skip(1)
        .map(|l| l.split('|').next().unwrap())
        .zip(0..)
        .collect();
    let mut friends = vec![Vec::new(); ids.len()];
    let mut rows = 0;
    let mut last = (0u64, 0u64);
    for line in text(knows).lines().skip(1) {
        let mut fields = line.split('|');
        let (a, b) = (fields.next().unwrap(), fields.next().unwrap());
        let pair = (a.parse().unwrap(), b.parse().unwrap());
        assert!(pair.0 < pair.1 && pair != last, "{line}");
        last = pair;
        let (a, b) = (ids[a], ids[b]);
        friends[a as usize].push(b);
        friends[b as usize].push(a);
        rows += 1;
    }
    friends.iter_mut().for_each(|f| f.sort_unstable());
    (friends, rows)
}

fn shape(persons: &Path, knows: &Path) -> Shape {
    let (friends, friendships) = adjacency(persons, knows);
    let n = friends.len();
    let mut degrees: Vec<usize> = friends.iter().map(Vec::len).collect();
    degrees.sort_unstable();
    let sample = |count: usize| (0..count).map(move |i| i * (n / count)).take(count);
    let (mut clustering, mut counted) = (0.0, 0);
    for v in sample(1_000) {
        let mine = &friends[v];
        if mine.len() < 2 {
            continue;
        }
        let shared = |u: &u32| {
            friends[*u as usize]
                .iter()
                .filter(|w| mine.binary_search(w).is_ok())
                .count()
        };
        let closed: usize = mine.iter().map(shared).sum();
        clustering += closed as f64 / (mine.len() * (mine.len() - 1)) as f64;
        counted += 1;
    }
    let starts = 50;
    let reached: usize = sample(starts).map(|v| three_hops(&friends, v)).sum();
    Shape {
        persons: n,
        friendships,
        mean: degrees.iter().sum::<usize>() as f64 / n as f64,
        median: degrees[n / 2],
        p99: degrees[n * 99 / 100],
        max: degrees[n - 1],
        isolated: degrees.iter().filter(|d| **d == 0).count(),
        clustering: clustering / f64::from(counted),
        reach: reached as f64 / starts as f64 / n as f64,
    }
}

fn three_hops(friends: &[Vec<u32>], start: usize) -> usize {
    let mut seen = vec![false; friends.len()];
    seen[start] = true;
    let (mut frontier, mut reached) = (vec![start as u32], 0);
    for _ in 0..3 {
        let mut next = Vec::new();
        for v in frontier {
            for w in &friends[v as usize] {
                if !std::mem::replace(&mut seen[*w as usize], true) {
                    next.push(*w);
                }
            }
        }
        reached += next.len();
        frontier = next;
    }
    reached
}

fn compare(scale: f64, set: &str, person: &str, knows: &str) {
    let Some(folder) = shared(set) else { return };
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path(), scale, 1, Compression::Zstd);
    let real = shape(&folder.join(person), &folder.join(knows));
    let ours = shape(
        &dir.path().join("person.csv.zst"),
        &dir.path().join("knows.csv.zst"),
    );
    for (name, s) in [("LDBC", &real), ("generated", &ours)] {
        println!(
            "| {scale} | {name} | {} | {} | {:.1} | {} | {} | {} | {} | {:.3} | {:.1} % |",
            s.persons,
            s.friendships,
            s.mean,
            s.median,
            s.p99,
            s.max,
            s.isolated,
            s.clustering,
            s.reach * 100.0
        );
    }
    assert_eq!(ours.persons, real.persons);
    let near = |what: &str, ours: f64, real: f64, most: f64| {
        let ratio = ours / real;
        assert!(
            ratio < most && ratio > 1.0 / most,
            "{what}: {ours} beside {real}"
        );
    };
    near(
        "friendships",
        ours.friendships as f64,
        real.friendships as f64,
        1.05,
    );
    near("median", ours.median as f64, real.median as f64, 1.15);
    near("p99", ours.p99 as f64, real.p99 as f64, 1.35);
    near("max", ours.max as f64, real.max as f64, 1.2);
    near("isolated", ours.isolated as f64, real.isolated as f64, 1.4);
    near("clustering", ours.clustering, real.clustering, 1.3);
    near("reach", ours.reach, real.reach, 1.15);
}

#[test]
fn scale_1_has_the_shape_of_sf1() {
    compare(
        1.0,
        "ldbc-snb-sf1-core",
        "dynamic/person.csv.zst",
        "dynamic/person_knows_person.csv.zst",
    );
}

#[test]
fn scale_10_has_the_shape_of_sf10() {
    compare(
        10.0,
        "ldbc-snb-sf10-knows",
        "person.csv.zst",
        "knows.csv.zst",
    );
}

#[test]
fn the_bytes_depend_on_scale_and_seed_alone() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    generate(&at("a"), 0.05, 7, Compression::None);
    generate(&at("b"), 0.05, 7, Compression::Zstd);
    generate(&at("c"), 0.05, 8, Compression::None);
    let knows = text(&at("a").join("knows.csv"));
    assert_eq!(knows, text(&at("b").join("knows.csv.zst")));
    assert_ne!(knows, text(&at("c").join("knows.csv")));
    // FNV-1a of the three files: a change here changes every generated network.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for name in ["person.csv", "knows.csv", "three-hop-params.csv"] {
        for byte in text(&at("a").join(name)).bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    assert_eq!(hash, 0x2506_671b_4522_a533, "{hash:#x}");
}

#[test]
fn a_scale_out_of_range_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for scale in [0.0, -1.0, f64::NAN, 1e9] {
        let out = dir.path().to_path_buf();
        let options = SocialOptions {
            network: Social { scale, seed: 1 },
            out,
            compress: Compression::None,
            memory: 1 << 20,
        };
        assert!(
            social(&options, &mut go_on)
                .unwrap_err()
                .to_string()
                .contains("out of range")
        );
    }
}

/// Goal: what does not fit in memory is the same network (GE-1).
#[test]
fn little_memory_changes_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let mut texts = [4 << 10, 1 << 30].map(|memory| {
        let options = SocialOptions {
            network: Social {
                scale: 0.3,
                seed: 5,
            },
            out: dir.path().join(memory.to_string()),
            compress: Compression::None,
            memory,
        };
        social(&options, &mut go_on).unwrap();
        let names: Vec<_> = std::fs::read_dir(&options.out).unwrap().collect();
        assert_eq!(names.len(), 3, "the scratch folder is gone");
        text(&options.out.join("knows.csv"))
    });
    assert!(texts[0] == texts[1]);
    assert!(texts[0].lines().count() > 30_000);
    texts[0].clear();
}

/// Goal: a network imported while it is made is the one that its tables give.
#[test]
fn a_network_is_imported_without_files() {
    let dir = tempfile::tempdir().unwrap();
    let network = Social {
        scale: 0.2,
        seed: 3,
    };
    let tables = dir.path().join("tables");
    generate(&tables, network.scale, network.seed, Compression::None);
    let options = ImportOptions::default();
    let [files, made] = [
        ("files", ImportSource::Ldbc(tables)),
        ("made", ImportSource::Generated(network)),
    ]
    .map(|(name, source)| {
        let target = dir.path().join(name);
        let report = run(&target, &source, &options).unwrap();
        (
            report.relationships,
            report.input_bytes,
            dump(&open(&target)),
        )
    });
    assert!(files.0 > 10_000);
    assert!(files == made);
}
