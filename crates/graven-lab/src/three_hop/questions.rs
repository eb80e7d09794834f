//! Starts and expected answers of the three-hop question, from comma-separated tables with a header.

use std::collections::HashMap;
use std::path::Path;

use crate::error::LabError;

/// What to ask and, where known, what the answer is.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    /// Value of `Person.id`, in the order of asking.
    pub starts: Vec<i64>,
    /// Expected counts by start.
    pub expected: HashMap<i64, i64>,
}

impl Questions {
    /// Reads starts from the column `personId` of one table and expected counts from `count_1_to_3` of
    /// another.
    ///
    /// # Errors
    /// A file cannot be read, lacks the column, or holds something that is not an integer there.
    pub fn read(params: &Path, expected: Option<&Path>) -> Result<Self, LabError> {
        let starts = columns(params, ["personId"])?
            .into_iter()
            .map(|[id]| id)
            .collect();
        let expected = match expected {
            Some(path) => columns(path, ["personId", "count_1_to_3"])?,
            None => Vec::new(),
        };
        Ok(Questions {
            starts,
            expected: expected
                .into_iter()
                .map(|[id, count]| (id, count))
                .collect(),
        })
    }
}

/// The named integer columns of a table, row by row.
fn columns<const N: usize>(path: &Path, names: [&str; N]) -> Result<Vec<[i64; N]>, LabError> {
    let text = std::fs::read_to_string(path).map_err(LabError::io(path, "reading"))?;
    let bad = |line: usize, reason: String| LabError::Table {
        path: path.to_path_buf(),
        line,
        reason,
    };
    let mut lines = (1..).zip(text.lines());
    let header: Vec<&str> = lines
        .next()
        .map_or("", |(_, l)| l)
        .split([',', '|'])
        .collect();
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(names) {
        *place = header
            .iter()
            .position(|h| h.trim() == name)
            .ok_or_else(|| {
                bad(
                    1,
                    format!("no column `{name}` in the header `{}`", header.join(",")),
                )
            })?;
    }
    let mut rows = Vec::new();
    for (number, line) in lines.filter(|(_, l)| !l.trim().is_empty()) {
        let cells: Vec<&str> = line.split([',', '|']).collect();
        let mut row = [0; N];
        for ((value, place), name) in row.iter_mut().zip(places).zip(names) {
            let cell = cells.get(place).map_or("", |c| c.trim());
            *value = cell.parse().map_err(|_| {
                bad(
                    number,
                    format!("column `{name}`: `{cell}` is not an integer"),
                )
            })?;
        }
        rows.push(row);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Questions, LabError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        Questions::read(&path, Some(&path))
    }

    #[test]
    fn columns_are_found_by_name() {
        let q = read(
            "a.csv",
            "seq,personId,degree,count_1_to_3\n0,933,5,77\n1,934,0,0\n",
        )
        .expect("read");
        assert_eq!(q.starts, [933, 934]);
        assert_eq!(q.expected[&933], 77);
    }

    #[test]
    fn errors_name_file_line_and_value() {
        let error = read("b.csv", "personId,count_1_to_3\n933,7\nx,8\n")
            .expect_err("bad id")
            .to_string();
        assert!(
            error.contains("b.csv, line 3") && error.contains("`x`"),
            "{error}"
        );
        let error = read("c.csv", "id\n1\n").expect_err("no column").to_string();
        assert!(error.contains("personId"), "{error}");
    }
}
