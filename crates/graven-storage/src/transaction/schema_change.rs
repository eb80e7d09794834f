//! Creating and dropping indexes, constraints and users.
//!
//! # How it works
//! A new index gets an entry for everything that is there, as if it had been written just now; the
//! next checkpoint makes a tree of them. The log holds only the schema: reading it makes the
//! entries again. A transaction that changes the schema conflicts with every commit since its
//! start, and every transaction that began before it with it ([`super::conflicts`]).

use super::index_entries::{duplicate, key_in};
use super::{State, Transaction};
use crate::catalog::IndexDescription;
use crate::delta::change::Change;
use crate::delta::delta_layer::DeltaLayer;
use crate::ids::Direction;
use crate::index::cut;
use crate::index::key::KEY_BYTES_MAX;
use crate::schema::{
    ConstraintDescription, ConstraintKind, ConstraintSpec, IndexKind, IndexSpec, SchemaEntity,
};
use crate::users::UserDescription;
use crate::version::schema::Schema;
use crate::{Error, Result, SchemaClash, Snapshot};
use std::ops::Bound;
use std::sync::Arc;

/// Entities whose entries are made between two looks at the memory limit.
const CHUNK: usize = 1024;

/// Calls `visit` with the ids of all entities that an index is about, in chunks.
pub(crate) fn for_each_entity(
    view: &Snapshot,
    entity: SchemaEntity,
    visit: &mut dyn FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let mut ids = Vec::with_capacity(CHUNK);
    let mut push = |id: u64, visit: &mut dyn FnMut(&[u64]) -> Result<()>| {
        ids.push(id);
        if ids.len() == CHUNK {
            visit(&ids)?;
            ids.clear();
        }
        Ok::<(), Error>(())
    };
    match entity {
        SchemaEntity::Node(label) => {
            for node in view.nodes_with_label(label)?.iter() {
                push(node.0, visit)?;
            }
        }
        SchemaEntity::Relationship(rel_type) => {
            let adjacency = view.adjacency(rel_type, Direction::Out)?;
            let mut list = Vec::new();
            for node in view.all_nodes()?.iter() {
                list.clear();
                adjacency.neighbours(node, &mut list)?;
                for neighbour in &list {
                    push(neighbour.relationship.0, visit)?;
                }
            }
        }
    }
    visit(&ids)
}

/// Fails where the caller wants to stop.
fn go_on(stop: &dyn Fn() -> bool) -> Result<()> {
    if stop() { Err(Error::Stopped) } else { Ok(()) }
}

/// Calls `visit` with the id and the whole key of everything that belongs into `index`.
pub(crate) fn for_each_key(
    view: &Snapshot,
    index: &IndexDescription,
    stop: &dyn Fn() -> bool,
    visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    for_each_entity(view, index.entity, &mut |ids| {
        go_on(stop)?;
        for id in ids {
            if let Some(key) = key_in(view, index, *id, None)? {
                visit(*id, &key)?;
            }
        }
        Ok(())
    })
}

/// Another node or relationship with the same whole key, among the entries of a new index.
fn holder(view: &Snapshot, index: &IndexDescription, key: &[u8]) -> Result<Option<u64>> {
    let short: Arc<[u8]> = cut(key).into();
    let entries = view.index_changes(index.number, &short, &short);
    let mut from = Bound::Included((short.clone(), 0));
    while let Some((entry, change)) = entries.next(from.as_ref())? {
        if entry.0 != short {
            break;
        }
        let same = key.len() < KEY_BYTES_MAX
            || key_in(view, index, entry.1, None)?.as_deref() == Some(key);
        if same && change == Change::Added {
            return Ok(Some(entry.1));
        }
        from = Bound::Excluded(entry);
    }
    Ok(None)
}

/// What errors and made names call both sorts of rules.
const INDEX: &str = "index";
const CONSTRAINT: &str = "constraint";

impl Transaction {
    /// Creates an index over what is there and what comes; its name. `stop` is asked now and then.
    ///
    /// # Errors
    /// [`Error::SchemaExists`], [`Error::RepeatedProperty`], [`Error::Duplicate`];
    /// [`Error::Stopped`].
    pub fn create_index(&self, spec: &IndexSpec, stop: &dyn Fn() -> bool) -> Result<Arc<str>> {
        self.write(|state| {
            check_keys("an index", &spec.keys)?;
            let schema = self.write_set.schema();
            let about = (INDEX, spec.entity, &spec.keys[..]);
            let standing = before_index(&schema, spec);
            let name = self.new_name(&schema, standing, spec.name.as_deref(), about)?;
            self.add_index(state, &name, spec, stop)?;
            state.counters.indexes_added += 1;
            Ok(name)
        })
    }

