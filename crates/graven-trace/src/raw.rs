//! Graven's plain trace format: page numbers one after the other, and what may lie beside them.
//!
//! # On disk
//! * `NAME.u64` or `NAME.u64.zst`: little-endian unsigned 64-bit page numbers, one per access;
//!   compressed with zstd and windows up to 2^27.
//! * `NAME.flags.u8.zst`: one byte per access, bit 0 write pin, bit 1 faulted when recorded.
//! * `NAME.files.tsv`: a header, then a line per file: its id (the upper 16 bits of page numbers),
//!   tab, its name; more columns, and a line `total`, are for readers of the file.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::TraceError;
use crate::{FileRow, Trace, one_pass};

/// Compression level: traces are written once and read often.
const LEVEL: i32 = 9;

/// Path of a companion: the trace's without `.u64` and `.zst`, with `ending`.
fn companion(path: &Path, ending: &str) -> PathBuf {
    let plain = if path.extension().is_some_and(|e| e == "zst") {
        path.with_extension("")
    } else {
        path.into()
    };
    plain.with_extension(ending)
}

/// Reads page numbers and the companions that are there.
///
/// # Errors
/// Unreadable files, a length that is no multiple of 8 bytes, flags of another length, malformed
/// tables.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let is_compressed = path.extension().is_some_and(|e| e == "zst");
    let pages = match is_compressed.then(|| one_pass::numbers(path)).flatten() {
        Some(pages) => pages,
        None => numbers(path)?,
    };
    let mut trace = Trace {
        pages,
        ..Trace::default()
    };
    let flags_path = companion(path, "flags.u8.zst");
    if flags_path.exists() {
        let mut flags = Vec::with_capacity(trace.pages.len());
        crate::for_each_record(&flags_path, |record: &[u8; 1]| flags.push(record[0]))?;
        if flags.len() != trace.pages.len() {
            let reason = format!("{} flags for {} accesses", flags.len(), trace.pages.len());
            return Err(TraceError::malformed(&flags_path, reason));
        }
        trace.flags = Some(flags);
    }
    let files_path = companion(path, "files.tsv");
    if files_path.exists() {
        trace.files = read_files(&files_path)?;
    }
    Ok(trace)
}

/// Page numbers, read piece by piece.
fn numbers(path: &Path) -> Result<Vec<u64>, TraceError> {
    let mut pages = Vec::new();
    crate::for_each_record(path, |record: &[u8; 8]| {
        pages.push(u64::from_le_bytes(*record))
    })?;
    Ok(pages)
}

fn read_files(path: &Path) -> Result<Vec<FileRow>, TraceError> {
    let file = File::open(path).map_err(TraceError::io(path, "opening"))?;
    let mut rows = Vec::new();
    for (at, line) in BufReader::new(file).lines().enumerate().skip(1) {
        let line = line.map_err(TraceError::io(path, "reading"))?;
        let mut cells = line.split('\t');
        let (Some(id), Some(name)) = (cells.next(), cells.next()) else {
            let reason = format!("expected a file id, a tab and a name, found {line:?}");
            return Err(TraceError::Line {
                path: path.into(),
                line: at + 1,
                reason,
            });
        };
        if id.trim() == "total" {
            continue;
        }
        let id = id.trim().parse().map_err(|_| TraceError::Line {
            path: path.into(),
            line: at + 1,
            reason: format!("{id:?} is no file id (0 to 65535)"),
        })?;
        rows.push(FileRow {
            id,
            name: name.trim().to_owned(),
        });
    }
    Ok(rows)
}

/// Writes a trace as `path` (which ends in `.u64.zst`) and its companions beside it; those that an
/// earlier trace of that name left and this one lacks are removed.
///
/// # Errors
/// Names that do not end in `.u64.zst`, flags of another length than the trace, and what the system
/// refuses.
pub fn write(path: &Path, trace: &Trace) -> Result<(), TraceError> {
    if !path.to_string_lossy().ends_with(".u64.zst") {
        return Err(TraceError::malformed(
            path,
            "a trace is written as NAME.u64.zst".to_owned(),
        ));
    }
    for ending in ["flags.u8.zst", "files.tsv"] {
        let path = companion(path, ending);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(TraceError::io(&path, "removing")(e));
            }
            _ => {}
        }
    }
    write_compressed(path, trace.pages.iter().map(|page| page.to_le_bytes()))?;
    if let Some(flags) = &trace.flags {
        if flags.len() != trace.pages.len() {
            let reason = format!("{} flags for {} accesses", flags.len(), trace.pages.len());
            return Err(TraceError::malformed(path, reason));
        }
        write_compressed(
            &companion(path, "flags.u8.zst"),
            flags.iter().map(|&flags| [flags]),
        )?;
    }
    if !trace.files.is_empty() {
        let path = companion(path, "files.tsv");
        let mut text = String::from("file_id\tname\n");
        for FileRow { id, name } in &trace.files {
            text.push_str(&format!("{id}\t{name}\n"));
        }
        std::fs::write(&path, text).map_err(TraceError::io(&path, "writing"))?;
    }
    Ok(())
}

fn write_compressed<const N: usize>(
    path: &Path,
    records: impl Iterator<Item = [u8; N]>,
) -> Result<(), TraceError> {
    let failed = |action| TraceError::io(path, action);
    let file = File::create(path).map_err(failed("creating"))?;
    let encoder = zstd::Encoder::new(file, LEVEL).map_err(failed("compressing"))?;
    let mut output = BufWriter::with_capacity(1 << 18, encoder);
    for record in records {
        output.write_all(&record).map_err(failed("writing"))?;
    }
    let encoder = output
        .into_inner()
        .map_err(|e| failed("writing")(e.into_error()))?;
    encoder.finish().map_err(failed("writing"))?;
    Ok(())
}
