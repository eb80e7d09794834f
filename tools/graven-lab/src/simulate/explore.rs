//! The page of a simulation that can be explored: traces, policies and the measure are chosen,
//! values are read off, what is shown is downloaded as CSV.
//!
//! # How it works
//! One file of HTML with the runs as JSON and a short script of our own (`explore.js`) that draws
//! SVG. It loads nothing from elsewhere. Without scripts the page shows the table of all runs.

use std::fmt::Write as _;

use super::Run;
use crate::error::LabError;
use crate::report::chart::escape;

/// The page of `runs`.
///
/// # Errors
/// Runs that cannot be written as JSON.
pub fn page(runs: &[Run], command: &str) -> Result<String, LabError> {
    let json = serde_json::to_string(runs)
        .map_err(|e| LabError::Setting(format!("the results cannot be written: {e}")))?;
    // Inside a script element nothing may look like its end.
    let json = json.replace("</", "<\\/");
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>Policies on \
         traces</title><style>{}{}</style></head><body><main><h1>Policies on traces</h1><p \
         class=\"lead\">Hit counts of replacement policies in simulation. Choose a trace, policies \
         and what is drawn; point at a line to read its values.</p><div id=\"explore\" hidden><div \
         class=\"choices\"><label>trace <select id=\"trace\"></select></label><label>shown <select \
         id=\"measure\"></select></label><label><input type=\"checkbox\" id=\"log\" checked> sizes \
         by their logarithm</label><button id=\"csv\" type=\"button\">download \
         CSV</button></div><fieldset id=\"policies\"><legend>policies <button id=\"all\" \
         type=\"button\">all</button> <button id=\"none\" \
         type=\"button\">none</button></legend></fieldset><div class=\"panel\"><svg id=\"chart\" \
         viewBox=\"0 0 900 420\" role=\"img\" aria-label=\"the chosen measure by cache \
         size\"></svg><p id=\"readout\" aria-live=\"polite\"></p></div></div><h2>All \
         runs</h2><div class=\"wide\"><table class=\"dense\"><thead><tr><th>trace</th>\
         <th>policy</th><th class=\"n\">pages</th><th class=\"n\">accesses</th><th \
         class=\"n\">hits</th><th class=\"n\">hit ratio</th><th class=\"n\">share of min</th><th \
         class=\"n\">gap closed</th></tr></thead><tbody>",
        include_str!("../report/style.css"),
        include_str!("explore.css"),
    );
    for run in runs {
        let gap = run
            .gap_closed
            .map_or("-".to_owned(), |gap| format!("{gap:.3}"));
        let _ = write!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}</td><td class=\"n\">{:.4}</td><td class=\"n\">{:.4}</td><td \
             class=\"n\">{gap}</td></tr>",
            escape(&run.trace),
            escape(&run.policy),
            run.capacity_pages,
            run.accesses,
            run.hits,
            run.hit_ratio,
            run.share_of_min,
        );
    }
    let _ = writeln!(
        page,
        "</tbody></table></div><p class=\"note\">Made by <code>{}</code> with Graven {}.</p>\
         </main><script type=\"application/json\" id=\"runs\">{json}</script><script>{}</script>\
         </body></html>",
        escape(command),
        env!("CARGO_PKG_VERSION"),
        include_str!("explore.js"),
    );
    Ok(page)
}