    /// Adds an index of this name, which none has; its number.
    fn add_index(
        &self,
        state: &mut State,
        name: &str,
        spec: &IndexSpec,
        stop: &dyn Fn() -> bool,
    ) -> Result<u32> {
        let mut schema = (*self.write_set.schema()).clone();
        let number = schema.next_index;
        let mut index = IndexDescription::new(number, name, spec.entity, &spec.keys, spec.unique);
        index.kind = spec.kind;
        schema.next_index += 1;
        schema.indexes.push(index.clone());
        if let Err(error) = self.populate(state, &index, stop) {
            self.write_set.change(|layer| layer.remove_index(number));
            return Err(error);
        }
        self.write_set.set_schema(schema);
        state.schema_changed = true;
        Ok(number)
    }

    /// Makes the entries of a new index.
    fn populate(
        &self,
        state: &mut State,
        index: &IndexDescription,
        stop: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut made = 0;
        for_each_key(&self.view, index, stop, &mut |id, key| {
            if index.unique
                && let Some(other) = holder(&self.view, index, key)?
            {
                return Err(duplicate(&self.snapshot(), index, other)?);
            }
            let key: Arc<[u8]> = cut(key).into();
            let added = Change::Added;
            self.write_set
                .change(|layer| layer.put_index_entry(index.number, &key, id, added));
            made += 1;
            if made % CHUNK == 0 {
                self.charge(state)?;
            }
            Ok(())
        })
    }

    /// Drops an index.
    ///
    /// # Errors
    /// [`Error::NoSuchSchema`]; [`Error::IndexOfConstraint`] if a constraint owns it.
    pub fn drop_index(&self, name: &str) -> Result<()> {
        self.write(|state| {
            let schema = self.write_set.schema();
            let index = schema.indexes.iter().find(|index| &*index.name == name);
            let Some(number) = index.map(|index| index.number) else {
                return Err(Error::NoSuchSchema {
                    what: INDEX,
                    name: name.to_owned(),
                });
            };
            if let Some(owner) = owner(&schema, number) {
                return Err(Error::IndexOfConstraint {
                    name: name.to_owned(),
                    constraint: owner.name.to_string(),
                });
            }
            self.remove_index(state, number);
            state.counters.indexes_removed += 1;
            Ok(())
        })
    }

    fn remove_index(&self, state: &mut State, number: u32) {
        let mut schema = (*self.write_set.schema()).clone();
        schema.indexes.retain(|index| index.number != number);
        self.write_set.set_schema(schema);
        self.write_set.change(|layer| layer.remove_index(number));
        state.schema_changed = true;
    }

    /// Creates a constraint, with its index where it needs one; its name. `stop` is asked now and
    /// then.
    ///
    /// # Errors
    /// As [`Transaction::create_index`]; [`Error::MissingProperty`], [`Error::WrongType`],
    /// [`Error::WrongEnds`].
    pub fn create_constraint(
        &self,
        spec: &ConstraintSpec,
        stop: &dyn Fn() -> bool,
    ) -> Result<Arc<str>> {
        self.write(|state| {
            match spec.kind {
                ConstraintKind::Ends(_) => check_ends(spec)?,
                _ => check_keys("a constraint", &spec.keys)?,
            }
            let before = self.write_set.schema();
            let about = (CONSTRAINT, spec.entity, &spec.keys[..]);
            let standing = before_constraint(&before, spec);
            let name = self.new_name(&before, standing, spec.name.as_deref(), about)?;
            let mut constraint = ConstraintDescription {
                name: name.clone(),
                kind: spec.kind.clone(),
                entity: spec.entity,
                keys: spec.keys.clone(),
                index: None,
            };
            if spec.kind != ConstraintKind::Unique {
                for_each_entity(&self.view, spec.entity, &mut |ids| {
                    go_on(stop)?;
                    ids.iter().try_for_each(|id| self.check(&constraint, *id))
                })?;
            }
            if spec.kind.has_index() {
                let index = IndexSpec {
                    name: Some(name.to_string()),
                    entity: spec.entity,
                    keys: spec.keys.clone(),
                    unique: true,
                    kind: IndexKind::Range,
                };
                constraint.index = Some(self.add_index(state, &name, &index, stop)?);
            }
            let mut schema = (*self.write_set.schema()).clone();
            schema.constraints.push(constraint);
            self.write_set.set_schema(schema);
            state.schema_changed = true;
            state.counters.constraints_added += 1;
            Ok(name)
        })
    }

