//! The bytes of a layer in the log: logical redo records.
//!
//! # How it works
//! What readers need is derived again when the log is read: entries of lists from relationships,
//! entries of indexes from properties and labels, counts from both. A large transaction is cut into
//! chunks between entries, each of which can be read on its own.
//!
//! # On disk
//! Payload of a chunk: sections one behind the other. Payload of a commit: its head, then sections.
//!
//! | head | |
//! | --- | --- |
//! | version (1 byte) | 1 |
//! | flags (1 byte) | 1: client id; 2: names; 4: schema; 8: what changed of the schema |
//! | 16 bytes | client id, if flagged |
//! | three lists | new labels, types, keys, if flagged: varint number of the first, varint count, names |
//! | varint, bytes | the schema, or what changed of it ([`super::logged_schema`]), if flagged |
//!
//! | section | |
//! | --- | --- |
//! | 1 nodes | count (4); each: varint difference to the id before, kind (1 byte: 0 deleted, 1 created, 2 labels), then unless deleted varint count of labels, varint labels |
//! | 2 node property | varint key, count (4); each: varint difference to the id before, value ([`crate::value::encode`]) |
//! | 3 relationship property | varint type, varint key, then as 2 |
//! | 4 relationships | count (4); each: varint difference to the id before, kind (1 byte: 0 deleted, 1 created), varint type, start, end |

use super::batch::Batch;
use super::delta_layer::DeltaLayer;
use super::logged_schema::LoggedSchema;
use super::merged_delta::MergedDelta;
use super::work_sharing::share;
use crate::bytes::{Decoded, Malformed, Reader, put_text, put_varint};
use crate::delta::change::{Change, ColumnOf, NodeChange, RelationshipChange};
use crate::ids::{KeyId, LabelId, NodeId, RelId, TypeId};
use crate::store::allocator::{NameKind, NameLists};
use crate::value::encode::put_value;
use graven_types::PropertyValue;
use parking_lot::Mutex;
use std::sync::Arc;

const VERSION: u8 = 1;
const HAS_CLIENT: u8 = 1;
const HAS_NAMES: u8 = 2;
const HAS_SCHEMA: u8 = 4;
const HAS_SCHEMA_DIFFERENCE: u8 = 8;

const NODES: u8 = 1;
const NODE_PROPERTY: u8 = 2;
const RELATIONSHIP_PROPERTY: u8 = 3;
const RELATIONSHIPS: u8 = 4;

/// Entries that are read between two looks at the memory they take.
const STEP_ENTRIES: u32 = 4096;

pub(crate) const NAME_KINDS: [NameKind; 3] = [NameKind::Label, NameKind::Type, NameKind::Key];

/// How many names of each kind are in the log or the base.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NamesLogged(pub(crate) [usize; 3]);

impl NamesLogged {
    pub(crate) fn of(names: &NameLists) -> NamesLogged {
        NamesLogged(NAME_KINDS.map(|kind| names.list(kind).list().len()))
    }
}

/// What a commit record says besides its sections.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) client_id: Option<[u8; 16]>,
    /// Per kind: number of the first, names.
    pub(crate) names: [(u32, Vec<Arc<str>>); 3],
    /// The schema behind the commit, where it changes it.
    pub(crate) schema: Option<LoggedSchema>,
}

