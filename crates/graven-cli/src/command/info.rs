//! `graven info`: what a database file holds, how it is read, and what holds the memory.

use std::borrow::Cow;
use std::io::Write;

use clap::Args;
use graven::{Info as Description, format_bytes};

use crate::failure::Failure;
use crate::open::Open;

/// Characters of a name that are shown; `--json` shows all.
const NAME_CHARS: usize = 60;

/// Show what a database holds and how it is read.
#[derive(Args, Debug)]
pub(crate) struct Info {
    #[command(flatten)]
    open: Open,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let info = self.open.database()?.info()?;
        let mut out = std::io::stdout().lock();
        if self.json {
            return Ok(writeln!(out, "{:#}", as_json(&info))?);
        }
        writeln!(
            out,
            "{}: {}, {} node{}, {} relationship{}\n",
            self.open.db.display(),
            format_bytes(info.file_bytes),
            info.nodes,
            if info.nodes == 1 { "" } else { "s" },
            info.relationships,
            if info.relationships == 1 { "" } else { "s" },
        )?;
        stores(&mut out, &info)?;
        types(&mut out, &info)?;
        write!(out, "labels  ")?;
        for (at, (name, nodes)) in info.labels.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(out, "{separator}{} {nodes}", shown(name))?;
        }
        writeln!(out)?;
        if let Some(damage) = &info.superblock_damage {
            writeln!(
                out,
                "damaged one of the two superblocks cannot be used: {damage}"
            )?;
        }
        reading(&mut out, &info)?;
        memory(&mut out, &info)
    }
}

/// A name with at most [`NAME_CHARS`] characters.
fn shown(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(NAME_CHARS) {
        None => Cow::Borrowed(name),
        Some((end, _)) => Cow::Owned(format!("{}...", &name[..end])),
    }
}

/// Writes rows under `header`, the first column to the left and numbers to the right. A database
/// may have tens of thousands of stores: rows are made twice, and none is kept.
fn grid<const COLUMNS: usize>(
    out: &mut impl Write,
    header: [&str; COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]> + Clone,
) -> Result<(), Failure> {
    let mut widths = header.map(|name| name.chars().count());
    for row in rows.clone() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in std::iter::once(header.map(str::to_owned)).chain(rows) {
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            match column {
                0 => write!(out, " {cell:<width$}")?,
                _ => write!(out, "  {cell:>width$}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(writeln!(out)?)
}

fn stores(out: &mut impl Write, info: &Description) -> Result<(), Failure> {
    let rows = info.stores.iter().map(|store| {
        let per_entry = match store.entries {
            0 => "-".to_owned(),
            entries => format!("{:.2}", store.bytes as f64 / entries as f64),
        };
        let numbers = [store.pages, store.bytes, store.entries].map(|number| number.to_string());
        let [pages, bytes, entries] = numbers;
        let name = shown(&store.name).into_owned();
        [name, pages, bytes, entries, per_entry]
    });
    let header = ["store", "pages", "bytes", "entries", "bytes/entry"];
    grid(out, header, rows)
}

fn types(out: &mut impl Write, info: &Description) -> Result<(), Failure> {
    if info.types.is_empty() {
        return Ok(());
    }
    let rows = info.types.iter().map(|t| {
        [
            shown(&t.name).into_owned(),
            t.relationships.to_string(),
            t.adjacency_bytes.to_string(),
            format!("{:.2}", t.bytes_per_relationship()),
        ]
    });
    let header = [
        "relationship type",
        "relationships",
        "bytes, both directions",
        "bytes/relationship",
    ];
    grid(out, header, rows)
}

fn reading(out: &mut impl Write, info: &Description) -> Result<(), Failure> {
    let because = |reason: &Option<String>| {
        reason
            .as_ref()
            .map_or(String::new(), |reason| format!(" (fallback: {reason})"))
    };
    let r = &info.reading;
    let aligned = match r.alignment {
        1 => String::new(),
        bytes => format!(", aligned to {bytes} bytes"),
    };
    writeln!(
        out,
        "reads   {}{aligned}{}",
        r.mode,
        because(&r.mode_reason)
    )?;
    writeln!(out, "queue   {}{}", r.queue, because(&r.queue_reason))?;
    Ok(())
}

fn memory(out: &mut impl Write, info: &Description) -> Result<(), Failure> {
    let holders: Vec<String> = info
        .holders
        .iter()
        .map(|(tag, bytes)| format!("{tag} {}", format_bytes(*bytes)))
        .collect();
    let used = if holders.is_empty() {
        "nothing taken yet".to_owned()
    } else {
        holders.join(", ")
    };
    writeln!(out, "memory  {} ({used})", format_bytes(info.memory))?;
    writeln!(out, "policy  {}", info.policy)?;
    Ok(())
}

fn as_json(info: &Description) -> serde_json::Value {
    let counts = |list: &[(String, u64)]| -> serde_json::Map<String, serde_json::Value> {
        list.iter()
            .map(|(name, count)| (name.clone(), (*count).into()))
            .collect()
    };
    let stores = info.stores.iter().map(|s| {
        serde_json::json!({"name": s.name, "pages": s.pages, "bytes": s.bytes, "entries": s.entries})
    });
    let types = info.types.iter().map(|t| {
        serde_json::json!({
            "name": t.name,
            "relationships": t.relationships,
            "adjacency_bytes": t.adjacency_bytes,
            "bytes_per_relationship": t.bytes_per_relationship(),
        })
    });
    serde_json::json!({
        "file_bytes": info.file_bytes,
        "nodes": info.nodes,
        "relationships": info.relationships,
        "labels": counts(&info.labels),
        "types": types.collect::<Vec<_>>(),
        "stores": stores.collect::<Vec<_>>(),
        "superblock_damage": info.superblock_damage,
        "io": info.reading.mode,
        "io_fallback": info.reading.mode_reason,
        "io_alignment": info.reading.alignment,
        "queue": info.reading.queue,
        "queue_fallback": info.reading.queue_reason,
        "memory_bytes": info.memory,
        "policy": info.policy,
        "memory_holders": counts(&info.holders),
    })
}