    /// Drops a constraint with its index.
    ///
    /// # Errors
    /// [`Error::NoSuchSchema`].
    pub fn drop_constraint(&self, name: &str) -> Result<()> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let at = schema.constraints.iter().position(|it| &*it.name == name);
            let Some(at) = at else {
                return Err(Error::NoSuchSchema {
                    what: CONSTRAINT,
                    name: name.to_owned(),
                });
            };
            let dropped = schema.constraints.remove(at);
            self.write_set.set_schema(schema);
            state.schema_changed = true;
            if let Some(number) = dropped.index {
                self.remove_index(state, number);
            }
            state.counters.constraints_removed += 1;
            Ok(())
        })
    }

    /// The user of this name, as this transaction sees it.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<UserDescription> {
        let schema = self.write_set.schema();
        let mut users = schema.users.iter();
        users.find(|user| &*user.name == name).cloned()
    }

    /// Adds a user, or changes the one of this name.
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn put_user(&self, user: UserDescription) -> Result<()> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let found = schema
                .users
                .binary_search_by(|known| known.name.cmp(&user.name));
            match found {
                Ok(at) => schema.users[at] = user,
                Err(at) => schema.users.insert(at, user),
            }
            self.write_set.set_schema(schema);
            state.schema_changed = true;
            state.counters.users_changed += 1;
            Ok(())
        })
    }

    /// Gives a user another name, which none has.
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn rename_user(&self, from: &str, to: &str) -> Result<()> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let mut users = schema.users.iter_mut();
            if let Some(user) = users.find(|user| &*user.name == from) {
                user.name = to.into();
                schema.users.sort_by(|a, b| a.name.cmp(&b.name));
                self.write_set.set_schema(schema);
                state.schema_changed = true;
                state.counters.users_changed += 1;
            }
            Ok(())
        })
    }

    /// Removes the user of this name; whether there was one.
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn drop_user(&self, name: &str) -> Result<bool> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let before = schema.users.len();
            schema.users.retain(|user| &*user.name != name);
            let found = schema.users.len() < before;
            if found {
                self.write_set.set_schema(schema);
                state.schema_changed = true;
                state.counters.users_changed += 1;
            }
            Ok(found)
        })
    }

    /// The name of a new rule: the one asked for, or one made of what it is about; not in use yet.
    /// No rule may stand before it. An equal rule of the same name counts first, then any rule of
    /// that name, then the rule before it.
    fn new_name(
        &self,
        schema: &Schema,
        standing: Option<Standing<'_>>,
        name: Option<&str>,
        about: (&str, SchemaEntity, &[crate::KeyId]),
    ) -> Result<Arc<str>> {
        let stem = self.made_name(about);
        let exists = |what, name: &str, clash| {
            let name = name.to_owned();
            Err(Error::SchemaExists { what, name, clash })
        };
        if let Some(same) = &standing
            && same.clash == SchemaClash::Both
            && same.name == name.unwrap_or(&stem)
        {
            return exists(same.what, same.name, SchemaClash::Both);
        }
        let taken = |name: &str| {
            if schema.constraints.iter().any(|it| &*it.name == name) {
                return Some(CONSTRAINT);
            }
            let index = schema.indexes.iter().any(|it| &*it.name == name);
            index.then_some(INDEX)
        };
        if let Some(name) = name
            && let Some(what) = taken(name)
        {
            return exists(what, name, SchemaClash::Name);
        }
        if let Some(it) = standing {
            let clash = match it.clash {
                SchemaClash::Both => SchemaClash::Rule,
                clash => clash,
            };
            return exists(it.what, it.name, clash);
        }
        if let Some(name) = name {
            return Ok(name.into());
        }
        let mut made = stem.clone();
        let mut more = 1;
        while taken(&made).is_some() {
            more += 1;
            made = format!("{stem}_{more}");
        }
        Ok(made.into())
    }

    /// A name made of what a rule is about.
    fn made_name(&self, (prefix, entity, keys): (&str, SchemaEntity, &[crate::KeyId])) -> String {
        let names = self.write_set.allocator().names();
        let of = match entity {
            SchemaEntity::Node(label) => names.labels.get(label.0),
            SchemaEntity::Relationship(rel_type) => names.types.get(rel_type.0),
        };
        let mut made = format!("{prefix}_{}", of.map_or("?", |name| name));
        for key in keys {
            made.push('_');
            made.push_str(names.keys.get(key.0).map_or("?", |name| name));
        }
        made
    }
}

