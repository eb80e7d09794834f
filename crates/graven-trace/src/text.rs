//! Graven's own trace format as text: the same records as [`crate::graven`], one a line, for people
//! and other programs.
//!
//! # On disk
//! `NAME.gtrace.csv`, or `NAME.gtrace.csv.zst` compressed with zstd. UTF-8. Lines that start with
//! `#` come first and hold the header: `# graven trace 1`, `# page_bytes N`, `# sampling N`,
//! `# kind INDEX NAME`, `# file ID NAME`. Then the names of the columns, then a line an access:
//! `page,query,thread,kind,flags`. `page` is `file << 48 | page` in decimal, `kind` an index,
//! `flags` letters: `w` write, `f` faulted, `s` scan, `p` read ahead, or `-` for none.
//!
//! Every reader of tables with a column of page numbers reads it, too.

use std::fmt::Write as _;
use std::path::Path;

use crate::error::TraceError;
use crate::header::Header;
use crate::{Access, FLAG_FAULTED, FLAG_PREFETCH, FLAG_SCAN, FLAG_WRITE, FileRow};

/// What names of such files end in, before compression.
pub const ENDING: &str = ".gtrace.csv";
const COLUMNS: &str = "page,query,thread,kind,flags";
const LETTERS: [(char, u8); 4] = [
    ('w', FLAG_WRITE),
    ('f', FLAG_FAULTED),
    ('s', FLAG_SCAN),
    ('p', FLAG_PREFETCH),
];

/// Whether the name is that of a text trace.
#[must_use]
pub fn is_text(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    name.strip_suffix(".zst").unwrap_or(&name).ends_with(ENDING)
}

/// The lines before the accesses.
pub(crate) fn header(header: &Header) -> String {
    let mut text = format!(
        "# graven trace 1\n# page_bytes {}\n# sampling {}\n",
        header.page_bytes,
        header.sampling.max(1)
    );
    for (index, name) in header.kinds.iter().enumerate() {
        let _ = writeln!(text, "# kind {index} {name}");
    }
    for FileRow { id, name } in &header.files {
        let _ = writeln!(text, "# file {id} {name}");
    }
    text + COLUMNS + "\n"
}

/// Writes the line of an access over what `line` held.
pub(crate) fn row(line: &mut String, access: &Access) {
    let Access {
        page,
        query,
        thread,
        kind,
        flags,
    } = access;
    line.clear();
    let _ = write!(line, "{page},{query},{thread},{kind},");
    let set = LETTERS.iter().filter(|(_, bit)| flags & bit != 0);
    let before = line.len();
    line.extend(set.map(|(letter, _)| letter));
    if line.len() == before {
        line.push('-');
    }
    line.push('\n');
}

/// Hands over the accesses and returns the header.
///
/// # Errors
/// Files that are not of this format or version; lines that are no accesses, by their number.
pub fn read(path: &Path, access: &mut dyn FnMut(Access)) -> Result<Header, TraceError> {
    let mut header = Header {
        sampling: 1,
        ..Header::default()
    };
    let (mut is_ours, mut in_rows) = (false, false);
    crate::for_every_line(path, &mut |line| {
        if let Some(comment) = line.strip_prefix('#') {
            return note(&mut header, &mut is_ours, comment.trim());
        }
        if !in_rows {
            in_rows = true;
            return match is_ours && line == COLUMNS {
                true => Ok(()),
                false => Err(format!(
                    "a text trace starts with `# graven trace 1`, its header and `{COLUMNS}`"
                )),
            };
        }
        let found = parse(line)?;
        if usize::from(found.kind) >= header.kinds.len().max(1) {
            let kinds = header.kinds.len();
            return Err(format!(
                "kind {} is none of the {kinds} named ones",
                found.kind
            ));
        }
        access(found);
        Ok(())
    })?;
    match in_rows {
        true => Ok(header),
        false => Err(TraceError::malformed(
            path,
            "there are no columns".to_owned(),
        )),
    }
}

/// Takes a line of the header; others are remarks.
fn note(header: &mut Header, is_ours: &mut bool, comment: &str) -> Result<(), String> {
    let (key, rest) = comment.split_once(' ').unwrap_or((comment, ""));
    let number = |text: &str| {
        text.parse::<u32>()
            .map_err(|_| format!("{text:?} is no number"))
    };
    let named = || rest.split_once(' ').unwrap_or((rest, ""));
    match key {
        "graven" => match rest {
            "trace 1" => *is_ours = true,
            _ => return Err(format!("{rest:?} is not `trace 1`, which this build reads")),
        },
        "page_bytes" => header.page_bytes = number(rest)?,
        "sampling" => header.sampling = number(rest)?.max(1),
        "kind" => {
            let (index, name) = named();
            if number(index)? as usize != header.kinds.len() {
                let next = header.kinds.len();
                return Err(format!(
                    "kind {index} does not follow the ones before; expected {next}"
                ));
            }
            header.kinds.push(name.to_owned());
        }
        "file" => {
            let (id, name) = named();
            let id = id
                .parse()
                .map_err(|_| format!("{id:?} is no number of a file"))?;
            header.files.push(FileRow {
                id,
                name: name.to_owned(),
            });
        }
        _ => {}
    }
    Ok(())
}

fn parse(line: &str) -> Result<Access, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let &[page, query, thread, kind, flags] = cells.as_slice() else {
        return Err(format!(
            "{} cells where `{COLUMNS}` has 5: {line:?}",
            cells.len()
        ));
    };
    fn number<T: std::str::FromStr>(cell: &str, what: &str) -> Result<T, String> {
        cell.parse().map_err(|_| format!("{cell:?} is no {what}"))
    }
    let mut bits = 0;
    for letter in flags.chars().filter(|letter| *letter != '-') {
        let known = LETTERS.iter().find(|(known, _)| *known == letter);
        let (_, bit) = known.ok_or_else(|| format!("{letter:?} in {flags:?} is no flag"))?;
        bits |= bit;
    }
    Ok(Access {
        page: number(page, "page number")?,
        query: number(query, "query")?,
        thread: number(thread, "thread")?,
        kind: number(kind, "kind")?,
        flags: bits,
    })
}
