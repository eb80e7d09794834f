//! Integer columns of delimited text tables with a header, found by name and read as a stream.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::error::LabError;

/// Hands the named columns of a table to `row`, line by line; fields are parted by commas or bars.
pub(crate) fn read_integers<const N: usize>(
    path: &Path,
    names: [&str; N],
    mut row: impl FnMut([i64; N]),
) -> Result<(), LabError> {
    let bad = |line: usize, reason: String| LabError::Table {
        path: path.to_path_buf(),
        line,
        reason,
    };
    let mut text = BufReader::new(File::open(path).map_err(LabError::io(path, "opening"))?);
    let mut line = String::new();
    let mut places = [0; N];
    for number in 1.. {
        line.clear();
        if text
            .read_line(&mut line)
            .map_err(LabError::io(path, "reading"))?
            == 0
        {
            break;
        }
        if number == 1 {
            let header: Vec<&str> = line.trim_end().split([',', '|']).collect();
            for (place, name) in places.iter_mut().zip(names) {
                *place = header
                    .iter()
                    .position(|h| h.trim() == name)
                    .ok_or_else(|| {
                        bad(
                            1,
                            format!("no column `{name}` in the header `{}`", line.trim_end()),
                        )
                    })?;
            }
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        let mut values = [0; N];
        for ((value, place), name) in values.iter_mut().zip(places).zip(names) {
            let cell = line
                .trim_end()
                .split([',', '|'])
                .nth(place)
                .unwrap_or("")
                .trim();
            *value = cell.parse().map_err(|_| {
                bad(
                    number,
                    format!("column `{name}`: `{cell}` is not an integer"),
                )
            })?;
        }
        row(values);
    }
    Ok(())
}