/// A rule that is in the way of a new one.
struct Standing<'a> {
    what: &'static str,
    name: &'a str,
    /// `Both`: it is equal to the new one, whatever its name.
    clash: SchemaClash,
}

/// The constraint that has an index.
fn owner(schema: &Schema, number: u32) -> Option<&ConstraintDescription> {
    let mut all = schema.constraints.iter();
    all.find(|it| it.index == Some(number))
}

/// The index of a sort on properties, which another index of it may not be on.
fn index_on<'a>(
    schema: &'a Schema,
    kind: IndexKind,
    (entity, keys): (SchemaEntity, &[crate::KeyId]),
) -> Option<&'a IndexDescription> {
    let mut all = schema.indexes.iter();
    all.find(|it| (it.entity, it.kind) == (entity, kind) && it.keys == keys)
}

/// What is in the way of a new index.
fn before_index<'a>(schema: &'a Schema, spec: &IndexSpec) -> Option<Standing<'a>> {
    let index = index_on(schema, spec.kind, (spec.entity, &spec.keys))?;
    Some(match owner(schema, index.number) {
        Some(owner) => Standing {
            what: CONSTRAINT,
            name: &owner.name,
            clash: SchemaClash::Sort,
        },
        None => Standing {
            what: INDEX,
            name: &index.name,
            clash: SchemaClash::Both,
        },
    })
}

/// What is in the way of a new constraint.
fn before_constraint<'a>(schema: &'a Schema, spec: &ConstraintSpec) -> Option<Standing<'a>> {
    let clash = |it: &ConstraintDescription| match (&it.kind, &spec.kind) {
        (ConstraintKind::Typed { of, .. }, ConstraintKind::Typed { of: wanted, .. }) => {
            Some(match of == wanted {
                true => SchemaClash::Both,
                false => SchemaClash::Demand,
            })
        }
        (kind, wanted) if kind == wanted => Some(SchemaClash::Both),
        (ConstraintKind::Ends(_), ConstraintKind::Ends(_)) => Some(SchemaClash::Demand),
        (kind, wanted) if kind.has_index() && wanted.has_index() => Some(SchemaClash::Kind),
        _ => None,
    };
    let about = |it: &&ConstraintDescription| it.entity == spec.entity && it.keys == spec.keys;
    let found = schema.constraints.iter().filter(about).find_map(|it| {
        Some(Standing {
            what: CONSTRAINT,
            name: &it.name,
            clash: clash(it)?,
        })
    });
    let index = || {
        let index = index_on(schema, IndexKind::Range, (spec.entity, &spec.keys))?;
        Some(Standing {
            what: INDEX,
            name: &index.name,
            clash: SchemaClash::Sort,
        })
    };
    found.or_else(|| spec.kind.has_index().then(index)?)
}

fn check_keys(what: &'static str, keys: &[crate::KeyId]) -> Result<()> {
    if keys.is_empty() {
        let what = format!("{what} needs properties");
        return Err(Error::InvalidSchema { what });
    }
    let mut distinct = keys.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() != keys.len() {
        return Err(Error::RepeatedProperty { what });
    }
    Ok(())
}

fn check_ends(spec: &ConstraintSpec) -> Result<()> {
    let of_type = matches!(spec.entity, SchemaEntity::Relationship(_));
    if of_type && spec.keys.is_empty() {
        return Ok(());
    }
    Err(Error::InvalidSchema {
        what: "a constraint on ends is about relationships of a type and no property".to_owned(),
    })
}

/// Keeps the entries of indexes that `schema` still has.
pub(crate) fn drop_lost_indexes(layer: &mut DeltaLayer, schema: &Schema) {
    let lost: Vec<u32> = layer
        .indexes
        .keys()
        .copied()
        .filter(|number| schema.indexes.iter().all(|index| index.number != *number))
        .collect();
    lost.into_iter()
        .for_each(|number| layer.remove_index(number));
}
