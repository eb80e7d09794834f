//! What the guide says to look at on the machine, as the doctor finds it here.

use std::path::Path;

use crate::doctor::{Report, System};
use crate::study::{Page, Section, Study, Table};

/// What the guide asks to set, and the finding that judges it.
const ADVICE: [(&str, &str, &str, &str); 4] = [
    (
        "fixing the problem",
        "limits of dirty pages",
        "dirty_background_ratio 50, dirty_ratio 80",
        "dirty-pages",
    ),
    (
        "file system tuning",
        "access times",
        "noatime, nodiratime",
        "access-times",
    ),
    (
        "file system tuning",
        "I/O scheduler",
        "tuned for the database disk",
        "scheduler",
    ),
    (
        "number of open files",
        "limit of open files",
        "1,024 is often not enough; 40,000",
        "open-files",
    ),
];

pub(super) fn add(page: &mut Page, study: &Study) {
    let system = System::read(Path::new("/"), &study.scratch);
    let report = Report::of(system, None);
    let mut table = Table::new(
        "Before and after",
        &[
            "setting",
            "the guide's value",
            "here",
            "what the doctor says to do",
        ],
    );
    for (source, what, numbers, id) in ADVICE {
        let finding = report.findings.iter().find(|finding| finding.id == id);
        let (here, change) = finding.map_or(("not told".to_owned(), None), |finding| {
            (finding.evidence.clone(), finding.change.clone())
        });
        table.rows.push(vec![
            what.to_owned(),
            numbers.to_owned(),
            here.clone(),
            change.unwrap_or_else(|| "nothing".to_owned()),
        ]);
        page.exhibit("system", source, what, numbers, here);
    }
    page.push(
        "system",
        Section {
            title: "Settings of the machine, before and after".to_owned(),
            text: vec![
                "`graven doctor` reads them and says what a change would cost and risk; it never \
                    advises to give up durability."
                    .to_owned(),
            ],
            tables: vec![table],
            ..Section::default()
        },
    );
}