impl Head {
    /// The names that are not in the log yet.
    pub(crate) fn new_names(names: &NameLists, logged: NamesLogged) -> [(u32, Vec<Arc<str>>); 3] {
        let mut at = 0;
        NAME_KINDS.map(|kind| {
            let first = logged.0[at];
            at += 1;
            let new = names.list(kind).list().from(first);
            (first as u32, new.cloned().collect())
        })
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let any_names = self.names.iter().any(|(_, names)| !names.is_empty());
        let mut flags = 0;
        for (flag, set) in [
            (HAS_CLIENT, self.client_id.is_some()),
            (HAS_NAMES, any_names),
            (
                HAS_SCHEMA,
                matches!(self.schema, Some(LoggedSchema::Whole(_))),
            ),
            (
                HAS_SCHEMA_DIFFERENCE,
                matches!(self.schema, Some(LoggedSchema::Difference(_))),
            ),
        ] {
            flags |= if set { flag } else { 0 };
        }
        out.extend_from_slice(&[VERSION, flags]);
        if let Some(id) = &self.client_id {
            out.extend_from_slice(id);
        }
        if any_names {
            for (first, names) in &self.names {
                put_varint(out, u64::from(*first));
                put_varint(out, names.len() as u64);
                names.iter().for_each(|name| put_text(out, name));
            }
        }
        if let Some(LoggedSchema::Whole(bytes) | LoggedSchema::Difference(bytes)) = &self.schema {
            put_varint(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
    }

    /// The head at the start of a commit's payload; the sections are left in `reader`.
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Decoded<Head> {
        let (version, flags) = (reader.u8()?, reader.u8()?);
        let of_schema = flags & (HAS_SCHEMA | HAS_SCHEMA_DIFFERENCE);
        let unknown = flags & !(HAS_CLIENT | HAS_NAMES | of_schema);
        if version != VERSION || unknown != 0 || of_schema.count_ones() > 1 {
            return Err(Malformed(format!(
                "commit of version {version} with flags {flags:#x}, version {VERSION} expected"
            )));
        }
        let mut head = Head::default();
        if flags & HAS_CLIENT != 0 {
            head.client_id = Some(reader.array()?);
        }
        if flags & HAS_NAMES != 0 {
            for (first, names) in &mut head.names {
                *first = number(reader)?;
                for _ in 0..reader.length()? {
                    names.push(Arc::from(reader.text()?));
                }
            }
        }
        if of_schema != 0 {
            let length = reader.length()?;
            let bytes = reader.take(length)?.to_vec();
            head.schema = Some(match of_schema {
                HAS_SCHEMA => LoggedSchema::Whole(bytes),
                _ => LoggedSchema::Difference(bytes),
            });
        }
        Ok(head)
    }
}

/// Writes sections and hands them out when they pass a size.
struct Sections<'a, E> {
    out: Vec<u8>,
    limit: usize,
    full: &'a mut dyn FnMut(&mut Vec<u8>) -> Result<(), E>,
    /// Where the count of the open section is, and the count so far.
    open: Option<(usize, u32)>,
    last: u64,
}

impl<E> Sections<'_, E> {
    /// Begins an entry of a section that `head` begins.
    fn entry(&mut self, id: u64, head: impl Fn(&mut Vec<u8>)) -> Result<&mut Vec<u8>, E> {
        if self.out.len() >= self.limit {
            self.close();
            (self.full)(&mut self.out)?;
            self.out.clear();
        }
        let (at, count) = match self.open {
            Some((at, count)) => (at, count + 1),
            None => {
                head(&mut self.out);
                self.out.extend_from_slice(&[0; 4]);
                self.last = 0;
                (self.out.len() - 4, 1)
            }
        };
        self.open = Some((at, count));
        put_varint(&mut self.out, id - self.last);
        self.last = id;
        Ok(&mut self.out)
    }

    fn close(&mut self) {
        if let Some((at, count)) = self.open.take() {
            self.out[at..at + 4].copy_from_slice(&count.to_le_bytes());
        }
    }
}

impl<E> Sections<'_, E> {
    fn node(&mut self, id: u64, change: &NodeChange) -> Result<(), E> {
        let out = self.entry(id, |out| out.push(NODES))?;
        out.push(match change {
            NodeChange::Deleted => 0,
            NodeChange::Created(_) => 1,
            NodeChange::Labels(_) => 2,
        });
        if let Some(labels) = change.labels() {
            put_varint(out, labels.len() as u64);
            labels
                .iter()
                .for_each(|label| put_varint(out, u64::from(label.0)));
        }
        Ok(())
    }

    fn value(&mut self, of: &ColumnOf, id: u64, value: &PropertyValue) -> Result<(), E> {
        let out = self.entry(id, |out| match of {
            ColumnOf::Node(key) => {
                out.push(NODE_PROPERTY);
                put_varint(out, u64::from(key.0));
            }
            ColumnOf::Relationship(rel_type, key) => {
                out.push(RELATIONSHIP_PROPERTY);
                put_varint(out, u64::from(rel_type.0));
                put_varint(out, u64::from(key.0));
            }
        })?;
        put_value(out, value);
        Ok(())
    }

    fn relationship(&mut self, id: u64, it: &RelationshipChange) -> Result<(), E> {
        let out = self.entry(id, |out| out.push(RELATIONSHIPS))?;
        out.push(u8::from(it.change == Change::Added));
        put_varint(out, u64::from(it.rel_type.0));
        put_varint(out, it.start.0);
        put_varint(out, it.end.0);
        Ok(())
    }
}

