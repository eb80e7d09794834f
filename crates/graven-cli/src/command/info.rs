//! `graven info`: what a database file holds, how it is read, and what holds the memory.

use std::io::Write;

use clap::Args;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use graven::{Info as Description, format_bytes};

use crate::failure::Failure;
use crate::open::Open;

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
        let labels: Vec<String> = info
            .labels
            .iter()
            .map(|(n, c)| format!("{n} {c}"))
            .collect();
        writeln!(out, "labels  {}", labels.join(", "))?;
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

/// A grid whose columns from `right` on hold numbers.
fn grid(header: &[&str], right: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for column in table.column_iter_mut().skip(right) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn stores(out: &mut impl Write, info: &Description) -> Result<(), Failure> {
    let mut table = grid(&["store", "pages", "bytes", "entries", "bytes/entry"], 1);
    for store in &info.stores {
        let per_entry = store.bytes as f64 / store.entries.max(1) as f64;
        table.add_row([
            store.name.clone(),
            store.pages.to_string(),
            store.bytes.to_string(),
            store.entries.to_string(),
            if store.entries == 0 {
                "-".to_owned()
            } else {
                format!("{per_entry:.2}")
            },
        ]);
    }
    writeln!(out, "{table}\n")?;
    Ok(())
}

fn types(out: &mut impl Write, info: &Description) -> Result<(), Failure> {
    let header = [
        "relationship type",
        "relationships",
        "bytes, both directions",
        "bytes/relationship",
    ];
    let mut table = grid(&header, 1);
    for t in &info.types {
        table.add_row([
            t.name.clone(),
            t.relationships.to_string(),
            t.adjacency_bytes.to_string(),
            format!("{:.2}", t.bytes_per_relationship()),
        ]);
    }
    if !info.types.is_empty() {
        writeln!(out, "{table}\n")?;
    }
    Ok(())
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
