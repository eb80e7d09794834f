//! The report: one HTML file with everything inside, that opens anywhere without a network.
//!
//! # How it works
//! The two figures of the founding study (throughput against threads, hit ratio against threads, a
//! line per policy) stand once per cache size, and beside the hit ratio the faults per question: a
//! ratio says nothing about time while the number of accesses behind it is unknown. Sentences with
//! numbers are made from the runs, so they cannot disagree with the table below them.

pub(crate) mod chart;

use std::fmt::Write as _;

use chart::{Chart, Series, escape, legend, number};
use serde::Serialize;

use crate::machine::Machine;
use crate::measurement::Measurement;

/// Everything a report shows; also the run file's content.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of the program.
    pub version: String,
    /// When the runs were made, UTC.
    pub date: String,
    /// The command that makes the report again.
    pub command: String,
    /// The question in Cypher.
    pub question: String,
    /// The machine.
    pub machine: Machine,
    /// Facts on graph and file: name, value, in order.
    pub facts: Vec<(String, String)>,
    /// Settings of the runs: name, value, in order.
    pub settings: Vec<(String, String)>,
    /// Bytes of the pages that the questions touch.
    pub touched_bytes: u64,
    /// The runs.
    pub runs: Vec<Measurement>,
}

impl Report {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = String::from(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>Graven: three hops in a small cache</title><style>",
        );
        page.push_str(include_str!("report/style.css"));
        page.push_str("</style></head><body><main>");
        self.introduction(&mut page);
        self.figures(&mut page);
        self.io_table(&mut page);
        self.run_table(&mut page);
        self.set_up(&mut page);
        page.push_str("</main></body></html>\n");
        page
    }

    fn introduction(&self, page: &mut String) {
        let _ = write!(
            page,
            "<h1>Three hops in a cache smaller than the data</h1>\
             <p class=\"lead\">Graven {}, {}. Each question starts at one person of a fixed random \
             sample \
             and counts every person within three friendships:</p><pre>{}</pre><ul \
             class=\"facts\">",
            escape(&self.version),
            escape(&self.date),
            escape(&self.question)
        );
        let checked: u64 = self.runs.iter().map(|r| r.checked).sum();
        let wrong: u64 = self.runs.iter().map(|r| r.wrong).sum();
        let answers = (
            "answers wrong, by a plain search".to_owned(),
            format!("{wrong} of {}", number(checked as f64, 1.0)),
        );
        for (name, value) in self.facts.iter().chain([&answers]) {
            let _ = write!(
                page,
                "<li><b>{}</b><span>{}</span></li>",
                escape(value),
                escape(name)
            );
        }
        page.push_str("</ul>");
    }

    fn figures(&self, page: &mut String) {
        let policies = self.policies();
        let _ = write!(
            page,
            "<h2>Throughput against threads</h2><p>{}</p>",
            self.throughput_says()
        );
        page.push_str(&legend(&policies));
        self.panels(
            page,
            "questions a second",
            |r| r.throughput_qps,
            Span::FromZero,
        );
        let _ = write!(
            page,
            "<h2>Hit ratio against threads</h2><p>{}</p>",
            self.hit_ratio_says()
        );
        page.push_str(&legend(&policies));
        self.panels(page, "hit ratio", |r| r.hit_ratio, Span::UpToOne);
        page.push_str(
            "<h2>Faults per question</h2><p>The same runs in pages read. A store that needs few \
                page \
             accesses can have a low hit ratio and still read little; this is the number the disk \
             sees.</p>",
        );
        page.push_str(&legend(&policies));
        self.panels(
            page,
            "faults per question",
            |r| r.faults_per_query,
            Span::FromZero,
        );
    }

    /// One panel for each cache size of the direct runs.
    fn panels(&self, page: &mut String, title: &str, value: fn(&Measurement) -> f64, span: Span) {
        let runs: Vec<&Measurement> = self.direct_runs().collect();
        let threads = sorted(runs.iter().map(|r| r.threads));
        // A range of some width, or the axis would pass 1.
        let low = runs.iter().map(|r| value(r)).fold(0.95, f64::min);
        page.push_str("<div class=\"panels\">");
        for cache in sorted(runs.iter().map(|r| r.cache_bytes)) {
            let here: Vec<&&Measurement> = runs.iter().filter(|r| r.cache_bytes == cache).collect();
            let series = self
                .policies()
                .into_iter()
                .enumerate()
                .map(|(slot, policy)| {
                    let at =
                        |t: &usize| here.iter().find(|r| r.policy == policy && r.threads == *t);
                    Series {
                        values: threads.iter().map(|t| at(t).map(|r| value(r))).collect(),
                        name: policy,
                        slot,
                    }
                });
            let high = here.iter().map(|r| value(r)).fold(0.0, f64::max);
            let chart = Chart {
                x_title: "threads".into(),
                x_labels: threads.iter().map(ToString::to_string).collect(),
                y_title: title.into(),
                y_range: match span {
                    Span::FromZero => (0.0, high),
                    Span::UpToOne => (low, 1.0),
                },
                series: series.collect(),
            };
            let _ = write!(
                page,
                "<section class=\"panel\"><h3>{} <small>{}</small></h3>{}</section>",
                graven::format_bytes(cache),
                here.first().map_or(String::new(), |r| share_text(r)),
                chart.svg()
            );
        }
        page.push_str("</div>");
    }

    fn throughput_says(&self) -> String {
        let Some(smallest) = self.direct_runs().map(|r| r.cache_bytes).min() else {
            return String::new();
        };
        let most = self.direct_runs().map(|r| r.threads).max().unwrap_or(1);
        let at = |threads: usize| {
            self.direct_runs()
                .filter(move |r| r.cache_bytes == smallest && r.threads == threads)
                .max_by(|a, b| a.throughput_qps.total_cmp(&b.throughput_qps))
        };
        let (Some(one), Some(many)) = (at(1), at(most)) else {
            return String::new();
        };
        // Policies as fast as the fastest, as numbers are shown.
        let fastest = |threads: usize, best: &Measurement| {
            let shown = number(best.throughput_qps, 1.0);
            let as_fast = self.direct_runs().filter(|r| {
                r.cache_bytes == smallest
                    && r.threads == threads
                    && number(r.throughput_qps, 1.0) == shown
            });
            let names: Vec<String> = as_fast.map(|r| escape(&r.policy)).collect();
            names.join(" and ")
        };
        format!(
            "Questions answered a second, with direct I/O, each panel on its own scale. In the \
                smallest \
             cache ({}, {}) the fastest of single threads is under <b>{}</b> with {} a second, of \
             {} \
             threads under <b>{}</b> with {}; this machine has {} processor cores.",
            graven::format_bytes(smallest),
            share_text(one),
            fastest(1, one),
            number(one.throughput_qps, 1.0),
            most,
            fastest(most, many),
            number(many.throughput_qps, 1.0),
            self.machine.cores
        )
    }

    fn hit_ratio_says(&self) -> String {
        let Some(smallest) = self.direct_runs().map(|r| r.cache_bytes).min() else {
            return String::new();
        };
        let single = || {
            self.direct_runs()
                .filter(|r| r.cache_bytes == smallest && r.threads == 1)
        };
        let best = single().max_by(|a, b| a.hit_ratio.total_cmp(&b.hit_ratio));
        let worst = single().min_by(|a, b| a.hit_ratio.total_cmp(&b.hit_ratio));
        let (Some(best), Some(worst)) = (best, worst) else {
            return String::new();
        };
        if format!("{:.3}", best.hit_ratio) == format!("{:.3}", worst.hit_ratio) {
            return format!(
                "All panels on one scale. With one thread in the smallest cache all policies keep \
                    the same: {:.3}.",
                best.hit_ratio
            );
        }
        format!(
            "All panels on one scale. With one thread in the smallest cache <b>{}</b> keeps most \
                ({:.3}, {} \
             faults a question) and <b>{}</b> least ({:.3}, {}).",
            escape(&best.policy),
            best.hit_ratio,
            number(best.faults_per_query, 0.1),
            escape(&worst.policy),
            worst.hit_ratio,
            number(worst.faults_per_query, 0.1)
        )
    }

    /// Direct and buffered side by side, where both were run.
    fn io_table(&self, page: &mut String) {
        let buffered: Vec<&Measurement> = self.runs.iter().filter(|r| r.io == "buffered").collect();
        if buffered.is_empty() || buffered.len() == self.runs.len() {
            return;
        }
        page.push_str(
            "<h2>Direct and buffered reads</h2><p>With buffered reads a miss may be served from \
                the operating \
             system's own cache, which makes a poor policy look good. Where the faults are alike \
             and the \
             device reads less, that is what happened: compare the last four columns.</p><div \
             class=\"wide\"><table class=\"dense\"><thead><tr><th>policy</th><th \
             class=\"n\">memory</th>\
             <th class=\"n\">threads</th><th class=\"n\">direct q/s</th><th class=\"n\">buffered \
             q/s</th>\
             <th class=\"n\">direct faults/q</th><th class=\"n\">buffered faults/q</th>\
             <th class=\"n\">direct device read/q</th><th class=\"n\">buffered device \
             read/q</th></tr>\
             </thead><tbody>",
        );
        for b in buffered {
            let same = |r: &&Measurement| {
                r.policy == b.policy && r.cache_bytes == b.cache_bytes && r.threads == b.threads
            };
            let Some(d) = self.direct_runs().find(same) else {
                continue;
            };
            let _ = write!(
                page,
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
                escape(&b.policy),
                graven::format_bytes(b.cache_bytes),
                b.threads
            );
            for (value, step) in [
                (d.throughput_qps, 1.0),
                (b.throughput_qps, 1.0),
                (d.faults_per_query, 0.1),
                (b.faults_per_query, 0.1),
            ] {
                let _ = write!(page, "<td class=\"n\">{}</td>", number(value, step));
            }
            for run in [d, b] {
                let _ = write!(page, "<td class=\"n\">{}</td>", device_per_query(run));
            }
            page.push_str("</tr>");
        }
        page.push_str("</tbody></table></div>");
    }

    fn run_table(&self, page: &mut String) {
        let _ = write!(
            page,
            "<h2>Every run</h2><details><summary>{} runs</summary><div class=\"wide\"><table \
                class=\"dense\"><thead><tr>\
             <th>policy</th><th class=\"n\">memory</th><th class=\"n\">share</th><th \
             class=\"n\">threads</th>\
             <th>reads</th><th class=\"n\">q/s</th><th class=\"n\">p50 ms</th><th class=\"n\">p99 \
             ms</th>\
             <th class=\"n\">hit ratio</th><th class=\"n\">faults/q</th><th class=\"n\">device \
             read/q</th>\
             <th class=\"n\">peak memory</th><th class=\"n\">wrong</th></tr></thead><tbody>",
            self.runs.len()
        );
        for r in &self.runs {
            let _ = write!(
                page,
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
                    class=\"n\">{}</td>\
                 <td>{}</td>",
                escape(&r.policy),
                graven::format_bytes(r.cache_bytes),
                r.cache_share
                    .map_or(String::new(), |s| format!("{:.0} %", s * 100.0)),
                r.threads,
                escape(&r.io)
            );
            for cell in [
                number(r.throughput_qps, 1.0),
                format!("{:.2}", r.p50_ms),
                format!("{:.2}", r.p99_ms),
                format!("{:.4}", r.hit_ratio),
                number(r.faults_per_query, 0.1),
                device_per_query(r),
                graven::format_bytes(r.rss_peak_bytes),
                r.wrong.to_string(),
            ] {
                let _ = write!(page, "<td class=\"n\">{cell}</td>");
            }
            page.push_str("</tr>");
        }
        page.push_str("</tbody></table></div></details>");
    }

    fn set_up(&self, page: &mut String) {
        let _ = write!(
            page,
            "<h2>Settings and machine</h2><p>Made by <code>{}</code>.</p><table><tbody>",
            escape(&self.command)
        );
        let machine = [
            ("processor", self.machine.processor.clone()),
            ("cores", self.machine.cores.to_string()),
            ("memory", graven::format_bytes(self.machine.memory_bytes)),
            ("kernel", self.machine.kernel.clone()),
            ("storage", self.machine.storage.clone()),
        ];
        let settings = self
            .settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        for (name, value) in settings.chain(machine) {
            let _ = write!(
                page,
                "<tr><th>{}</th><td class=\"free\">{}</td></tr>",
                escape(name),
                escape(&value)
            );
        }
        page.push_str("</tbody></table>");
    }

    fn direct_runs(&self) -> impl Iterator<Item = &Measurement> {
        // Where the file system has no direct reads, the figures show what there is.
        let has_direct = self.runs.iter().any(|r| r.io == "direct");
        self.runs
            .iter()
            .filter(move |r| !has_direct || r.io == "direct")
    }

    /// Policies in the order of their first run.
    fn policies(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for run in &self.runs {
            if !names.contains(&run.policy) {
                names.push(run.policy.clone());
            }
        }
        names
    }
}

/// What the vertical axis of a figure must span.
#[derive(Clone, Copy)]
enum Span {
    /// From zero to the panel's largest value.
    FromZero,
    /// From the figure's smallest value to 1.
    UpToOne,
}

/// A count for people, thousands set apart.
pub(crate) fn grouped(count: u64) -> String {
    number(count as f64, 1.0)
}

fn share_text(run: &Measurement) -> String {
    run.cache_share.map_or_else(
        || "share unknown".to_owned(),
        |share| format!("{:.0} % of the data touched", share * 100.0),
    )
}

fn device_per_query(run: &Measurement) -> String {
    graven::format_bytes(run.device_read_bytes / run.queries.max(1))
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort();
    values.dedup();
    values
}

#[cfg(test)]
mod tests;
