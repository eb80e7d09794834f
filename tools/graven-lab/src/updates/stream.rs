//! Update streams as files: `time|time of what it depends on|operation|fields`.

use std::fs;
use std::path::Path;

/// A person, forum or message by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Entity {
    Person(i64),
    Forum(i64),
    Message(i64),
}

/// One operation.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) time: i64,
    /// 1 to 8, as the benchmark numbers them.
    pub(super) kind: u8,
    pub(super) fields: Vec<String>,
}

/// Fields of each kind of operation.
const FIELDS: [usize; 8] = [14, 3, 3, 5, 3, 12, 11, 3];

/// All operations of the data set, by time.
pub(super) fn read(data: &Path) -> Result<Vec<Operation>, String> {
    let mut operations = Vec::new();
    for folder in [data.to_path_buf(), data.join("update_streams")] {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.map_err(|e| e.to_string())?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name.starts_with("updateStream") && name.contains(".csv") {
                let text = text(&path)?;
                for (number, line) in text.lines().enumerate() {
                    let place = || format!("{}, line {}", path.display(), number + 1);
                    operations.push(operation(line).ok_or_else(|| format!("{}: {line}", place()))?);
                }
            }
        }
    }
    if operations.is_empty() {
        return Err(format!("{}: no update streams", data.display()));
    }
    operations.sort_by_key(|operation| operation.time);
    Ok(operations)
}

/// The text of a file, unpacked.
pub(super) fn text(path: &Path) -> Result<String, String> {
    let fault = |e: std::io::Error| format!("{}: {e}", path.display());
    let bytes = fs::read(path).map_err(fault)?;
    let bytes = match path.extension().is_some_and(|e| e == "zst") {
        true => zstd::decode_all(&bytes[..]).map_err(fault)?,
        false => bytes,
    };
    String::from_utf8(bytes).map_err(|e| format!("{}: {e}", path.display()))
}

fn operation(line: &str) -> Option<Operation> {
    let mut parts = line.split('|');
    let time = parts.next()?.parse().ok()?;
    parts.next()?;
    let kind: u8 = parts.next()?.parse().ok()?;
    let fields: Vec<String> = parts.map(str::to_owned).collect();
    let wanted = *FIELDS.get(usize::from(kind).checked_sub(1)?)?;
    (fields.len() == wanted).then_some(Operation { time, kind, fields })
}

impl Operation {
    pub(super) fn text(&self, field: usize) -> &str {
        &self.fields[field]
    }

    /// A number, 0 where there is none.
    pub(super) fn number(&self, field: usize) -> i64 {
        self.fields[field].parse().unwrap_or_default()
    }

    /// Elements separated by `;`.
    pub(super) fn list(&self, field: usize) -> impl Iterator<Item = &str> {
        self.fields[field]
            .split(';')
            .filter(|item| !item.is_empty())
    }

    /// Elements of two numbers, `1,2;3,4`.
    pub(super) fn pairs(&self, field: usize) -> impl Iterator<Item = (i64, i64)> {
        self.list(field).filter_map(|pair| {
            let (id, year) = pair.split_once(',')?;
            Some((id.parse().ok()?, year.parse().ok()?))
        })
    }

    /// The message that a comment answers.
    pub(super) fn parent(&self) -> i64 {
        self.number(8).max(self.number(9))
    }

    /// What it makes.
    pub(super) fn creates(&self) -> Option<Entity> {
        match self.kind {
            1 => Some(Entity::Person(self.number(0))),
            4 => Some(Entity::Forum(self.number(0))),
            6 | 7 => Some(Entity::Message(self.number(0))),
            _ => None,
        }
    }

    /// What must be there before.
    pub(super) fn needs(&self) -> Vec<Entity> {
        use Entity::{Forum, Message, Person};
        let number = |field| self.number(field);
        match self.kind {
            2 | 3 => vec![Person(number(0)), Message(number(1))],
            4 => vec![Person(number(3))],
            5 => vec![Forum(number(0)), Person(number(1))],
            6 => vec![Person(number(8)), Forum(number(9))],
            7 => vec![Person(number(6)), Message(self.parent())],
            8 => vec![Person(number(0)), Person(number(1))],
            _ => Vec::new(),
        }
    }
}
