//! Starts and expected answers of the three-hop question, from comma-separated tables with a
//! header.

use std::collections::HashMap;
use std::path::Path;

use crate::error::LabError;
use crate::table::read_integers;

/// What to ask and, where known, what the answer is.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    /// Value of `Person.id`, in the order of asking.
    pub starts: Vec<i64>,
    /// Expected counts by start.
    pub expected: HashMap<i64, i64>,
}

impl Questions {
    /// Reads starts from the column `personId` of one table and expected counts from `count_1_to_3`
    /// of another.
    ///
    /// # Errors
    /// A file cannot be read, lacks the column, or holds something that is not an integer there.
    pub fn read(params: &Path, expected: Option<&Path>) -> Result<Self, LabError> {
        let mut questions = Questions::default();
        read_integers(params, ["personId"], |[id]| questions.starts.push(id))?;
        if let Some(path) = expected {
            read_integers(path, ["personId", "count_1_to_3"], |[id, count]| {
                questions.expected.insert(id, count);
            })?;
        }
        Ok(questions)
    }
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
