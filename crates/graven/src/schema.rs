//! The planner's view of a snapshot: names, indexes, counts from the catalogue, and the procedures.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use graven_cypher::plan::macros::Macro;
use graven_cypher::plan::schema::{IndexKind, SchemaSubject};
use graven_cypher::plan::{Literal, LoadSource};
use graven_cypher::{
    FunctionView, IndexView, LabelIndex, Named, ProcedureView, SchemaView, SourceFault, SourceView,
    Stored, StoredSize, TableView, ValueCounts,
};
use graven_exec::sources::{self, Reach};
use graven_exec::{Tuning, UserFunctions};
use graven_files::Frame;
use graven_storage::{
    Catalog, Direction, IndexDescription, IndexKind as StoredKind, KeyId, LabelId, PropertyValue,
    SchemaEntity, Snapshot, StoreKind, TypeId, TypeStatistics, ValueStatistics, grown,
};

use crate::database_manager::{DatabaseManager, is_meant};
use crate::plan_cache::Counted;
use crate::procedures;
use crate::procedures::registered::Registry;
use crate::tables;

/// Nodes reckoned for a value where the values were not counted yet.
const NODES_PER_VALUE: u64 = 10;

/// A value written in a statement as properties hold it; none for null.
fn stored_value(literal: &Literal) -> Option<PropertyValue> {
    Some(match literal {
        Literal::Null => return None,
        Literal::Boolean(value) => PropertyValue::Boolean(*value),
        Literal::Integer(value) => PropertyValue::Integer(*value),
        Literal::Float(value) => PropertyValue::Float(*value),
        Literal::String(text) => PropertyValue::String(text.clone()),
    })
}

/// A snapshot, the registered procedures, how statements are run, and the path of the data file, as
/// the planner sees them.
pub(crate) struct Schema<'a>(
    pub(crate) &'a Snapshot,
    pub(crate) OfProgram<'a>,
    pub(crate) &'a Tuning,
    pub(crate) &'a Asked,
    pub(crate) OfFiles<'a>,
    pub(crate) OfServer<'a>,
);

/// The path of the data file, and the databases of the server.
type OfServer<'a> = (&'a Path, Option<&'a dyn DatabaseManager>);

/// The procedures that are registered, and the functions of the connection.
type OfProgram<'a> = (&'a Registry, &'a UserFunctions);

/// What the statement reaches, and its frames.
type OfFiles<'a> = (Reach<'a>, &'a Arc<BTreeMap<Arc<str>, Frame>>);

/// What a source of rows is like.
pub(crate) fn describe(
    source: &LoadSource,
    (reach, frames): OfFiles<'_>,
) -> Result<SourceView, SourceFault> {
    let described = sources::describe(source, &reach, frames).map_err(|error| match error {
        graven_files::Error::Forbidden { .. } => SourceFault::Forbidden(error.to_string()),
        other => SourceFault::Wrong(other.to_string()),
    })?;
    let columns = described.description.columns.iter();
    let column = |column: &graven_files::Column| {
        let set = sources::type_set(&column.kind);
        let stated = column.stated.as_deref().map(Arc::from);
        (Arc::from(column.name.as_str()), set, stated)
    };
    Ok(SourceView {
        columns: columns.map(column).collect(),
        rows: described.description.rows,
    })
}

/// A property of nodes with a label, or of all, or of relationships.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sampled {
    Nodes(Option<LabelId>, KeyId),
    Relationships(TypeId, KeyId),
}

/// What the planner has asked for: labels and types with their counts, and what was found out for
/// it.
#[derive(Default)]
pub(crate) struct Asked {
    sampled: RefCell<BTreeMap<Sampled, Option<Rc<ValueStatistics>>>>,
    ends: RefCell<BTreeMap<TypeId, Option<TypeStatistics>>>,
    labels: RefCell<BTreeMap<Arc<str>, u64>>,
    types: RefCell<BTreeMap<Arc<str>, u64>>,
    /// A function of the connection was looked up and is there.
    called: Cell<bool>,
    /// A macro or the name of a type was looked up and is there: the plan has it written out.
    expanded: Cell<bool>,
}

impl Asked {
    fn note(counts: &RefCell<BTreeMap<Arc<str>, u64>>, name: &str, count: u64) {
        let mut counts = counts.borrow_mut();
        if !counts.contains_key(name) {
            counts.insert(Arc::from(name), count);
        }
    }

