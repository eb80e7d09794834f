//! A report's page: opening, verdicts, sections with figures and tables, and how it was made, as
//! one HTML file.
//!
//! # How it works
//! Everything stands in the file itself: style sheets, figures as SVG, tables. The page loads
//! nothing from elsewhere.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Study;
use crate::error::LabError;
use crate::figure::Figure;
use crate::report::chart::escape;
use crate::statistics::Standing;

/// A finished page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// Title.
    pub title: String,
    /// What it is about, in a sentence or two.
    pub lead: String,
    /// What came out, a sentence or two each.
    pub summary: Vec<String>,
    /// Sections.
    pub sections: Vec<Section>,
    /// Claims and what became of them.
    pub verdicts: Vec<Verdict>,
    /// Figures and tables of the original beside ours.
    pub exhibits: Vec<Exhibit>,
    /// Ids that the report's questions start from, in the order of asking.
    pub starts: Vec<i64>,
    /// Seed of policies and workloads that draw.
    pub seed: u64,
}

/// A figure or table of the original beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct Exhibit {
    /// The part of the report that shows it.
    pub part: &'static str,
    /// Where it stands in the original.
    pub source: &'static str,
    /// What it shows.
    pub what: &'static str,
    /// The original's numbers; what it draws without numbers is named so.
    pub numbers: &'static str,
    /// Ours.
    pub ours: String,
}

/// A section of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// Its name for `--only`.
    pub part: &'static str,
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
    /// The interval of what was measured, widened by the noise of the run, crosses the line.
    Undecided,
    /// This machine cannot tell.
    NotTestable,
}

impl Outcome {
    /// Class of the mark and word.
    pub(super) fn shown(self) -> (&'static str, &'static str) {
        match self {
            Self::Confirmed => ("yes", "confirmed"),
            Self::Refuted => ("no", "refuted"),
            Self::Undecided => ("open", "undecided"),
            Self::NotTestable => ("open", "not testable here"),
        }
    }
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Basis {
    /// Counts, which come out the same every time.
    Counted,
    /// Times of paired rounds, judged as `statistics.rs` says.
    Timed,
    /// A model of the original, not the original.
    Model,
    /// Nothing.
    None,
}

impl Basis {
    fn word(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::Timed => "timed",
            Self::Model => "model",
            Self::None => "-",
        }
    }
}

/// A claim of the original.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The part of the report that shows it.
    pub part: &'static str,
    /// Where it stands in the original.
    pub source: &'static str,
    /// The original's numbers, or that it gives none.
    pub numbers: &'static str,
    /// What the original says.
    pub claim: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What that rests on.
    pub basis: Basis,
    /// What was seen, with numbers.
    pub why: String,
}

impl Verdict {
    /// A claim that counts tell.
    pub(super) fn judged(claim: &str, holds: bool, why: String) -> Self {
        Self {
            part: "",
            source: "",
            numbers: "no numbers",
            claim: claim.to_owned(),
            outcome: if holds {
                Outcome::Confirmed
            } else {
                Outcome::Refuted
            },
            basis: Basis::Counted,
            why,
        }
    }

    /// A claim that times tell.
    pub(super) fn timed(claim: &str, standing: Standing, why: String) -> Self {
        Self {
            part: "",
            source: "",
            numbers: "no numbers",
            claim: claim.to_owned(),
            outcome: match standing {
                Standing::Confirmed => Outcome::Confirmed,
                Standing::Refuted => Outcome::Refuted,
                Standing::Undecided => Outcome::Undecided,
            },
            basis: Basis::Timed,
            why,
        }
    }

    /// The same, with the part that shows it, its place in the original and the original's numbers.
    pub(super) fn of(
        self,
        part: &'static str,
        source: &'static str,
        numbers: &'static str,
    ) -> Self {
        Self {
            part,
            source,
            numbers,
            ..self
        }
    }

    /// The same, seen on a model of the original.
    pub(super) fn modelled(self) -> Self {
        Self {
            basis: Basis::Model,
            ..self
        }
    }

    /// A claim that this machine cannot tell.
    pub(super) fn not_testable(claim: &str, why: &str) -> Self {
        Self {
            part: "",
            source: "",
            numbers: "no numbers",
            claim: claim.to_owned(),
            outcome: Outcome::NotTestable,
            basis: Basis::None,
            why: why.to_owned(),
        }
    }
}

impl Page {
    /// Writes the opening: how the claims fared, and what else is worth knowing first.
    pub(super) fn summarise(&mut self) {
        let count = |outcome: Outcome| {
            let of = self.verdicts.iter().filter(|one| one.outcome == outcome);
            of.count()
        };
        let fared = format!(
            "Of {} claims, {} are confirmed here, {} refuted, {} undecided, {} not testable on \
                this machine.",
            self.verdicts.len(),
            count(Outcome::Confirmed),
            count(Outcome::Refuted),
            count(Outcome::Undecided),
            count(Outcome::NotTestable)
        );
        self.summary.insert(0, fared);
    }

