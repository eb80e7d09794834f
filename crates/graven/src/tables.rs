//! Tables: labels and relationship types whose properties were declared, by their constraints.
//!
//! # How it works
//! A table is a name with a constraint that gives a property a type and a default, or that says
//! which nodes relationships join. Its columns stand in the order in which they were declared.

use std::sync::Arc;

use graven_cypher::{ColumnView, TableView, type_shown};
use graven_exec::Value;
use graven_storage::{
    Catalog, ConstraintDescription, ConstraintKind, LabelId, Note, NoteKind, SchemaEntity,
};

use crate::instance::Instance;

type Rows = Result<Vec<Vec<Value>>, String>;

/// The default of a column that has none.
const NO_DEFAULT: &str = "NULL";

/// The table of that name, if there is one.
pub(crate) fn view(catalog: &Catalog, name: &str) -> Option<TableView> {
    if catalog.constraints().is_empty() {
        return None;
    }
    let label = catalog.label(name).map(SchemaEntity::Node);
    let rel_type = catalog.rel_type(name).map(SchemaEntity::Relationship);
    let entities = label.into_iter().chain(rel_type);
    entities.filter_map(|entity| of(catalog, entity)).next()
}

/// The table of that name, or the one whose name differs in letter case alone, with its own name.
pub(crate) fn called(catalog: &Catalog, name: &str) -> Option<(Arc<str>, TableView)> {
    if let Some(table) = view(catalog, name) {
        return Some((name.into(), table));
    }
    let mut all = all(catalog).into_iter();
    all.find(|(own, _)| own.eq_ignore_ascii_case(name))
}

/// The type that was given this name, in any letter case.
pub(crate) fn type_called(catalog: &Catalog, name: &str) -> Option<Arc<str>> {
    let mut types = notes(catalog, NoteKind::Type);
    let found = types.find(|note| note.name.eq_ignore_ascii_case(name));
    found.map(|note| note.text.clone())
}

/// The notes of this kind, by name.
pub(crate) fn notes(catalog: &Catalog, kind: NoteKind) -> impl Iterator<Item = &Note> {
    catalog.notes().iter().filter(move |note| note.kind == kind)
}

fn of(catalog: &Catalog, entity: SchemaEntity) -> Option<TableView> {
    let own = || {
        catalog
            .constraints()
            .iter()
            .filter(|it| it.entity == entity)
    };
    let label = |label: LabelId| catalog.label_name(label).cloned().unwrap_or_default();
    let ends = own().find_map(|it| match &it.kind {
        ConstraintKind::Ends(ends) => Some(ends),
        _ => None,
    });
    let columns: Vec<ColumnView> = own().filter_map(|it| column(catalog, it)).collect();
    if columns.is_empty() && ends.is_none() {
        return None;
    }
    let pairs = ends.map(|ends| ends.pairs.iter().map(|(a, b)| (label(*a), label(*b))));
    let key = own().find(|it| it.kind == ConstraintKind::NodeKey);
    Some(TableView {
        of_nodes: matches!(entity, SchemaEntity::Node(_)),
        columns,
        key: key.and_then(|key| catalog.key_name(*key.keys.first()?).cloned()),
        ends: pairs.into_iter().flatten().collect(),
    })
}

fn column(catalog: &Catalog, constraint: &ConstraintDescription) -> Option<ColumnView> {
    let ConstraintKind::Typed {
        of,
        default: Some(default),
    } = &constraint.kind
    else {
        return None;
    };
    Some(ColumnView {
        name: catalog.key_name(*constraint.keys.first()?)?.clone(),
        of: of.text().clone(),
        default: (&**default != NO_DEFAULT).then(|| default.clone()),
    })
}

/// All tables: their names in the order of labels and types.
fn all(catalog: &Catalog) -> Vec<(Arc<str>, TableView)> {
    if catalog.constraints().is_empty() {
        return Vec::new();
    }
    let labels = catalog.labels().iter().zip(0..);
    let labels = labels.map(|(name, id)| (name, SchemaEntity::Node(LabelId(id))));
    let types = catalog.types().iter().zip(0..);
    let types = types.map(|(name, id)| {
        let id = graven_storage::TypeId(id);
        (name, SchemaEntity::Relationship(id))
    });
    let named = labels.chain(types);
    named
        .filter_map(|(name, entity)| Some((name.clone(), of(catalog, entity)?)))
        .collect()
}

/// `CALL show_tables()`.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(crate) fn tables(db: &Arc<Instance>, _: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let all = all(snapshot.catalog());
    let comment = |name: &Arc<str>| {
        let mut comments = notes(snapshot.catalog(), NoteKind::Comment);
        let found = comments.find(|note| note.name == *name);
        Value::text(found.map_or("", |note| &note.text))
    };
    let row = |(id, (name, table)): (i64, (Arc<str>, TableView))| {
        vec![
            Value::Integer(id),
            Value::String(name.clone()),
            Value::text(if table.of_nodes { "NODE" } else { "REL" }),
            Value::text("local(graven)"),
            comment(&name),
        ]
    };
    Ok((0..).zip(all).map(row).collect())
}

fn named(catalog: &Catalog, args: &[Value]) -> Result<(Arc<str>, TableView), String> {
    let Some(Value::String(name)) = args.first() else {
        return Err("the name of a table is a String".to_owned());
    };
    called(catalog, name).ok_or_else(|| format!("there is no table {name}"))
}

/// `CALL table_info('name')`.
pub(crate) fn columns(db: &Arc<Instance>, args: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let (_, table) = named(snapshot.catalog(), args)?;
    // Properties of relationships are numbered behind their own number.
    let first = i64::from(!table.of_nodes);
    let row = |(id, column): (i64, &ColumnView)| {
        let is_key = table.key.as_ref() == Some(&column.name);
        vec![
            Value::Integer(id),
            Value::String(column.name.clone()),
            Value::text(&type_shown(&column.of)),
            match &column.default {
                // How numbers are made is none of the program's business.
                Some(_) if &*column.of == "SERIAL" => Value::text(""),
                Some(default) => Value::String(default.clone()),
                None => Value::text(NO_DEFAULT),
            },
            match table.of_nodes {
                true => Value::Boolean(is_key),
                // In the place of it stands in which directions relationships are found.
                false => Value::text("both"),
            },
        ]
    };
    Ok((first..).zip(&table.columns).map(row).collect())
}

/// `CALL show_connection('name')`.
pub(crate) fn ends(db: &Arc<Instance>, args: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let catalog = snapshot.catalog();
    let (name, table) = named(catalog, args)?;
    if table.of_nodes {
        return Err(format!("{name} is a table of nodes, which joins nothing"));
    }
    let key = |table: &str| {
        let key = view(catalog, table).and_then(|table| table.key);
        key.map_or(Value::Null, Value::String)
    };
    let rows = table.ends.iter().map(|(from, to)| {
        let names = [Value::String(from.clone()), Value::String(to.clone())];
        names.into_iter().chain([key(from), key(to)]).collect()
    });
    Ok(rows.collect())
}