    /// Whether the statement calls functions of its connection.
    pub(crate) fn has_called(&self) -> bool {
        self.called.get()
    }

    /// Whether the plan has macros, or names of types, written out.
    pub(crate) fn has_expanded(&self) -> bool {
        self.expanded.get()
    }

    /// The counts that a plan was chosen by, with so many nodes in all.
    pub(crate) fn counted(self, nodes: u64) -> Counted {
        let list = |counts: RefCell<BTreeMap<_, _>>| counts.into_inner().into_iter().collect();
        Counted::new(list(self.labels), list(self.types), nodes)
    }
}

impl Schema<'_> {
    /// The column of a property; none for what is no property, or not known by name.
    fn property(&self, what: Stored<'_>) -> Option<StoreKind> {
        let catalog = self.catalog();
        match what {
            Stored::NodeProperty(key) | Stored::LabelProperty { key, .. } => {
                Some(StoreKind::NodeColumn(catalog.key(key)?))
            }
            Stored::RelationshipProperty { rel_type, key } => {
                let rel_type = catalog.rel_type(rel_type)?;
                Some(StoreKind::RelationshipColumn(rel_type, catalog.key(key)?))
            }
            _ => None,
        }
    }

    /// Distinct values of an index: those of the label's newest nodes, or as many as those that
    /// were counted have become.
    fn distinct(&self, index: &IndexDescription, label: LabelId) -> u64 {
        let now = self.catalog().label_count(label);
        if let [key] = index.keys[..]
            && let Some(new) = self.values_of_new(Sampled::Nodes(Some(label), key))
        {
            return new.distinct();
        }
        let store = self.catalog().store(StoreKind::Index(index.number));
        match (index.distinct, store.map_or(0, |store| store.entries)) {
            (0, _) => now.div_ceil(NODES_PER_VALUE),
            (counted, entries) if entries > 0 => grown(counted, entries, now),
            (counted, _) => counted,
        }
    }

    /// What the values of a property are like: of the label or type, where most of its nodes or
    /// relationships are new, or as they were at the newest checkpoint.
    fn value_statistics(&self, of: Stored<'_>) -> Option<Rc<ValueStatistics>> {
        let catalog = self.catalog();
        let known = catalog.values(self.property(of)?);
        let sampled = match of {
            Stored::LabelProperty { label, key } => {
                Sampled::Nodes(Some(catalog.label(label)?), catalog.key(key)?)
            }
            Stored::NodeProperty(key) => Sampled::Nodes(None, catalog.key(key)?),
            Stored::RelationshipProperty { rel_type, key } => {
                Sampled::Relationships(catalog.rel_type(rel_type)?, catalog.key(key)?)
            }
            Stored::Labels | Stored::Lists { .. } | Stored::Index { .. } => return None,
        };
        let new = self.values_of_new(sampled);
        new.or_else(|| known.map(|known| Rc::new(known.clone())))
    }

    /// What the values of new nodes or relationships are like, if most of them are new; looked at
    /// once for a plan.
    fn values_of_new(&self, of: Sampled) -> Option<Rc<ValueStatistics>> {
        if let Some(known) = self.3.sampled.borrow().get(&of) {
            return known.clone();
        }
        let sampled = match of {
            Sampled::Nodes(label, key) => self.0.values_of_new_nodes(label, key),
            Sampled::Relationships(of, key) => self.0.values_of_new_relationships(of, key),
        };
        let sampled = sampled.map(Rc::new);
        self.3.sampled.borrow_mut().insert(of, sampled.clone());
        sampled
    }

    /// Where the relationships of a type begin and end: the new ones, if most of them are new and
    /// were looked at, or as they were at the newest checkpoint.
    fn ends(&self, rel_type: &str) -> Option<TypeStatistics> {
        let id = self.catalog().rel_type(rel_type)?;
        let mut looked_at = self.3.ends.borrow_mut();
        let new = looked_at
            .entry(id)
            .or_insert_with(|| self.0.ends_of_new_relationships(id));
        let types = &self.catalog().statistics().types;
        let counted = || types.get(usize::try_from(id.0).ok()?).copied();
        new.or_else(counted)
    }

    fn catalog(&self) -> &Catalog {
        self.0.catalog()
    }
}

