//! A small social network in a file of its own.

use std::path::PathBuf;

use graven::{Config, Database, Params, Row, Value};
use graven_io::OpenOptions;
use graven_storage::{GraphBuilder, PropertyValue, Uniqueness};

/// A database in a folder that goes away with it.
pub(crate) struct Social {
    pub(crate) db: Database,
    pub(crate) path: PathBuf,
    _folder: tempfile::TempDir,
}

/// Four persons: Ada knows Bo and Cy, Bo knows Cy (a triangle), Cy knows Di; all like Di's post.
pub(crate) fn social() -> Social {
    let mut graph = GraphBuilder::new();
    let text = PropertyValue::string;
    let persons: Vec<_> = [("Ada", 1), ("Bo", 2), ("Cy", 3), ("Di", 4)]
        .into_iter()
        .map(|(name, id)| {
            let properties = [("name", text(name)), ("id", PropertyValue::Integer(id))];
            graph.node(&["Person"], &properties)
        })
        .collect();
    let post = graph.node(
        &["Post", "Message"],
        &[("length", PropertyValue::Float(2.0))],
    );
    for (from, to) in [(0, 1), (0, 2), (1, 2), (2, 3)] {
        let since = [("since", PropertyValue::Integer(2000 + to as i64))];
        graph.relationship(persons[from], "KNOWS", persons[to], &since);
    }
    for person in &persons {
        graph.relationship(*person, "LIKES", post, &[]);
    }
    graph.index("Person", "id", Uniqueness::Unique);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("social.graven");
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    graph
        .build(graven_io::open(&path, &options).expect("created"))
        .expect("built");
    let db = Database::open(&path, small()).expect("opened");
    Social {
        db,
        path,
        _folder: folder,
    }
}

/// A budget small enough to matter.
pub(crate) fn small() -> Config {
    let mut config = Config::default();
    config.memory = 4 << 20;
    config
}

impl Social {
    pub(crate) fn rows(&self, text: &str) -> Vec<Row> {
        self.rows_with(text, &Params::new())
    }

    pub(crate) fn rows_with(&self, text: &str, params: &Params) -> Vec<Row> {
        let result = self
            .db
            .connect()
            .query(text, params)
            .unwrap_or_else(|e| panic!("{text}: {e}"));
        result
            .collect::<Result<_, _>>()
            .unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    /// The only value of the only row.
    pub(crate) fn value(&self, text: &str) -> Value {
        let rows = self.rows(text);
        assert_eq!(rows.len(), 1, "{text}");
        rows[0].get(0).cloned().unwrap_or_default()
    }
}
