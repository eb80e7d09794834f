//! Questions of the care of files that the process which has the database open answers: by
//! procedures, as any other statement.

use std::sync::Arc;

use graven_storage::CheckpointReport;

use crate::check::CheckReport;
use crate::database::Database;
use crate::error::Error;
use crate::info::{Info, Reading, StoreInfo, TypeInfo};
use crate::params::Params;
use crate::value::Value;

impl Database {
    fn rows_of_owner(&self, procedure: &str) -> Result<Vec<Vec<Value>>, Error> {
        let mut result = self
            .connect()
            .query(&format!("CALL {procedure}()"), &Params::new())?;
        let mut rows = Vec::new();
        while let Some(row) = result.next_row()? {
            rows.push(row.values().to_vec());
        }
        Ok(rows)
    }

    pub(crate) fn let_owner_check(&self) -> Result<CheckReport, Error> {
        let mut report = CheckReport::default();
        for row in self.rows_of_owner("graven.check")? {
            let mut row = Fields::of(row);
            let (store, entries, problem) = (row.optional(), row.number(), row.optional());
            match (store, problem) {
                (Some(store), None) => report.checked.push((store, entries)),
                (_, problem) => report.problems.push(problem.unwrap_or_default()),
            }
        }
        Ok(report)
    }

    pub(crate) fn let_owner_checkpoint(&self) -> Result<Option<CheckpointReport>, Error> {
        let rows = self.rows_of_owner("graven.checkpoint")?;
        let report = rows.into_iter().next().map(|row| {
            let mut row = Fields::of(row);
            CheckpointReport {
                checkpoint: row.number(),
                written_bytes: row.number(),
                freed_bytes: row.number(),
                file_bytes: row.number(),
                held_bytes: row.number(),
            }
        });
        Ok(report)
    }

    pub(crate) fn let_owner_describe(&self) -> Result<Info, Error> {
        let rows = self.rows_of_owner("graven.info")?;
        let mut row = Fields::of(rows.into_iter().next().unwrap_or_default());
        Ok(Info {
            file_bytes: row.number(),
            nodes: row.number(),
            relationships: row.number(),
            labels: row.counts(),
            types: row.named(|name, number| TypeInfo {
                name,
                relationships: number("relationships"),
                adjacency_bytes: number("bytes"),
            }),
            stores: row.named(|name, number| StoreInfo {
                name,
                pages: number("pages"),
                bytes: number("bytes"),
                entries: number("entries"),
            }),
            superblock_damage: row.optional(),
            reading: Reading {
                mode: row.text(),
                mode_reason: row.optional(),
                alignment: row.number() as usize,
                queue: row.text(),
                queue_reason: row.optional(),
            },
            memory: row.number(),
            policy: row.text(),
            holders: row.counts(),
        })
    }
}

/// The values of a row, taken one after the other. What an owner of another release does not say is
/// empty.
struct Fields(std::vec::IntoIter<Value>);

fn unsigned(value: &Value) -> u64 {
    value.as_integer().map_or(0, i64::unsigned_abs)
}

impl Fields {
    fn of(row: Vec<Value>) -> Fields {
        Fields(row.into_iter())
    }

    fn value(&mut self) -> Value {
        self.0.next().unwrap_or_default()
    }

    fn number(&mut self) -> u64 {
        unsigned(&self.value())
    }

    fn optional(&mut self) -> Option<String> {
        self.value().as_str().map(str::to_owned)
    }

    fn text(&mut self) -> String {
        self.optional().unwrap_or_default()
    }

    fn counts(&mut self) -> Vec<(String, u64)> {
        let Value::Map(counts) = self.value() else {
            return Vec::new();
        };
        let counts = counts.iter();
        counts
            .map(|(name, count)| (name.to_string(), unsigned(count)))
            .collect()
    }

    fn named<T>(&mut self, make: impl Fn(String, &dyn Fn(&str) -> u64) -> T) -> Vec<T> {
        let Value::List(list) = self.value() else {
            return Vec::new();
        };
        let maps = list.iter().filter_map(|one| match one {
            Value::Map(map) => Some(map),
            _ => None,
        });
        let key = |name: &str| -> Arc<str> { Arc::from(name) };
        maps.map(|map| {
            let name = map.get(&key("name")).and_then(Value::as_str);
            make(name.unwrap_or_default().to_owned(), &|number| {
                map.get(&key(number)).map_or(0, unsigned)
            })
        })
        .collect()
    }
}
