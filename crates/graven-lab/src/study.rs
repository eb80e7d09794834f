//! Reports that put a founding document's claims to the test: one self-contained page each.
//!
//! # How it works
//! A page is a list of sections (text, tables, figures) and ends in a table of verdicts: every claim of the original with
//! what was seen here, confirmed, refuted, or not testable on this machine, and why. Verdicts are computed from the runs
//! that the page shows, so they cannot disagree with it. The page, a run file and every figure (SVG and PNG) go to one folder.
//!
//! | report | original |
//! | --- | --- |
//! | [`neo4j`] | the study of Neo4j's page cache: policies under threads, three hops |
//! | [`thesis`] | the thesis on replacement policies: counters, arms, CLOCK variants, history |
//! | [`kuzu`] | variable-size pages: two static pools against size classes |

mod kuzu;
mod layout;
mod neo4j;
mod thesis;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;

use crate::error::LabError;
use crate::figure::Figure;
use crate::machine::Machine;
use crate::report::chart::escape;
use crate::simulate::{Run, Simulation, Size};
use graven_trace::ReadOptions;

/// Which report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The study of Neo4j's page cache.
    Neo4jStudy,
    /// The thesis.
    Thesis,
    /// Variable-size pages.
    KuzuPages,
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "neo4j-study" => Ok(Self::Neo4jStudy),
            "thesis" => Ok(Self::Thesis),
            "kuzu-pages" => Ok(Self::KuzuPages),
            _ => Err(format!(
                "`{text}`: expected neo4j-study, thesis or kuzu-pages"
            )),
        }
    }
}

impl Which {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Neo4jStudy => "neo4j-study",
            Self::Thesis => "thesis",
            Self::KuzuPages => "kuzu-pages",
        }
    }
}

/// What a report is made from.
#[derive(Clone, Debug)]
pub struct Study {
    /// Which one.
    pub which: Which,
    /// Folder of the recorded traces.
    pub traces: PathBuf,
    /// Folder with `knows.csv[.zst]` of the social network.
    pub data: PathBuf,
    /// A database of that network, if there is one.
    pub database: Option<PathBuf>,
    /// The starts of the three-hop question, for that database.
    pub params: Option<PathBuf>,
    /// Folder for files that are removed afterwards.
    pub scratch: PathBuf,
    /// A tenth of the work, for a look.
    pub quick: bool,
    /// The command line that asked for it.
    pub command: String,
}

/// A finished page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// Title.
    pub title: String,
    /// What it is about, in a sentence or two.
    pub lead: String,
    /// Sections.
    pub sections: Vec<Section>,
    /// Claims and what became of them.
    pub verdicts: Vec<Verdict>,
}

/// A section of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// Title.
    pub title: String,
    /// Paragraphs.
    pub text: Vec<String>,
    /// Figures.
    #[serde(skip)]
    pub figures: Vec<Figure>,
    /// Tables.
    pub tables: Vec<Table>,
}

/// A table: head and rows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(caption: &str, head: &[&str]) -> Self {
        Self {
            caption: caption.to_owned(),
            head: head.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
        }
    }
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// It is so here, too.
    Confirmed,
    /// It is not so here.
    Refuted,
    /// This machine cannot tell.
    NotTestable,
}

/// A claim of the original.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// What the original says.
    pub claim: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What was seen, with numbers.
    pub why: String,
}

/// Told what is done at the moment.
pub type Tell<'a> = &'a mut dyn FnMut(&str);

impl Study {
    /// Makes the report.
    ///
    /// # Errors
    /// Traces or data that cannot be read, runs that fail.
    pub fn run(&self, tell: Tell<'_>) -> Result<Page, LabError> {
        match self.which {
            Which::Neo4jStudy => neo4j::page(self, tell),
            Which::Thesis => thesis::page(self, tell),
            Which::KuzuPages => kuzu::report(self, tell),
        }
    }

    fn trace(&self, name: &str) -> PathBuf {
        self.traces.join(format!("{name}.u64.zst"))
    }

    /// Simulates policies on a trace at some sizes.
    fn simulate(
        &self,
        trace: &str,
        policies: &[&str],
        sizes: &[u64],
    ) -> Result<Vec<Run>, LabError> {
        let simulation = Simulation {
            traces: vec![self.trace(trace)],
            policies: policies.iter().map(|policy| (*policy).to_owned()).collect(),
            sizes: sizes.iter().map(|&pages| Size::Pages(pages)).collect(),
            page_bytes: 8192,
            read: ReadOptions::default(),
            seed: 1,
            threads: 0,
        };
        simulation.run(&mut |_| std::ops::ControlFlow::Continue(()))
    }
}

