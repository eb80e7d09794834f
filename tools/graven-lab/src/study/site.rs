//! All reports as one site: a page each, and an index of every figure, table and claim of the
//! documents.
//!
//! # How it works
//! A row of the index: what stands in the original and where, its numbers, ours, the verdict, and
//! the command that makes just the row's part. Rows are the reports' own verdicts and exhibits, so
//! the index cannot disagree with them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use super::{Outcome, Page, Study, StudyProgress, Which};
use crate::error::LabError;
use crate::founding::Document;
use crate::report::chart::escape;
use crate::run_file::RunFile;

/// All reports.
#[derive(Clone, Debug, Serialize)]
pub struct Site {
    /// The reports, in the order of the documents.
    pub reports: Vec<Reported>,
}

/// A report of the site.
#[derive(Clone, Debug, Serialize)]
pub struct Reported {
    /// Its name.
    pub report: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// Its page.
    #[serde(flatten)]
    pub page: Page,
    #[serde(skip)]
    which: Which,
}

impl Site {
    /// Makes all reports with the settings of `study`; `finished` is told of each before the next
    /// begins, so that a run that is killed loses no more than the report under way.
    ///
    /// # Errors
    /// As [`Study::run`], and those of `finished`.
    pub fn make(
        study: &Study,
        tell: StudyProgress<'_>,
        finished: &mut dyn FnMut(&Reported) -> Result<(), LabError>,
    ) -> Result<Self, LabError> {
        let mut reports = Vec::new();
        for which in Which::ALL {
            let one = Study {
                which,
                only: None,
                ..study.clone()
            };
            let mut named = |what: &str| tell(&format!("{}: {what}", which.name()));
            let begun = Instant::now();
            let page = one.run(&mut named)?;
            let reported = Reported {
                report: which.name(),
                seconds: begun.elapsed().as_secs_f64(),
                page,
                which,
            };
            finished(&reported)?;
            reports.push(reported);
        }
        Ok(Self { reports })
    }

    /// Writes the index above the folders of the reports ([`Reported::save`]); returns its path.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn save(&self, study: &Study, folder: &Path) -> Result<PathBuf, LabError> {
        let path = folder.join("index.html");
        std::fs::write(&path, self.index(study)).map_err(LabError::io(&path, "writing"))?;
        Ok(path)
    }

    /// Seconds of each report, in words.
    #[must_use]
    pub fn took(&self) -> String {
        let each = self.reports.iter();
        let each: Vec<String> = each
            .map(|one| format!("{} {:.0} s", one.report, one.seconds))
            .collect();
        let all: f64 = self.reports.iter().map(|one| one.seconds).sum();
        format!("{} ({:.1} minutes)", each.join(", "), all / 60.0)
    }

    /// Verdicts of a kind in all reports.
    fn count(&self, outcome: Outcome) -> usize {
        let verdicts = self.reports.iter().flat_map(|one| &one.page.verdicts);
        verdicts.filter(|one| one.outcome == outcome).count()
    }

    /// The index as HTML with everything inside.
    #[must_use]
    pub fn index(&self, study: &Study) -> String {
        let mut page = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta \
                name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>Graven: the founding \
             documents</title><style>{}{}</style></head><body><main><h1>The founding documents, \
             figure by figure</h1>\
             <p class=\"lead\">Every figure, table and claim of five documents: what the original \
             says, its numbers, ours, what became of a claim, and the command that \
             makes just that part again. {} confirmed, {} refuted, {} undecided, {} not testable \
             on this machine; figures and tables without a claim are shown.</p>",
            include_str!("../report/style.css"),
            include_str!("style.css"),
            self.count(Outcome::Confirmed),
            self.count(Outcome::Refuted),
            self.count(Outcome::Undecided),
            self.count(Outcome::NotTestable),
        );
        for one in &self.reports {
            one.rows(&mut page);
        }
        study.made_by(&mut page);
        page.push_str("</main></body></html>\n");
        page
    }
}

impl Reported {
    /// Writes the page with its figures and a run file into a folder of its own in `folder`; the
    /// run file repeats this report alone.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn save(&self, study: &Study, folder: &Path, arguments: &[String]) -> Result<(), LabError> {
        let part = Study {
            which: self.which,
            ..study.clone()
        };
        let folder = folder.join(self.report);
        self.page.save(&part, &folder)?;
        let alone = |argument: &String| match argument.as_str() {
            "all" => self.report.to_owned(),
            _ => argument.clone(),
        };
        let run = RunFile::new(arguments.iter().map(alone).collect(), &self.page)?;
        run.save(&folder, self.report, &self.page.figures())?;
        Ok(())
    }
}

