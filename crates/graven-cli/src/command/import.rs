//! `graven import`: builds a new database from tables of text.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use graven::{Config, Connection, Database};
use graven_convert::{Imported, import_graphar, import_neo4j};
use graven_import::generate::Social;
use graven_import::{
    CsvFormat, ImportOptions, ImportReport, ImportSource, NamedCount, NodeOrder, TableArgument,
    TableSource,
};

use crate::allocator;
use crate::argument;
use crate::failure::Failure;
use crate::open::check_is_file;
use crate::progress::ProgressReporter;

/// Build a new database from tables of text.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  graven import social.graven --ldbc ldbc-snb-sf10-knows
  graven import shop.graven --nodes Person=person.csv --relationships BOUGHT=bought.csv
  graven import shop.graven --neo4j-export all.json
  graven import shop.graven --graphar shop.graph.yml
  graven import big.graven --generate social --scale 100

Tables given with --nodes and --relationships carry a header in Neo4j's convention, for example
`id:ID(Person)|name|age:int|:LABEL` and `:START_ID(Person)|:END_ID(Item)|since:date`. Files may be
compressed with zstd or gzip. A failed import leaves nothing behind.")]
pub(crate) struct Import {
    /// The database file to make; it must not exist
    db: PathBuf,
    /// A folder in one of the layouts of the LDBC social network
    #[arg(long, value_name = "DIR", conflicts_with_all = ["nodes", "relationships"])]
    ldbc: Option<PathBuf>,
    /// A folder of tables that `graven export --neo4j` wrote
    #[arg(long, value_name = "DIR", conflicts_with_all = ["ldbc", "nodes", "relationships"])]
    neo4j: Option<PathBuf>,
    /// A file that Neo4j's APOC exported: Cypher, JSON, CSV or GraphML; GraphML of other programs,
    /// too
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ldbc", "neo4j", "nodes", "relationships"])]
    neo4j_export: Option<PathBuf>,
    /// A graph in Apache GraphAr's format: the folder, or the file NAME.graph.yml
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = ["ldbc", "neo4j", "neo4j_export", "nodes", "relationships"]
    )]
    graphar: Option<PathBuf>,
    /// A network that is generated while it is imported, without files between them
    #[arg(
        long,
        value_name = "NETWORK",
        conflicts_with_all = [
            "ldbc", "neo4j", "neo4j_export", "graphar", "nodes", "relationships", "dry_run"
        ]
    )]
    generate: Option<Network>,
    /// Size of the generated network, as for `graven generate social`
    #[arg(long, requires = "generate", default_value_t = 1.0)]
    scale: f64,
    /// Seed of the generated network
    #[arg(long, requires = "generate", default_value_t = 1)]
    seed: u64,
    /// A node table: Label=FILE[,FILE...]; repeatable
    #[arg(long, value_name = "LABEL=FILE", num_args = 1..)]
    nodes: Vec<TableArgument>,
    /// A relationship table: TYPE=FILE[,FILE...]; repeatable
    #[arg(long, value_name = "TYPE=FILE", num_args = 1..)]
    relationships: Vec<TableArgument>,
    /// Character between fields (default: what the header holds most of, of | , ; and tab)
    #[arg(long, conflicts_with_all = ["neo4j_export", "graphar"])]
    #[arg(value_parser = argument::one_byte)]
    delimiter: Option<u8>,
    /// Character between the elements of an array (default: ; or, where that is between fields, |)
    #[arg(long, conflicts_with_all = ["neo4j_export", "graphar"])]
    #[arg(value_parser = argument::one_byte)]
    array_delimiter: Option<u8>,
    /// Quote character, or `none`
    #[arg(long, default_value = "\"")]
    quote: String,
    /// Memory for the import; what does not fit is sorted on disk beside the target
    #[arg(long, value_parser = argument::bytes)]
    memory: Option<u64>,
    /// Worker threads
    #[arg(long, conflicts_with_all = ["neo4j_export", "graphar"])]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Order of node ids: degree (hubs first, dense hot pages) or file
    #[arg(long, default_value = "degree")]
    order: NodeOrder,
    /// Read the headers of the tables, print what they would become, and make nothing
    #[arg(long, conflicts_with_all = ["neo4j_export", "graphar"])]
    dry_run: bool,
    /// Write rows that cannot be taken to FILE and go on
    #[arg(long, conflicts_with_all = ["neo4j_export", "graphar"], value_name = "FILE")]
    skip_bad_rows: Option<PathBuf>,
}

