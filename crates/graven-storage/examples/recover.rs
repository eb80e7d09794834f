//! What opening takes after a crash, for transactions of any size and databases of any memory.
//!
//! `cargo run --release -p graven-storage --example recover FOLDER KIND COUNT PER_TRANSACTION MIB`,
//! where KIND is `nodes`, `relationships` or `mixed`, makes a database of 200,000 nodes, commits
//! COUNT operations in transactions of so many, leaves it without a checkpoint, and opens it three
//! times with MIB of memory: seconds, also per 100 MB of log. An operation is a node with four
//! properties, a relationship between two nodes picked by chance, or two nodes with a relationship
//! between them. As many threads recover as there are processors. With COUNT 0 it opens what an
//! earlier call left: for profilers, which then see nothing else.

use graven_io::{File, OpenOptions as FileOptions};
use graven_pagecache::{Budget, Config, PageCache, SpillFile};
use graven_storage::{
    Durability, GraphBuilder, LogPlace, NodeId, OpenOptions, PropertyValue, Store, Transaction,
    TransactionOptions,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const NODES: u64 = 200_000;
/// Nodes created with one call.
const ROWS: u64 = 1000;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[derive(Debug)]
struct Beside(PathBuf);

impl Beside {
    fn open(&self, create: bool) -> graven_storage::Result<Arc<dyn File>> {
        let options = FileOptions {
            create,
            ..FileOptions::default()
        };
        Ok(graven_io::open(&self.0, &options)?)
    }
}

impl LogPlace for Beside {
    fn path(&self) -> PathBuf {
        self.0.clone()
    }

    fn existing(&self) -> graven_storage::Result<Option<Arc<dyn File>>> {
        self.0.exists().then(|| self.open(false)).transpose()
    }

    fn create(&self) -> graven_storage::Result<Arc<dyn File>> {
        self.open(true)
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn open(folder: &Path, memory: u64) -> Outcome<Arc<Store>> {
    let file = graven_io::open(folder.join("recover.graven"), &FileOptions::default())?;
    let cache = PageCache::new(Config::new(Budget::new(memory)))?;
    let spill = SpillFile::at(&cache, folder.join("recover.graven-tmp"), u64::MAX)?;
    let mut options = OpenOptions::new(Box::new(Beside(folder.join("recover.graven-wal"))));
    options.spill = Some(Arc::new(spill));
    options.own_checkpoints = false;
    options.fold_on_close = None;
    options.threads = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Store::open_with(file, cache, options)?)
}

/// Operations `from..to` of a transaction.
fn operations(transaction: &Transaction, what: &str, from: u64, to: u64) -> Outcome {
    let (person, knows) = (transaction.label("Person")?, transaction.rel_type("KNOWS")?);
    let keys = ["id", "name", "born", "text"].map(|key| transaction.key(key));
    let [id, name, born, text] = keys;
    let (id, name, born, text) = (id?, name?, born?, text?);
    let integer = |number: u64| PropertyValue::Integer(number as i64);
    match what {
        "nodes" => {
            for first in (from..to).step_by(ROWS as usize) {
                let numbers = first..to.min(first + ROWS);
                let of =
                    |value: &dyn Fn(u64) -> PropertyValue| numbers.clone().map(value).collect();
                let columns = vec![
                    (id, of(&integer)),
                    (
                        name,
                        of(&|number| PropertyValue::string(&format!("name {}", number % 977))),
                    ),
                    (born, of(&|number| integer(number % 36_525))),
                    (text, of(&|_| PropertyValue::string("what a person wrote"))),
                ];
                let count = (numbers.end - numbers.start) as usize;
                transaction.create_nodes(&[person], count, columns)?;
            }
        }
        "relationships" => {
            for number in from..to {
                let mixed = |by: u64| NodeId((number.wrapping_mul(by) >> 20) % NODES);
                let (start, end) = (mixed(0x9e37_79b9_7f4a_7c15), mixed(0xff51_afd7_ed55_8ccd));
                transaction.create_relationship(start, knows, end, &[])?;
            }
        }
        _ => {
            for number in from..to {
                let ada = PropertyValue::string("Ada Lovelace");
                let (number, other) = (integer(number), integer(number + 1));
                let one = [
                    (id, number.clone()),
                    (name, ada.clone()),
                    (born, number.clone()),
                ];
                let two = [(id, other), (name, ada), (born, number.clone())];
                let start = transaction.create_node(&[person], &one)?;
                let end = transaction.create_node(&[person], &two)?;
                transaction.create_relationship(start, knows, end, &[(born, number)])?;
            }
        }
    }
    Ok(())
}

/// What all threads have had of the processor, in hundredths; 0 where the system does not say.
fn busy_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name of the program, which may hold anything.
    let behind = text.rsplit(')').next().unwrap_or_default();
    let times = behind.split_whitespace().skip(11).take(2);
    times
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

/// Nodes and relationships.
fn counts(store: &Store) -> (u64, u64) {
    let snapshot = store.snapshot();
    let statistics = snapshot.catalog().statistics();
    (statistics.nodes, statistics.relationships)
}

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, what, count, each, memory] = &args[..] else {
        return Err("FOLDER nodes|relationships|mixed COUNT PER_TRANSACTION MIB".into());
    };
    let (count, each): (u64, u64) = (count.parse()?, each.parse()?);
    let memory = memory.parse::<u64>()? << 20;
    let folder = Path::new(folder);
    let (bytes, wanted) = match count {
        0 => (
            std::fs::metadata(folder.join("recover.graven-wal"))?.len(),
            None,
        ),
        _ => {
            let (bytes, wanted) = make(folder, what, count, each)?;
            (bytes, Some(wanted))
        }
    };
    for _ in 0..3 {
        let (begun, busy) = (Instant::now(), busy_seconds());
        let store = open(folder, memory)?;
        let took = begun.elapsed().as_secs_f64();
        let busy = busy_seconds() - busy;
        assert!(wanted.is_none_or(|wanted| counts(&store) == wanted));
        println!(
            "{what}: {:.1} MB of log, opened in {took:.3} s ({busy:.2} s of the processors), {:.2} \
                s ({:.2} s) per 100 MB",
            bytes as f64 / 1e6,
            took * 1e8 / bytes as f64,
            busy * 1e8 / bytes as f64
        );
    }
    Ok(())
}

/// Makes the database and leaves it as after a crash: bytes of its log that count, what is in it.
fn make(folder: &Path, what: &str, count: u64, each: u64) -> Outcome<(u64, (u64, u64))> {
    for name in ["recover.graven", "recover.graven-wal"] {
        let _ = std::fs::remove_file(folder.join(name));
    }
    let create = FileOptions {
        create: true,
        ..FileOptions::default()
    };
    let mut graph = GraphBuilder::new();
    for number in 0..NODES {
        let number = PropertyValue::Integer(number as i64);
        graph.node(&["Person"], &[("id", number)]);
    }
    graph.build(graven_io::open(folder.join("recover.graven"), &create)?)?;
    let store = open(folder, 2 << 30)?;
    let options = TransactionOptions::default().durability(Durability::Off);
    let mut bytes = 0;
    for from in (0..count).step_by(each as usize) {
        let transaction = store.begin(options.clone())?;
        operations(&transaction, what, from, count.min(from + each))?;
        bytes += transaction.commit()?.log_bytes;
    }
    let wanted = counts(&store);
    // As after a crash: what was committed is in the log only.
    store.log().map(|log| log.sync()).transpose()?;
    Ok((bytes, wanted))
}