    /// Adds the section of a part.
    pub(super) fn push(&mut self, part: &'static str, section: Section) {
        self.sections.push(Section { part, ..section });
    }

    /// Adds a figure or table of the original beside ours.
    pub(super) fn exhibit(
        &mut self,
        part: &'static str,
        source: &'static str,
        what: &'static str,
        numbers: &'static str,
        ours: impl Into<String>,
    ) {
        self.exhibits.push(Exhibit {
            part,
            source,
            what,
            numbers,
            ours: ours.into(),
        });
    }

    /// Leaves one part alone.
    pub(super) fn keep(&mut self, part: &str) {
        self.sections.retain(|section| section.part == part);
        self.verdicts.retain(|verdict| verdict.part == part);
        self.exhibits.retain(|exhibit| exhibit.part == part);
    }

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
             <meta name=\"viewport\" content=\"width=device-width, \
             initial-scale=1\"><title>Graven: {title}</title><style>{}{}</style>\
             </head><body><main><h1>{title}</h1><p class=\"lead\">{}</p>",
            include_str!("../report/style.css"),
            include_str!("style.css"),
            escape(&self.lead),
            title = escape(&self.title),
        );
        page.push_str("<ul class=\"summary\">");
        for finding in &self.summary {
            let _ = write!(page, "<li>{}</li>", escape(finding));
        }
        page.push_str("</ul>");
        self.verdict_table(&mut page);
        for section in &self.sections {
            let _ = write!(
                page,
                "<h2 id=\"{}\">{}</h2>",
                section.part,
                escape(&section.title)
            );
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
        study.made_by(&mut page);
        page.push_str("</main></body></html>\n");
        page
    }

    fn verdict_table(&self, page: &mut String) {
        page.push_str(
            "<h2>Verdicts</h2><div class=\"wide\"><table class=\"verdicts\"><thead><tr><th>claim \
                of the original</th><th>its numbers</th>\
             <th>here</th><th>by</th><th>what was seen</th></tr></thead><tbody>",
        );
        for verdict in &self.verdicts {
            let (class, word) = verdict.outcome.shown();
            let _ = write!(
                page,
                "<tr><td class=\"free\">{}<br><small><a href=\"#{}\">{}</a></small></td><td \
                    class=\"free\">{}</td>\
                 <td><b class=\"{class}\">{word}</b></td><td>{}</td><td \
                 class=\"free\">{}</td></tr>",
                escape(&verdict.claim),
                verdict.part,
                escape(verdict.source),
                escape(verdict.numbers),
                verdict.basis.word(),
                escape(&verdict.why)
            );
        }
        page.push_str(
            "</tbody></table></div><p class=\"note\">Counted: hit counts of a simulation, the same \
                every time. Timed: paired rounds; the \
             interval is the 95 % bootstrap interval of the geometric mean of their quotients, \
             widened by what one setting measured twice \
             in every round differs by; a claim whose line lies inside is undecided. Model: what \
             stands for the original here is a model \
             of it.</p>",
        );
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

impl Study {
    /// How a page was made: command, version, machine.
    pub(super) fn made_by(&self, page: &mut String) {
        let machine = &self.machine;
        let _ = write!(
            page,
            "<h2>How it was made</h2><p><code>{}</code></p><p class=\"note\">Graven {}, {}. {}, {} \
                hardware threads, {} of memory, \
             kernel {}, {}; disks (write cache, scheduler): {}; governor: {}. Load when it began: \
             {:.1}.{}</p>",
            escape(&self.command),
            env!("CARGO_PKG_VERSION"),
            crate::demo::today(),
            escape(&machine.processor),
            machine.cores,
            graven::format_bytes(machine.memory_bytes),
            escape(&machine.kernel),
            escape(&machine.storage),
            known(&machine.disks),
            known(&machine.governor),
            machine.load,
            if self.quick {
                " A quick look: a tenth of the work; numbers are rough."
            } else {
                ""
            }
        );
    }
}

/// Letters of a cell that stay on one line.
const CELL: usize = 36;

/// A text in which long lists without spaces may be broken.
fn breakable(text: &str) -> String {
    text.split(' ')
        .map(|word| match word.len() > CELL {
            true => word.replace(',', ", "),
            false => word.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// What the machine tells, or that it does not.
fn known(text: &str) -> String {
    if text.is_empty() {
        return "not told".to_owned();
    }
    escape(text)
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
                    .is_some_and(|c| c.is_ascii_digit() || c == '-' || c == '+')
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
                let class = match class(column) {
                    "" if cell.len() > CELL => " class=\"free\"",
                    class => class,
                };
                let _ = write!(page, "<td{class}>{}</td>", escape(&breakable(cell)));
            }
            page.push_str("</tr>");
        }
        page.push_str("</tbody></table></div>");
    }
}