/// The run of a policy at a size.
fn find<'a>(runs: &'a [Run], policy: &str, pages: u64) -> Option<&'a Run> {
    runs.iter()
        .find(|run| run.policy == policy && run.capacity_pages == pages)
}

fn percent(share: f64) -> String {
    format!("{:.2}", share * 100.0)
}

impl Page {
    /// All figures.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        self.sections
            .iter()
            .flat_map(|section| section.figures.clone())
            .collect()
    }

    /// The page as HTML with everything inside.
    #[must_use]
    pub fn html(&self, study: &Study) -> String {
        let mut page = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Graven: {title}</title><style>{}{}</style>\
             </head><body><main><h1>{title}</h1><p class=\"lead\">{}</p>",
            include_str!("report/style.css"),
            include_str!("study/style.css"),
            escape(&self.lead),
            title = escape(&self.title),
        );
        self.verdict_table(&mut page);
        for section in &self.sections {
            let _ = write!(page, "<h2>{}</h2>", escape(&section.title));
            for text in &section.text {
                let _ = write!(page, "<p>{}</p>", escape(text));
            }
            for figure in &section.figures {
                let _ = write!(page, "<div class=\"figure\">{}</div>", figure.svg());
            }
            section
                .tables
                .iter()
                .for_each(|table| table.html(&mut page));
        }
        let machine = Machine::describe(&study.scratch);
        let _ = writeln!(
            page,
            "<h2>How it was made</h2><p><code>{}</code></p><p class=\"note\">Graven {}, {}. {}, {} hardware threads, {} of memory, \
             kernel {}, {}.{}</p></main></body></html>",
            escape(&study.command),
            env!("CARGO_PKG_VERSION"),
            crate::demo::today(),
            escape(&machine.processor),
            machine.cores,
            graven::format_bytes(machine.memory_bytes),
            escape(&machine.kernel),
            escape(&machine.storage),
            if study.quick {
                " A quick look: a tenth of the work; numbers are rough."
            } else {
                ""
            }
        );
        page
    }

    fn verdict_table(&self, page: &mut String) {
        page.push_str(
            "<h2>Verdicts</h2><div class=\"wide\"><table><thead><tr><th>claim of the original</th><th>here</th>\
             <th>what was seen</th></tr></thead><tbody>",
        );
        for verdict in &self.verdicts {
            let (class, word) = match verdict.outcome {
                Outcome::Confirmed => ("yes", "confirmed"),
                Outcome::Refuted => ("no", "refuted"),
                Outcome::NotTestable => ("open", "not testable here"),
            };
            let _ = write!(
                page,
                "<tr><td class=\"free\">{}</td><td><b class=\"{class}\">{word}</b></td><td class=\"free\">{}</td></tr>",
                escape(&verdict.claim),
                escape(&verdict.why)
            );
        }
        page.push_str("</tbody></table></div>");
    }

    /// Writes the page, its figures and a run file into a folder; returns the page's path.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn save(&self, study: &Study, folder: &Path) -> Result<PathBuf, LabError> {
        std::fs::create_dir_all(folder).map_err(LabError::io(folder, "making the folder"))?;
        let path = folder.join(format!("{}.html", study.which.name()));
        std::fs::write(&path, self.html(study)).map_err(LabError::io(&path, "writing"))?;
        Ok(path)
    }
}

impl Table {
    fn html(&self, page: &mut String) {
        let _ = write!(
            page,
            "<h3>{}</h3><div class=\"wide\"><table><thead><tr>",
            escape(&self.caption)
        );
        let is_number = |column: usize| {
            let cells = || self.rows.iter().filter_map(|row| row.get(column));
            let numeric = |cell: &String| {
                cell.chars()
                    .next()
                    .is_some_and(|c| c.is_ascii_digit() || c == '-')
            };
            column > 0 && cells().all(numeric)
        };
        let class = |column| {
            if is_number(column) {
                " class=\"n\""
            } else {
                ""
            }
        };
        for (column, name) in self.head.iter().enumerate() {
            let _ = write!(page, "<th{}>{}</th>", class(column), escape(name));
        }
        page.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            page.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let _ = write!(page, "<td{}>{}</td>", class(column), escape(cell));
            }
            page.push_str("</tr>");
        }
        page.push_str("</tbody></table></div>");
    }
}

#[cfg(test)]
mod tests;
