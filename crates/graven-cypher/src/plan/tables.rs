//! Commands about tables: a label or a type with its constraints, as other databases declare them.

use std::fmt;
use std::sync::Arc;

use super::constraint::ConstraintKind;

/// A property of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name.
    pub key: Arc<str>,
    /// The text of its type; empty if it is that of the values that are there.
    pub of: Arc<str>,
    /// The text of an expression for what is given no value.
    pub default: Option<Arc<str>>,
}

impl TableColumn {
    /// What the constraint on it demands.
    #[must_use]
    pub fn demand(&self) -> ConstraintKind {
        ConstraintKind::Typed {
            of: self.of.clone(),
            default: self.default.clone(),
        }
    }
}

/// The default of the key of a table whose type is `SERIAL`: the next number.
#[must_use]
pub fn serial_default(table: &str, key: &str) -> Arc<str> {
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    format!("graven.nextSerial({}, {})", quoted(table), quoted(key)).into()
}

/// The type that a text says, where its name, in any letter case, is one that was given to a type;
/// `[]` may follow.
#[must_use]
pub fn expanded(of: &str, named: impl Fn(&str) -> Option<Arc<str>>) -> Option<Arc<str>> {
    let (name, lists) = of.split_at(of.find('[').unwrap_or(of.len()));
    let meant = named(name.trim())?;
    Some(format!("{meant}{lists}").into())
}

/// One command. `lenient`: nothing is wrong if it is there already, or is not there.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableCommand {
    /// `CREATE NODE TABLE name (column TYPE, ..., PRIMARY KEY (column))`.
    CreateNodes {
        name: Arc<str>,
        columns: Vec<TableColumn>,
        key: Arc<str>,
        lenient: bool,
    },
    /// `CREATE REL TABLE name (FROM a TO b, column TYPE, ..., MANY_ONE)`.
    CreateRelationships {
        name: Arc<str>,
        columns: Vec<TableColumn>,
        ends: ConstraintKind,
        lenient: bool,
    },
    /// `DROP TABLE name`.
    Drop { name: Arc<str>, lenient: bool },
    /// `ALTER TABLE name ADD column TYPE`.
    AddColumn {
        table: Arc<str>,
        column: TableColumn,
        lenient: bool,
    },
    /// `ALTER TABLE name DROP column`.
    DropColumn {
        table: Arc<str>,
        key: Arc<str>,
        lenient: bool,
    },
    /// `ALTER TABLE name RENAME column TO other`.
    RenameColumn {
        table: Arc<str>,
        from: Arc<str>,
        to: Arc<str>,
    },
    /// `ALTER TABLE name RENAME TO other`.
    Rename { table: Arc<str>, to: Arc<str> },
    /// `ALTER TABLE name ADD FROM a TO b`.
    AddEnds {
        table: Arc<str>,
        pair: (Arc<str>, Arc<str>),
        lenient: bool,
    },
    /// `COMMENT ON TABLE name IS 'text'`; none takes the comment away.
    Comment {
        table: Arc<str>,
        text: Option<Arc<str>>,
    },
    /// `CREATE TYPE name AS type`.
    CreateType {
        name: Arc<str>,
        of: Arc<str>,
        lenient: bool,
    },
    /// `DROP TYPE name`.
    DropType { name: Arc<str>, lenient: bool },
    /// `ALTER TABLE name DROP FROM a TO b`: with the relationships between them.
    DropEnds {
        table: Arc<str>,
        pair: (Arc<str>, Arc<str>),
        lenient: bool,
    },
}

impl TableCommand {
    /// The table, or the type.
    #[must_use]
    pub fn table(&self) -> &Arc<str> {
        match self {
            TableCommand::CreateNodes { name, .. }
            | TableCommand::CreateRelationships { name, .. }
            | TableCommand::CreateType { name, .. }
            | TableCommand::DropType { name, .. }
            | TableCommand::Drop { name, .. } => name,
            TableCommand::AddColumn { table, .. }
            | TableCommand::DropColumn { table, .. }
            | TableCommand::RenameColumn { table, .. }
            | TableCommand::Rename { table, .. }
            | TableCommand::AddEnds { table, .. }
            | TableCommand::Comment { table, .. }
            | TableCommand::DropEnds { table, .. } => table,
        }
    }
}

impl fmt::Display for TableCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = match self {
            TableCommand::CreateNodes { .. } => "create node table",
            TableCommand::CreateRelationships { .. } => "create rel table",
            TableCommand::Drop { .. } => "drop table",
            TableCommand::AddColumn { .. } => "add a column to table",
            TableCommand::DropColumn { .. } => "drop a column of table",
            TableCommand::RenameColumn { .. } => "rename a column of table",
            TableCommand::Rename { .. } => "rename table",
            TableCommand::AddEnds { .. } => "add ends to table",
            TableCommand::DropEnds { .. } => "drop ends of table",
            TableCommand::Comment { .. } => "comment on table",
            TableCommand::CreateType { .. } => "create type",
            TableCommand::DropType { .. } => "drop type",
        };
        write!(f, "{does} {}", self.table())
    }
}