/// What can be generated.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Network {
    /// Persons and their friendships, in the shape of LDBC's
    Social,
}

impl Import {
    pub(crate) fn run(self) -> Result<(), Failure> {
        check_is_file(&self.db)?;
        if let Some(file) = &self.neo4j_export {
            return self.load(|connection| import_neo4j(connection, file));
        }
        if let Some(path) = &self.graphar {
            return self.load(|connection| import_graphar(connection, path));
        }
        let source = self.source()?;
        if self.dry_run {
            return outline(&source);
        }
        let defaults = ImportOptions::default();
        let options = ImportOptions {
            memory: self
                .memory
                .unwrap_or_else(|| graven::default_memory().max(ImportOptions::MEMORY_MIN)),
            order: self.order,
            threads: self.threads.map_or(defaults.threads, usize::from),
            skip_bad_rows: self.skip_bad_rows.clone(),
        };
        let mut phases = ProgressReporter::new();
        let outcome = graven_import::import(&self.db, &source, &options, &mut |p| phases.show(p));
        phases.finish();
        self.print(&outcome?)
    }

    /// Loads a graph by statements; what a failed load has made is removed.
    fn load(
        &self,
        load: impl FnOnce(&Connection) -> graven_convert::Result<Imported>,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        if self.db.exists() {
            let there = format!("{} exists: an import makes a new file", self.db.display());
            return Err(Failure::failed(there));
        }
        let mut config = Config::default();
        config.create = true;
        if let Some(memory) = self.memory {
            config.memory = memory;
        }
        allocator::keep_freed_memory(config.memory);
        let db = Database::open(&self.db, config)?;
        let made = load(&db.connect()).and_then(|made| {
            // The log of a whole graph is more than closing folds, and the next opening would wait.
            db.checkpoint()?;
            Ok(made)
        });
        let closed = db.close();
        let Ok(made) = made else {
            let removed = std::fs::remove_file(&self.db);
            let mut log = self.db.clone().into_os_string();
            log.push("-wal");
            // The log is gone already where the database could be closed.
            let _ = std::fs::remove_file(log);
            removed?;
            return Ok(made.map(drop)?);
        };
        closed?;
        let mut out = std::io::stdout().lock();
        Ok(writeln!(
            out,
            "{}: {} nodes, {} relationships in {:.1} s",
            self.db.display(),
            made.nodes,
            made.relationships,
            started.elapsed().as_secs_f64()
        )?)
    }

    fn source(&self) -> Result<ImportSource, Failure> {
        if let Some(Network::Social) = self.generate {
            return Ok(ImportSource::Generated(Social {
                scale: self.scale,
                seed: self.seed,
            }));
        }
        if let Some(folder) = &self.ldbc {
            return Ok(ImportSource::Ldbc(folder.clone()));
        }
        if let Some(folder) = &self.neo4j {
            return Ok(ImportSource::Tables(tables(folder)?));
        }
        if self.nodes.is_empty() && self.relationships.is_empty() {
            return Err(Failure::usage(
                "nothing to import: give --ldbc DIR, --neo4j-export FILE, --neo4j DIR, --graphar \
                 PATH, --generate social, or --nodes LABEL=FILE and --relationships TYPE=FILE",
            ));
        }
        let tables = self.nodes.iter().chain(&self.relationships);
        if let Some(url) = tables
            .flat_map(|it| &it.files)
            .find(|it| graven::is_url(it))
        {
            let url = url.display();
            return Err(Failure::usage(format!(
                "{url}: an import reads local files; fetch it, or load it into a database with \
                 COPY ... FROM '{url}'"
            )));
        }
        let quote = match self.quote.as_str() {
            "none" | "" => None,
            text => Some(argument::one_byte(text).map_err(Failure::usage)?),
        };
        let format = CsvFormat {
            delimiter: self.delimiter,
            array_delimiter: self.array_delimiter,
            quote,
        };
        Ok(ImportSource::Tables(TableSource {
            nodes: self.nodes.clone(),
            relationships: self.relationships.clone(),
            format,
        }))
    }