/// Appends the sections of `layer` to `out`. Whenever it passes `limit` bytes it goes to `full` and
/// is cleared.
pub(crate) fn encode<E>(
    layer: &DeltaLayer,
    out: Vec<u8>,
    limit: usize,
    full: &mut dyn FnMut(&mut Vec<u8>) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let mut sections = Sections {
        out,
        limit,
        full,
        open: None,
        last: 0,
    };
    for (id, change) in layer.nodes.iter() {
        sections.node(id, change)?;
    }
    sections.close();
    for (of, values) in layer.columns.iter() {
        for (id, value) in values.iter() {
            sections.value(of, id, value)?;
        }
        sections.close();
    }
    for (id, it) in layer.relationships.iter() {
        sections.relationship(id, it)?;
    }
    sections.close();
    Ok(sections.out)
}

/// What one thread encodes at a time.
enum Part {
    Nodes,
    Values(ColumnOf),
    Relationships,
}

/// As [`encode`] for layers that may be larger than memory, on up to `threads` threads. Each takes
/// the nodes, the relationships or one property, so that what goes to `full` comes in no order;
/// recovery needs none.
pub(crate) fn encode_net(
    net: &MergedDelta<'_>,
    limit: usize,
    threads: usize,
    full: &(dyn Fn(&mut Vec<u8>) -> crate::Result<()> + Sync),
) -> crate::Result<Vec<u8>> {
    // The longest ones first.
    let mut parts = vec![Part::Relationships];
    parts.extend(net.column_keys().into_iter().map(Part::Values));
    parts.push(Part::Nodes);
    let rest = Mutex::new(Vec::new());
    share(parts, threads, |part| {
        let mut sections = Sections {
            out: Vec::new(),
            limit,
            full: &mut |out| full(out),
            open: None,
            last: 0,
        };
        sections.part(net, &part)?;
        let mut out = sections.out;
        let mut rest = rest.lock();
        if rest.len() + out.len() > limit && !rest.is_empty() {
            full(&mut rest)?;
            rest.clear();
        }
        rest.append(&mut out);
        Ok::<(), crate::Error>(())
    })?;
    Ok(rest.into_inner())
}

impl Sections<'_, crate::Error> {
    fn part(&mut self, net: &MergedDelta<'_>, part: &Part) -> crate::Result<()> {
        match part {
            Part::Nodes => {
                for entry in net.nodes() {
                    let (id, change) = entry?;
                    self.node(id, &change)?;
                }
            }
            Part::Values(of) => {
                for entry in net.values(*of) {
                    let (id, value) = entry?;
                    self.value(of, id, &value)?;
                }
            }
            Part::Relationships => {
                for entry in net.relationships() {
                    let (id, it) = entry?;
                    self.relationship(id, &it)?;
                }
            }
        }
        self.close();
        Ok(())
    }
}

fn number(reader: &mut Reader<'_>) -> Decoded<u32> {
    let number = reader.varint()?;
    u32::try_from(number).map_err(|_| Malformed(format!("number {number} beyond 32 bits")))
}

/// Places of the kinds in [`NAME_KINDS`].
const LABEL: usize = 0;
const TYPE: usize = 1;
const KEY: usize = 2;

/// The number of a name that there is: a record with another one is damaged, whatever its checksum
/// says.
fn name(reader: &mut Reader<'_>, known: NamesLogged, kind: usize) -> Decoded<u32> {
    let number = number(reader)?;
    if number as usize >= known.0[kind] {
        return Err(Malformed(format!(
            "{:?} {number} of {}",
            NAME_KINDS[kind], known.0[kind]
        )));
    }
    Ok(number)
}

/// What a section is about.
#[derive(Clone, Copy, Debug)]
enum Section {
    Nodes,
    Values(ColumnOf),
    Relationships,
}

