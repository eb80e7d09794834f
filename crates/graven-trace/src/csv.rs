//! Text traces: one access a line, one column of page numbers.
//!
//! # How it works
//! Cells are parted by commas, semicolons, tabs or bars (whichever the first line has). A first
//! line whose cells are not all numbers is a header; the column is then found by its name, and with
//! or without a header by its number from 1. Lines that are empty or start with `#` are passed
//! over. Numbers are decimal, or hexadecimal after `0x`.

use std::path::Path;

use crate::Trace;
use crate::error::TraceError;

/// Names of the column of page numbers, tried in this order when none is given.
const USUAL_NAMES: [&str; 9] = [
    "page",
    "page_id",
    "block",
    "lbn",
    "lba",
    "key",
    "obj_id",
    "object_id",
    "id",
];

/// Reads the page numbers of a column: the named or numbered one, else one with a usual name, else
/// the only one.
///
/// # Errors
/// Unreadable files, a column that is not there or not unique, cells that are no numbers.
pub fn read(path: &Path, column: Option<&str>) -> Result<Trace, TraceError> {
    let mut pages = Vec::new();
    stream(path, column, &mut |page| pages.push(page))?;
    Ok(Trace {
        pages,
        ..Trace::default()
    })
}

/// Hands over the page numbers of a column one by one.
///
/// # Errors
/// As [`read`].
pub fn stream(
    path: &Path,
    column: Option<&str>,
    page: &mut dyn FnMut(u64),
) -> Result<(), TraceError> {
    let mut layout: Option<Layout> = None;
    crate::for_each_line(path, &mut |line| {
        let layout = match &layout {
            Some(layout) => layout,
            None => {
                let found = layout.insert(Layout::of(line, column)?);
                if found.header {
                    return Ok(());
                }
                found
            }
        };
        page(layout.page(line)?);
        Ok(())
    })
}

/// Where the page number stands in a line.
struct Layout {
    delimiter: char,
    column: usize,
    /// The line it was told by is a header.
    header: bool,
}

impl Layout {
    fn of(line: &str, wanted: Option<&str>) -> Result<Self, String> {
        let delimiter = [',', ';', '\t', '|']
            .into_iter()
            .find(|&d| line.contains(d))
            .unwrap_or(',');
        let cells: Vec<&str> = line
            .split(delimiter)
            .map(|cell| cell.trim().trim_matches('"'))
            .collect();
        let header = cells.iter().any(|cell| number(cell).is_none());
        let position = |name: &str| {
            cells
                .iter()
                .position(|cell| header && cell.eq_ignore_ascii_case(name))
        };
        let column = match wanted {
            Some(name) => position(name)
                .or_else(|| name.parse::<usize>().ok()?.checked_sub(1))
                .filter(|&column| column < cells.len())
                .ok_or_else(|| format!("no column {name:?} in the first line, {line:?}"))?,
            None if cells.len() == 1 => 0,
            None => USUAL_NAMES
                .iter()
                .find_map(|name| position(name))
                .ok_or_else(|| {
                    format!(
                        "which column is the page? none of {} is in {line:?}; give its name or \
                            number (--column)",
                        USUAL_NAMES.join(", ")
                    )
                })?,
        };
        Ok(Self {
            delimiter,
            column,
            header,
        })
    }

    fn page(&self, line: &str) -> Result<u64, String> {
        let cell = line.split(self.delimiter).nth(self.column);
        let cell = cell.ok_or_else(|| format!("no column {} in {line:?}", self.column + 1))?;
        let cell = cell.trim().trim_matches('"');
        number(cell).ok_or_else(|| format!("{cell:?} is no page number"))
    }
}

fn number(cell: &str) -> Option<u64> {
    match cell.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
        None => cell.parse().ok(),
    }
}