impl SchemaView for Schema<'_> {
    fn function(&self, name: &str) -> Option<FunctionView> {
        let known = self.1.1.view(name);
        self.3.called.set(self.3.called.get() || known.is_some());
        known
    }

    fn macro_named(&self, name: &str) -> Option<Macro> {
        let mut macros = self.catalog().macros().iter();
        let found = macros.find(|known| &*known.name == name)?;
        self.3.expanded.set(true);
        Some(Macro {
            name: found.name.clone(),
            parameters: found.parameters.clone(),
            body: found.body.clone(),
        })
    }

    fn table_called(&self, name: &str) -> Option<(Arc<str>, TableView)> {
        tables::called(self.catalog(), name)
    }

    fn type_called(&self, name: &str) -> Option<Arc<str>> {
        let of = tables::type_called(self.catalog(), name)?;
        self.3.expanded.set(true);
        Some(of)
    }

    fn source(&self, source: &LoadSource) -> Result<SourceView, SourceFault> {
        describe(source, self.4)
    }

    fn node_count(&self) -> u64 {
        self.catalog().statistics().nodes
    }

    fn label_count(&self, label: &str) -> Option<u64> {
        let known = self.catalog().label(label);
        let count = known.map(|id| self.catalog().label_count(id));
        Asked::note(&self.3.labels, label, count.unwrap_or(0));
        count
    }

    fn type_count(&self, rel_type: &str) -> Option<u64> {
        let known = self.catalog().rel_type(rel_type);
        let count = known.map(|id| self.catalog().pattern_count(None, Some(id), None));
        Asked::note(&self.3.types, rel_type, count.unwrap_or(0));
        count
    }

    fn nodes_with(&self, rel_type: &str, start: bool) -> Option<u64> {
        let counted = self.ends(rel_type)?;
        let nodes = match start {
            true => counted.start_nodes,
            false => counted.end_nodes,
        };
        (nodes > 0).then_some(nodes)
    }

    fn endpoint_degree(&self, rel_type: &str, start: bool) -> Option<f64> {
        let counted = self.ends(rel_type)?;
        let direction = match start {
            true => Direction::Out,
            false => Direction::In,
        };
        let all = counted.relationships as f64;
        let (most, squares) = (counted.degree_max(direction), counted.squares(direction));
        let mean = all / counted.list_count(direction).max(1) as f64;
        let of_one = (most as f64).min(all).powi(2) / all;
        match squares {
            _ if all == 0.0 => None,
            // The node with the most is the end of as large a share as it has of all.
            0 => (most > 0).then(|| of_one.max(mean)),
            squares => Some((squares as f64 / all).max(mean)),
        }
    }

    fn relationship_count(&self) -> u64 {
        self.catalog().statistics().relationships
    }

    fn pattern_count(&self, start: Option<&str>, rel_type: Option<&str>, end: Option<&str>) -> u64 {
        start.map(|label| self.label_count(label));
        rel_type.map(|rel_type| self.type_count(rel_type));
        end.map(|label| self.label_count(label));
        let catalog = self.catalog();
        // An unknown name matches nothing, which is not the same as any.
        let known = |given: bool, found: bool| !given || found;
        let start_id = start.and_then(|name| catalog.label(name));
        let type_id = rel_type.and_then(|name| catalog.rel_type(name));
        let end_id = end.and_then(|name| catalog.label(name));
        if known(start.is_some(), start_id.is_some())
            && known(rel_type.is_some(), type_id.is_some())
            && known(end.is_some(), end_id.is_some())
        {
            catalog.pattern_count(start_id, type_id, end_id)
        } else {
            0
        }
    }

    fn knows_key(&self, key: &str) -> bool {
        self.catalog().key(key).is_some()
    }

    fn index(&self, label: &str, key: &str) -> Option<IndexView> {
        let catalog = self.catalog();
        let label = catalog.label(label)?;
        let index = catalog.index(label, catalog.key(key)?)?;
        Some(IndexView {
            unique: index.unique,
            distinct: self.distinct(index, label),
        })
    }

    fn indexes(&self, label: &str) -> Vec<LabelIndex> {
        let catalog = self.catalog();
        let Some(label) = catalog.label(label) else {
            return Vec::new();
        };
        let own = catalog
            .indexes()
            .iter()
            .filter(|i| i.label() == Some(label));
        own.map(|index| LabelIndex {
            keys: index
                .keys
                .iter()
                .filter_map(|key| catalog.key_name(*key).cloned())
                .collect(),
            unique: index.unique,
            distinct: self.distinct(index, label),
        })
        .collect()
    }

    fn has_index(&self, of: &SchemaSubject, keys: &[Arc<str>], kind: Option<IndexKind>) -> bool {
        let catalog = self.catalog();
        let entity = match of {
            SchemaSubject::Label(label) => catalog.label(label).map(SchemaEntity::Node),
            SchemaSubject::Type(of) => catalog.rel_type(of).map(SchemaEntity::Relationship),
        };
        let kind = kind.map(|kind| match kind {
            IndexKind::Range => StoredKind::Range,
            IndexKind::Text => StoredKind::Text,
            IndexKind::Point => StoredKind::Point,
        });
        let keys: Option<Vec<_>> = keys.iter().map(|key| catalog.key(key)).collect();
        let (Some(entity), Some(keys)) = (entity, keys) else {
            return false;
        };
        catalog.indexes().iter().any(|index| {
            let fits = kind.is_none_or(|kind| index.kind == kind);
            fits && index.entity == entity && index.keys == keys
        })
    }

    fn names(&self, of: Named) -> Vec<String> {
        let catalog = self.catalog();
        let names = match of {
            Named::Label => catalog.labels(),
            Named::RelationshipType => catalog.types(),
            Named::PropertyKey => catalog.keys(),
        };
        names.iter().map(ToString::to_string).collect()
    }

    fn values(&self, of: Stored<'_>) -> Option<ValueCounts> {
        let values = self.value_statistics(of)?;
        Some(ValueCounts {
            values: values.values(),
            distinct: values.distinct(),
        })
    }

    fn share_equal(&self, of: Stored<'_>, value: Option<&Literal>) -> Option<f64> {
        let values = self.value_statistics(of)?;
        Some(values.share_equal(value.and_then(stored_value).as_ref()))
    }

    fn share_between(
        &self,
        of: Stored<'_>,
        low: Option<&Literal>,
        high: Option<&Literal>,
    ) -> Option<f64> {
        let values = self.value_statistics(of)?;
        let (low, high) = (low.and_then(stored_value), high.and_then(stored_value));
        Some(values.share_between(low.as_ref(), high.as_ref()))
    }

    fn stored(&self, what: Stored<'_>) -> Option<StoredSize> {
        let catalog = self.catalog();
        let size = |kind: StoreKind| {
            let store = catalog.store(kind)?;
            Some(StoredSize {
                pages: store.pages,
                entries: store.entries,
            })
        };
        match what {
            Stored::Labels => size(StoreKind::NodeLabels),
            Stored::NodeProperty(_)
            | Stored::LabelProperty { .. }
            | Stored::RelationshipProperty { .. } => size(self.property(what)?),
            Stored::Lists { rel_type, forward } => {
                let direction = match forward {
                    true => Direction::Out,
                    false => Direction::In,
                };
                if let Some(rel_type) = rel_type {
                    return size(StoreKind::Adjacency(catalog.rel_type(rel_type)?, direction));
                }
                let mut all = StoredSize::default();
                for store in catalog.stores() {
                    if matches!(store.kind, StoreKind::Adjacency(_, own) if own == direction) {
                        all.pages += store.pages;
                        all.entries += store.entries;
                    }
                }
                Some(all)
            }
            Stored::Index { label, keys } => {
                let keys: Option<Vec<_>> = keys.iter().map(|key| catalog.key(key)).collect();
                let entity = SchemaEntity::Node(catalog.label(label)?);
                let index = catalog.index_on(entity, &keys?)?;
                size(StoreKind::Index(index.number))
            }
        }
    }

    fn table(&self, name: &str) -> Option<TableView> {
        tables::view(self.catalog(), name)
    }

    fn threads(&self) -> usize {
        self.2.threads
    }

    fn divides_always(&self) -> bool {
        self.2.force_parallel
    }

    fn joins_always(&self) -> bool {
        self.2.join_always
    }

    fn is_called(&self, name: &str) -> bool {
        is_meant(name, self.5)
    }

    fn procedures(&self) -> Vec<String> {
        procedures::names(self.1.0)
    }

    fn procedure(&self, name: &str) -> Option<ProcedureView> {
        procedures::view(name, self.1.0)
    }
}
