//! What `system.graven` keeps besides users: access and state of databases, aliases.
//!
//! # How it works
//! Each setting is a node: `(:Database {name, readsOnly, stopped})`, `(:Alias {name, database})`. A
//! change is one statement, which is durable when it returns. They are read once, when the folder
//! is opened. Earlier builds kept `(:Home {user, database})` as well, which is a part of the user
//! now.
//!
//! # Cost
//! A scan of the nodes of one label, of which there are as many as databases or users.

use std::collections::BTreeMap;

use graven::{Database, Error, Params, Value};

/// Access and state of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) reads_only: bool,
    pub(super) is_stopped: bool,
}

/// What the system's database keeps.
#[derive(Debug)]
pub(super) struct Settings {
    system: Database,
}

impl Settings {
    pub(super) fn of(system: &Database) -> Settings {
        Settings {
            system: system.clone(),
        }
    }

    fn rows(&self, text: &str, params: &Params) -> Result<Vec<Vec<Value>>, Error> {
        let mut result = self.system.connect().query(text, params)?;
        let mut rows = Vec::new();
        while let Some(row) = result.next_row()? {
            rows.push(row.values().to_vec());
        }
        Ok(rows)
    }

    fn change(&self, text: &str, params: &Params) -> Result<(), Error> {
        self.rows(text, params).map(|_| ())
    }

    pub(super) fn states(&self) -> Result<BTreeMap<String, State>, Error> {
        let asked = "MATCH (d:Database) RETURN d.name, d.readsOnly, d.stopped";
        let rows = self.rows(asked, &Params::new())?.into_iter();
        Ok(rows
            .map(|row| {
                let is = |at: usize| row[at] == Value::Boolean(true);
                let state = State {
                    reads_only: is(1),
                    is_stopped: is(2),
                };
                (text(&row[0]), state)
            })
            .collect())
    }

    pub(super) fn set_state(&self, name: &str, state: State) -> Result<(), Error> {
        let params = Params::new()
            .with("name", name)
            .with("only", state.reads_only)
            .with("stopped", state.is_stopped);
        self.change(
            "MERGE (d:Database {name: $name}) SET d.readsOnly = $only, d.stopped = $stopped",
            &params,
        )
    }

    /// A database of this name begins with nothing set.
    pub(super) fn forget(&self, name: &str) -> Result<(), Error> {
        let params = Params::new().with("name", name);
        self.change("MATCH (d:Database {name: $name}) DELETE d", &params)
    }

    /// Aliases with the names of their databases.
    pub(super) fn aliases(&self) -> Result<BTreeMap<String, String>, Error> {
        let asked = "MATCH (a:Alias) RETURN a.name, a.database";
        self.pairs(asked)
    }

    pub(super) fn set_alias(&self, name: &str, database: &str) -> Result<(), Error> {
        let params = Params::new().with("name", name).with("database", database);
        let text = "MERGE (a:Alias {name: $name}) SET a.database = $database";
        self.change(text, &params)
    }

    pub(super) fn drop_aliases(&self, names: &[String]) -> Result<(), Error> {
        let params = Params::new().with("names", names.to_vec());
        self.change("MATCH (a:Alias) WHERE a.name IN $names DELETE a", &params)
    }

    /// Users with the names of their homes, as earlier builds kept them.
    pub(super) fn earlier_homes(&self) -> Result<BTreeMap<String, String>, Error> {
        self.pairs("MATCH (h:Home) RETURN h.user, h.database")
    }

    fn pairs(&self, asked: &str) -> Result<BTreeMap<String, String>, Error> {
        let rows = self.rows(asked, &Params::new())?;
        let pair = |row: &Vec<Value>| (text(&row[0]), text(&row[1]));
        Ok(rows.iter().map(pair).collect())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
