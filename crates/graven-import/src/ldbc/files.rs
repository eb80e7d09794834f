//! Finds the files of a data set and says which table each belongs to.

use std::path::{Path, PathBuf};

use super::columns::{label_of, type_of};
use crate::error::ImportError;
use crate::input::TableFile;
use crate::rows::{Cut, header_of};

const DEPTH_MAX: usize = 4;

/// What a table holds, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nodes of a label.
    Node(&'static str),
    /// Relationships: start label, middle word in lower case, end label.
    Relationship(&'static str, String, &'static str),
    /// Elements of a list property: label and key.
    List(&'static str, &'static str),
}

/// A table and its files.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) shape: Shape,
    pub(super) files: Vec<TableFile>,
    pub(super) header: Vec<String>,
    pub(super) cut: Cut,
    /// The data set's folder: two tables of one shape in two folders are two data sets.
    folder: PathBuf,
}

/// All tables under `folder`, node tables first, and the files that are none.
pub(super) fn find(folder: &Path) -> Result<(Vec<Found>, Vec<PathBuf>), ImportError> {
    let mut files = Vec::new();
    walk(folder, DEPTH_MAX, &mut files)?;
    files.sort();
    tables(files.into_iter().map(TableFile::Path))
}

/// The tables that `files` hold, node tables first, and the files that are none.
pub(super) fn tables(
    files: impl Iterator<Item = TableFile>,
) -> Result<(Vec<Found>, Vec<PathBuf>), ImportError> {
    let (mut tables, mut ignored): (Vec<Found>, Vec<PathBuf>) = (vec![], vec![]);
    for file in files {
        match recognise(&file)? {
            Some(found) => add(&mut tables, found)?,
            None => ignored.push(file.path().to_path_buf()),
        }
    }
    tables.sort_by_key(|t| rank(&t.shape));
    Ok((tables, ignored))
}

/// Persons first (they get the smallest ids), then the rest in a fixed order.
fn rank(shape: &Shape) -> (usize, String) {
    let order = [
        "Person",
        "Forum",
        "Post",
        "Comment",
        "Tag",
        "TagClass",
        "City",
        "Country",
        "Continent",
        "Place",
        "University",
        "Company",
        "Organisation",
    ];
    match shape {
        Shape::Node(label) => (
            order.iter().position(|l| l == label).unwrap_or(0),
            String::new(),
        ),
        Shape::List(label, key) => (20, format!("{label} {key}")),
        Shape::Relationship(start, verb, end) => (30, format!("{verb} {start} {end}")),
    }
}

fn walk(folder: &Path, depth: usize, out: &mut Vec<PathBuf>) -> Result<(), ImportError> {
    let entries = std::fs::read_dir(folder).map_err(|e| ImportError::io(folder, "list", e))?;
    for entry in entries {
        let path = entry
            .map_err(|e| ImportError::io(folder, "list", e))?
            .path();
        if path.is_dir() {
            if depth > 0 {
                walk(&path, depth - 1, out)?;
            }
        } else if stem(&path).is_some() {
            out.push(path);
        }
    }
    Ok(())
}

/// The file name without `.csv`, `.csv.zst`, `.csv.gz`; `None` for other files.
fn stem(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let name = name
        .strip_suffix(".zst")
        .or(name.strip_suffix(".gz"))
        .unwrap_or(name);
    name.strip_suffix(".csv")
}

/// The table's name: the stem without part numbers, or the folder's name for `part-...` files.
fn table_name(path: &Path) -> Option<(String, PathBuf)> {
    let mut stem = stem(path)?;
    let mut folder = path.parent()?;
    if stem.starts_with("part-") {
        stem = folder.file_name()?.to_str()?;
        folder = folder.parent()?;
    }
    for _ in 0..2 {
        match stem.rsplit_once('_') {
            Some((rest, part)) if part.bytes().all(|b| b.is_ascii_digit()) => stem = rest,
            _ => break,
        }
    }
    Some((stem.to_owned(), folder.to_path_buf()))
}

fn shape(name: &str) -> Option<Shape> {
    let words: Vec<&str> = name.split('_').collect();
    match words[..] {
        [word] if word.eq_ignore_ascii_case("knows") => {
            Some(Shape::Relationship("Person", "knows".into(), "Person"))
        }
        [word] => label_of(word).map(Shape::Node),
        [start, verb, end] => {
            let (start, verb) = (label_of(start)?, verb.to_ascii_lowercase());
            match (verb.as_str(), label_of(end)) {
                ("email", None) => Some(Shape::List(start, "email")),
                ("speaks", None) => Some(Shape::List(start, "speaks")),
                (_, Some(end)) if !type_of(&verb).is_empty() => {
                    Some(Shape::Relationship(start, verb, end))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn recognise(file: &TableFile) -> Result<Option<Found>, ImportError> {
    let path = file.path();
    let Some((name, folder)) = table_name(path) else {
        return Ok(None);
    };
    let Some(shape) = shape(&name) else {
        return Ok(None);
    };
    let Some((header, cut)) = header_of(
        file,
        Some(Cut {
            delimiter: b'|',
            quote: None,
        }),
    )?
    else {
        return Ok(None);
    };
    if header[0] == "batch_id" {
        return Ok(None);
    }
    if header[0].bytes().all(|b| b.is_ascii_digit()) {
        return Err(ImportError::Layout {
            path: path.to_path_buf(),
            reason: format!(
                "begins with '{}', which is no header line: put the column names in the first line",
                header.join("|")
            ),
        });
    }
    Ok(Some(Found {
        shape,
        files: vec![file.clone()],
        header,
        cut,
        folder,
    }))
}

fn add(tables: &mut Vec<Found>, found: Found) -> Result<(), ImportError> {
    let Some(same) = tables.iter_mut().find(|t| t.shape == found.shape) else {
        tables.push(found);
        return Ok(());
    };
    let problem = if same.folder != found.folder {
        format!(
            "the same table is in {}: these are several data sets, name the folder of one",
            same.folder.display()
        )
    } else if same.header != found.header {
        format!(
            "its header '{}' differs from '{}' in {}",
            found.header.join("|"),
            same.header.join("|"),
            same.files[0].path().display()
        )
    } else if same.files[0].path().file_name() == found.files[0].path().file_name() {
        format!(
            "the same table is also in {}: remove one",
            same.files[0].path().display()
        )
    } else {
        same.files.extend(found.files);
        return Ok(());
    };
    Err(ImportError::Layout {
        path: found.files[0].path().to_path_buf(),
        reason: problem,
    })
}