    fn print(&self, report: &ImportReport) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let seconds = report.elapsed.as_secs_f64();
        writeln!(
            out,
            "{}: {} nodes, {} relationships in {seconds:.1} s ({:.0} relationships/s), {}",
            self.db.display(),
            report.nodes,
            report.relationships,
            report.relationships as f64 / seconds.max(1e-9),
            graven::format_bytes(report.file_bytes)
        )?;
        counts(&mut out, "labels", &report.labels)?;
        counts(&mut out, "types", &report.types)?;
        let notes = [
            (
                report.repeated_friendships,
                "friendships that are repeated, each stored once",
            ),
            (
                report.skipped_rows,
                "rows skipped, see the file of --skip-bad-rows",
            ),
            (
                report.ignored_files.len() as u64,
                "files left out, without a table of the bulk data",
            ),
        ];
        for (count, text) in notes.iter().filter(|(count, _)| *count > 0) {
            eprintln!("note: {count} {text}");
        }
        for NamedCount { name, count } in &report.created_by_reference {
            eprintln!("note: {count} {name} nodes exist only by their id, named in relationships");
        }
        for path in &report.removed_leftovers {
            eprintln!(
                "note: removed {}, left by an import that was killed",
                path.display()
            );
        }
        Ok(())
    }
}

/// Prints what an import would make.
fn outline(source: &ImportSource) -> Result<(), Failure> {
    let outline = graven_import::outline(source)?;
    let mut out = std::io::stdout().lock();
    for table in &outline.tables {
        let files: Vec<String> = table
            .files
            .iter()
            .map(|f| f.display().to_string())
            .collect();
        writeln!(out, "{}  from {}", table.pattern, files.join(", "))?;
        let widths = table.columns.iter().map(|(name, _)| name.chars().count());
        let width = widths.max().unwrap_or(0);
        for (name, meaning) in &table.columns {
            writeln!(out, "  {name:width$}  {meaning}")?;
        }
    }
    for (label, key) in &outline.indexes {
        writeln!(out, "index on (:{label} {{{key}}})")?;
    }
    for file in &outline.ignored {
        writeln!(out, "left out: {}", file.display())?;
    }
    Ok(writeln!(out, "nothing was made (--dry-run)")?)
}

/// The tables that an export describes.
fn tables(folder: &Path) -> Result<TableSource, Failure> {
    let tables = graven_convert::read_tables(folder)?;
    let one = |files: Vec<PathBuf>| -> Vec<TableArgument> {
        let table = |file| TableArgument {
            names: Vec::new(),
            files: vec![file],
        };
        files.into_iter().map(table).collect()
    };
    Ok(TableSource {
        nodes: one(tables.nodes),
        relationships: one(tables.relationships),
        format: CsvFormat {
            delimiter: Some(b','),
            array_delimiter: Some(tables.array_delimiter),
            ..CsvFormat::default()
        },
    })
}

fn counts(
    out: &mut impl std::io::Write,
    title: &str,
    counts: &[NamedCount],
) -> Result<(), Failure> {
    let list: Vec<String> = counts
        .iter()
        .map(|c| format!("{} {}", c.name, c.count))
        .collect();
    if !list.is_empty() {
        writeln!(out, "  {title}: {}", list.join(", "))?;
    }
    Ok(())
}