impl Which {
    fn document(self) -> Document {
        match self {
            Self::Neo4jStudy => Document::S0,
            Self::Thesis => Document::S1,
            Self::Ext4 => Document::S2,
            Self::LinuxGuide => Document::S3,
            Self::KuzuPages => Document::S4,
        }
    }
}

impl Reported {
    fn rows(&self, page: &mut String) {
        let _ = write!(
            page,
            "<h2>{}</h2><p><a href=\"{1}/{1}.html\">The report</a></p><div class=\"wide\"><table \
                class=\"index\"><thead><tr><th>original</th>\
             <th>its numbers</th><th>ours</th><th>verdict</th><th>command</th></tr></thead><tbody>",
            escape(self.which.document().title()),
            self.report
        );
        let mut row = |source: &str,
                       what: &str,
                       numbers: &str,
                       ours: &str,
                       mark: (&str, &str),
                       part: &str| {
            let _ = write!(
                page,
                "<tr><td class=\"free\"><a href=\"{report}/{report}.html#{part}\">{}</a>: \
                    {}</td><td class=\"free\">{}</td><td class=\"free\">{}</td>\
                 <td><b class=\"{}\">{}</b></td><td><code>graven lab report {report} --only \
                 {part}</code></td></tr>",
                escape(source),
                escape(what),
                escape(numbers),
                escape(ours),
                mark.0,
                mark.1,
                report = self.report
            );
        };
        for exhibit in &self.page.exhibits {
            row(
                exhibit.source,
                exhibit.what,
                exhibit.numbers,
                &exhibit.ours,
                ("open", "shown"),
                exhibit.part,
            );
        }
        for verdict in &self.page.verdicts {
            row(
                verdict.source,
                &verdict.claim,
                verdict.numbers,
                &verdict.why,
                verdict.outcome.shown(),
                verdict.part,
            );
        }
        page.push_str("</tbody></table></div>");
    }
}

/// A claim that two runs judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// The report.
    pub report: String,
    /// The claim.
    pub claim: String,
    /// What the first run found.
    pub first: String,
    /// What the second run found.
    pub second: String,
}

impl Compared {
    /// Whether the runs contradict each other: one confirms what the other refutes.
    #[must_use]
    pub fn contradicts(&self) -> bool {
        let decided = |text: &str| text == "Confirmed" || text == "Refuted";
        decided(&self.first) && decided(&self.second) && self.first != self.second
    }
}

/// The verdicts of two run files of reports, claim by claim, where both have the claim.
///
/// # Errors
/// Results without verdicts.
pub fn compare(first: &Value, second: &Value) -> Result<Vec<Compared>, LabError> {
    let (first, second) = (verdicts(first)?, verdicts(second)?);
    let pairs = first.into_iter().filter_map(|(report, claim, outcome)| {
        let other = second
            .iter()
            .find(|other| (&other.0, &other.1) == (&report, &claim))?;
        Some(Compared {
            second: other.2.clone(),
            first: outcome,
            report,
            claim,
        })
    });
    Ok(pairs.collect())
}

/// Report, claim and outcome of every verdict of a run file's results.
fn verdicts(results: &Value) -> Result<Vec<(String, String, String)>, LabError> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let of_page = |page: &Value| -> Option<Vec<(String, String, String)>> {
        let report = match page["report"].as_str() {
            Some(name) => name.to_owned(),
            None => text(page, "title"),
        };
        let each = page["verdicts"].as_array()?.iter();
        Some(
            each.map(|one| (report.clone(), text(one, "claim"), text(one, "outcome")))
                .collect(),
        )
    };
    let found = match results["reports"].as_array() {
        Some(pages) => pages.iter().map(of_page).collect::<Option<Vec<_>>>(),
        None => of_page(results).map(|one| vec![one]),
    };
    let missing = || {
        LabError::Setting("the results have no verdicts: it is no run file of a report".to_owned())
    };
    Ok(found.ok_or_else(missing)?.into_iter().flatten().collect())
}