/// Puts sections into a batch, a few thousand entries at a time: a chunk of the log may be several
/// times as large in memory. Entries of lists and indexes and the counts are not in them.
#[derive(Debug)]
pub(crate) struct Decoder {
    section: Section,
    /// Entries of the section that were not read yet.
    left: u32,
    /// The newest id.
    id: u64,
    /// Of the node that is being read: see [`read_node`].
    key: Vec<u32>,
    /// How many names of each kind there are.
    known: NamesLogged,
}

impl Decoder {
    /// Sections may name what is in `names` and nothing else.
    pub(crate) fn new(names: &NameLists) -> Decoder {
        Decoder {
            section: Section::Nodes,
            left: 0,
            id: 0,
            key: Vec::new(),
            known: NamesLogged::of(names),
        }
    }

    fn begin(&mut self, reader: &mut Reader<'_>) -> Decoded<()> {
        self.section = match reader.u8()? {
            NODES => Section::Nodes,
            RELATIONSHIPS => Section::Relationships,
            NODE_PROPERTY => Section::Values(ColumnOf::Node(KeyId(name(reader, self.known, KEY)?))),
            RELATIONSHIP_PROPERTY => {
                let rel_type = TypeId(name(reader, self.known, TYPE)?);
                let key = KeyId(name(reader, self.known, KEY)?);
                Section::Values(ColumnOf::Relationship(rel_type, key))
            }
            other => return Err(Malformed(format!("unknown section {other}"))),
        };
        (self.left, self.id) = (reader.u32()?, 0);
        Ok(())
    }

    /// Reads on; `false` at the end.
    pub(crate) fn step(&mut self, reader: &mut Reader<'_>, batch: &mut Batch) -> Decoded<bool> {
        if self.left == 0 {
            if reader.remaining() == 0 {
                return Ok(false);
            }
            self.begin(reader)?;
        }
        let count = self.left.min(STEP_ENTRIES);
        self.left -= count;
        let id = &mut self.id;
        let mut next = |reader: &mut Reader<'_>| {
            *id = id.checked_add(reader.varint()?).ok_or_else(beyond)?;
            Ok::<u64, Malformed>(*id)
        };
        match self.section {
            Section::Values(of) => batch.put_values(of, |values| {
                (0..count).try_for_each(|_| values.take(next(reader)?, reader))
            })?,
            Section::Nodes => {
                for _ in 0..count {
                    let node = NodeId(next(reader)?);
                    read_node(reader, self.known, &mut self.key)?;
                    let key = &self.key;
                    batch.put_node(node, key, || node_change(key));
                }
            }
            Section::Relationships => {
                for _ in 0..count {
                    let id = RelId(next(reader)?);
                    // Part by part: as one result of a call it would go through memory and be
                    // waited for.
                    let change = read_change(reader)?;
                    let rel_type = TypeId(name(reader, self.known, TYPE)?);
                    let (start, end) = (NodeId(reader.varint()?), NodeId(reader.varint()?));
                    let it = RelationshipChange {
                        rel_type,
                        start,
                        end,
                        change,
                    };
                    batch.put_relationship(id, it);
                }
            }
        }
        Ok(true)
    }
}

fn beyond() -> Malformed {
    Malformed::new("an id beyond 64 bits")
}

/// A node's change in numbers: kind, labels.
fn read_node(reader: &mut Reader<'_>, known: NamesLogged, key: &mut Vec<u32>) -> Decoded<()> {
    let kind = reader.u8()?;
    if kind > 2 {
        return Err(Malformed(format!("unknown change {kind} of a node")));
    }
    key.clear();
    key.push(kind.into());
    if kind != 0 {
        for _ in 0..reader.length()? {
            key.push(name(reader, known, LABEL)?);
        }
    }
    Ok(())
}

/// Of such numbers.
fn node_change(key: &[u32]) -> NodeChange {
    let labels = || key[1..].iter().map(|label| LabelId(*label)).collect();
    match key[0] {
        0 => NodeChange::Deleted,
        1 => NodeChange::Created(labels()),
        _ => NodeChange::Labels(labels()),
    }
}

fn read_change(reader: &mut Reader<'_>) -> Decoded<Change> {
    match reader.u8()? {
        0 => Ok(Change::Removed),
        1 => Ok(Change::Added),
        other => Err(Malformed(format!(
            "unknown change {other} of a relationship"
        ))),
    }
}
