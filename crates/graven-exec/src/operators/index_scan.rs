//! Nodes out of an index over one or several properties, in the order of a property where that is
//! asked for.
//!
//! # How it works
//! One range of the index gives the nodes, as they are handed out. In order, and where nothing is
//! demanded of the value, the ranges of its classes are read one after the other in the order of
//! `ORDER BY`; lists, points and durations, which an index orders in its own way, are collected and
//! sorted, and so are neighbours whose keys the index has cut. Nodes without the property, or with
//! NaN, are in no index: the label is read for them, at the end of an ascending order or before a
//! descending one, unless the index is known to hold all nodes of the label. Lists and points that
//! contain NaN are in no index either. Their places are among those that are in one: where an
//! ascending order meets any of these, the label is read at once. Without the index,
//! which a plan may outlive, the label is scanned and sorted; and where the bounds are lists, which
//! compare item by item as far as their items compare, while an index has an order over all lists.

use std::collections::VecDeque;
use std::ops::{Bound, Range};
use std::sync::Arc;

use graven_cypher::plan::{Inclusion, IndexOrder, SortOrder};
use graven_storage::{
    self as storage, Index, IndexPart, IndexStep, KeyId, LabelId, PropertyValue, SchemaEntity,
};

use super::row_expander::RowExpander;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::convert::to_stored;
use crate::value::equality::equals;
use crate::value::order::{Comparison, compare, total_order};

/// What is demanded of the value behind those that equal others.
pub(crate) enum IndexCondition {
    All,
    Range {
        low: Option<(Compiled, Inclusion)>,
        high: Option<(Compiled, Inclusion)>,
    },
    StartsWith(Compiled),
    Contains(Compiled),
    EndsWith(Compiled),
}

impl IndexCondition {
    /// What is demanded of a text, as an index is asked for it.
    fn of_text<'t>(&self, text: &'t str) -> Option<IndexPart<'t>> {
        match self {
            IndexCondition::All | IndexCondition::Range { .. } => None,
            IndexCondition::StartsWith(_) => Some(IndexPart::StartsWith(text)),
            IndexCondition::Contains(_) => Some(IndexPart::Contains(text)),
            IndexCondition::EndsWith(_) => Some(IndexPart::EndsWith(text)),
        }
    }
}

/// What is looked for.
pub(crate) struct Sought {
    pub(crate) label: Option<LabelId>,
    pub(crate) keys: Vec<Option<KeyId>>,
    pub(crate) equal: Vec<Compiled>,
    pub(crate) part: IndexCondition,
    pub(crate) order: Option<IndexOrder>,
}

/// See the file header.
pub(crate) struct IndexScan {
    input: RowExpander,
    slot: usize,
    sought: Arc<Sought>,
    /// Values looked for, of the current batch: those that equal, then those of the part.
    values: Vec<Arc<Column>>,
    stream: Option<Stream>,
    memory: Memory,
}

impl IndexScan {
    /// Finds into column `slot`.
    pub(crate) fn new(
        input: BoxedOperator,
        slot: usize,
        sought: Arc<Sought>,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input: RowExpander::new(input),
            slot,
            sought,
            values: Vec::new(),
            stream: None,
            memory: Memory::new(&rt.budget, "IndexScan", "look for fewer values"),
        }
    }
}

impl PhysicalOperator for IndexScan {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let (mut rows, mut ids) = (Vec::new(), Vec::new());
        loop {
            let (sought, values) = (&self.sought, &mut self.values);
            if !self.input.advance(rt, |batch| {
                *values = sought.values(batch, rt)?;
                Ok(())
            })? {
                return Ok(None);
            }
            let row = self.input.row();
            if self.stream.is_none() {
                let values: Vec<Value> = self.values.iter().map(|c| c.value(row)).collect();
                self.stream = Some(Stream::start(&self.sought, values, rt)?);
            }
            let stream = self.stream.as_mut().expect("just started");
            while ids.len() < rt.batch_rows()
                && let Some(id) = stream.next(&self.sought, &mut self.memory, rt)?
            {
                ids.push(id);
            }
            rows.resize(ids.len(), u32::try_from(row).expect("a batch is small"));
            if ids.len() < rt.batch_rows() {
                self.stream = None;
                self.input.step();
            }
            if let Some(found) = self.input.found(self.slot, &rows, &mut ids, rt) {
                return Ok(Some(found));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.stream = None;
        self.memory.clear();
    }
}

impl Sought {
    fn values(&self, batch: &Batch, rt: &QueryContext) -> Result<Vec<Arc<Column>>> {
        let part: Vec<&Compiled> = match &self.part {
            IndexCondition::All => Vec::new(),
            IndexCondition::Range { low, high } => low.iter().chain(high).map(|(e, _)| e).collect(),
            IndexCondition::StartsWith(text)
            | IndexCondition::Contains(text)
            | IndexCondition::EndsWith(text) => vec![text],
        };
        let all = self.equal.iter().chain(part);
        all.map(|e| e.column(Rows::all(batch), rt)).collect()
    }

    fn inclusions(&self) -> (Option<Inclusion>, Option<Inclusion>) {
        match &self.part {
            IndexCondition::Range { low, high } => {
                let inclusion = |side: &Option<(Compiled, Inclusion)>| side.as_ref().map(|s| s.1);
                (inclusion(low), inclusion(high))
            }
            _ => (None, None),
        }
    }

    /// The property whose order is asked for.
    fn ordered_key(&self) -> Option<KeyId> {
        self.keys.get(self.equal.len()).copied().flatten()
    }
}

/// What is still to be read.
enum Section {
    /// All that is sought, in the order of the index.
    Whole,
    /// A class of values; whether it must be sorted (lists, points and durations).
    Class(u8, bool),
    /// Nodes without the property (`true`), or with NaN.
    Outside(bool),
}

/// Nodes of one input row.
struct Stream {
    index: Option<Index>,
    equal: Vec<PropertyValue>,
    low: Bound<PropertyValue>,
    high: Bound<PropertyValue>,
    text: Option<Arc<str>>,
    sections: VecDeque<Section>,
    range: Option<storage::IndexRange>,
    /// Ids ready to be handed out, in order.
    ready: VecDeque<u64>,
    /// Ranges of the label still to be read for nodes that are in no index.
    outside: Option<(bool, VecDeque<(u64, u64)>)>,
    /// The index may lack nodes of the label, and their order is asked for.
    lacks: bool,
    /// Nodes with values that have a class but no key; none before they are looked for.
    keyless: Option<Vec<(u8, u64)>>,
}

impl Stream {
    fn start(sought: &Sought, values: Vec<Value>, rt: &QueryContext) -> Result<Self> {
        let mut stream = Self {
            index: None,
            equal: Vec::new(),
            low: Bound::Unbounded,
            high: Bound::Unbounded,
            text: None,
            sections: VecDeque::new(),
            range: None,
            ready: VecDeque::new(),
            outside: None,
            lacks: false,
            keyless: None,
        };
        let (Some(label), false) = (sought.label, values.iter().any(Value::is_null)) else {
            return Ok(stream);
        };
        let (equal, part) = values.split_at(sought.equal.len());
        let keys: Option<Vec<KeyId>> = sought.keys.iter().copied().collect();
        let index = keys.and_then(|keys| {
            let entity = SchemaEntity::Node(label);
            rt.snapshot.index_on(entity, &keys)
        });
        let lists = || part.iter().any(|bound| matches!(bound, Value::List(_)));
        if index.is_none() || lists() {
            stream.without_index(sought, label, &values, rt)?;
            return Ok(stream);
        }
        // What cannot be stored equals no property, and compares with none.
        let Some(equal) = equal.iter().map(to_stored).collect() else {
            return Ok(stream);
        };
        stream.equal = equal;
        match &sought.part {
            IndexCondition::All => {}
            IndexCondition::StartsWith(_)
            | IndexCondition::Contains(_)
            | IndexCondition::EndsWith(_) => match &part[0] {
                Value::String(text) => stream.text = Some(Arc::clone(text)),
                _ => return Ok(stream),
            },
            IndexCondition::Range { .. } => {
                // Points and durations have a place in the index, but no order that `<` knows.
                let ordered = |v: &Value| matches!(compare(v, v), Comparison::Ordered(_));
                let bounds = part.iter().map(to_stored).collect::<Option<Vec<_>>>();
                let Some(bounds) = bounds.filter(|_| part.iter().all(ordered)) else {
                    return Ok(stream);
                };
                let mut bounds = bounds.into_iter();
                let mut bound = |inclusion| match inclusion {
                    None => Bound::Unbounded,
                    Some(Inclusion::Inclusive) => {
                        Bound::Included(bounds.next().unwrap_or_default())
                    }
                    Some(Inclusion::Exclusive) => {
                        Bound::Excluded(bounds.next().unwrap_or_default())
                    }
                };
                let (low, high) = sought.inclusions();
                stream.low = bound(low);
                stream.high = bound(high);
            }
        }
        stream.index = index;
        let orders = sought.order.is_some() && stream.equal.is_empty();
        stream.lacks = orders && !stream.holds_all(label, rt);
        stream.sections = sections(sought, stream.lacks);
        Ok(stream)
    }

    /// Whether the index is known to hold every node of the label.
    fn holds_all(&self, label: LabelId, rt: &QueryContext) -> bool {
        let nodes = rt.snapshot.catalog().label_count(label);
        let clean = !rt.snapshot.has_changes();
        clean && self.index.as_ref().is_some_and(|index| index.holds(nodes))
    }

    fn next(
        &mut self,
        sought: &Sought,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<Option<u64>> {
        loop {
            if let Some(id) = self.ready.pop_front() {
                return Ok(Some(id));
            }
            if self.range.is_some() {
                if let Some(id) = self.next_in_range(sought, memory, rt)? {
                    return Ok(Some(id));
                }
            } else if self.outside.is_some() {
                self.seek_outside(sought, rt)?;
            } else if let Some(section) = self.sections.pop_front() {
                self.begin(&section, sought, memory, rt)?;
            } else {
                return Ok(None);
            }
        }
    }

    fn descending(sought: &Sought) -> bool {
        sought
            .order
            .is_some_and(|order| order.direction == SortOrder::Descending)
    }

    fn begin(
        &mut self,
        section: &Section,
        sought: &Sought,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<()> {
        let index = self.index.as_ref().expect("sections are of an index");
        let part = match section {
            Section::Outside(null) => {
                match Self::descending(sought) {
                    true if !null => self.keyless = Some(Vec::new()),
                    true => {}
                    // Those of classes that were passed before any were looked for.
                    false => {
                        let keyless = self.keyless_of(None);
                        self.ready.extend(keyless);
                    }
                }
                self.outside = Some((*null, outside_ranges(sought, rt)?));
                return Ok(());
            }
            Section::Class(class, true) => {
                let range = index.within(&self.equal, &IndexPart::Class(*class))?;
                let ids: storage::Result<Vec<u64>> = range.map(|id| Ok(id?.0)).collect();
                let mut ids = ids?;
                if self.lacks && !ids.is_empty() && self.keyless.is_none() {
                    let mut keyless = Vec::new();
                    for (from, to) in outside_ranges(sought, rt)? {
                        for from in (from..to).step_by(BATCH_ROWS) {
                            let until = to.min(from + BATCH_ROWS as u64);
                            keyless.extend(in_no_index(from..until, false, sought, rt)?.keyless);
                        }
                    }
                    self.keyless = Some(keyless);
                }
                ids.extend(self.keyless_of(Some(*class)));
                let ids = self.sorted(ids, sought, memory, rt)?;
                self.ready.extend(ids);
                return Ok(());
            }
            Section::Class(class, false) => IndexPart::Class(*class),
            Section::Whole => self.part(sought),
        };
        let mut range = index.within(&self.equal, &part)?;
        if Self::descending(sought) {
            range = range.descending();
        }
        self.range = Some(range);
        Ok(())
    }

    fn part(&self, sought: &Sought) -> IndexPart<'_> {
        let text = self.text.as_ref();
        let text = text.and_then(|text| sought.part.of_text(text));
        match (text, &self.low, &self.high) {
            (Some(part), ..) => part,
            (None, Bound::Unbounded, Bound::Unbounded) => IndexPart::All,
            (None, low, high) => IndexPart::Range(low.as_ref(), high.as_ref()),
        }
    }

    /// The next node of the range; neighbours that may be out of order are put in order first.
    fn next_in_range(
        &mut self,
        sought: &Sought,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<Option<u64>> {
        let range = self.range.as_mut().expect("asked for by the caller");
        let mut run = Vec::new();
        loop {
            match range.step()? {
                IndexStep::Nothing => rt.check_cancelled()?,
                IndexStep::Node(id, true) if sought.order.is_some() => run.push(id.0),
                IndexStep::Node(id, _) if run.is_empty() => return Ok(Some(id.0)),
                IndexStep::Node(id, _) => {
                    let run = self.sorted(run, sought, memory, rt)?;
                    self.ready.extend(run);
                    self.ready.push_back(id.0);
                    return Ok(None);
                }
                IndexStep::End => {
                    self.range = None;
                    let run = self.sorted(run, sought, memory, rt)?;
                    self.ready.extend(run);
                    return Ok(None);
                }
            }
        }
    }

    /// Puts nodes into the order of the property.
    fn sorted(
        &self,
        mut ids: Vec<u64>,
        sought: &Sought,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<Vec<u64>> {
        if ids.len() < 2 || sought.order.is_none() {
            return Ok(ids);
        }
        ids.sort_unstable();
        let column = rt.node_properties(&ids, sought.ordered_key())?;
        memory.set(column.heap_bytes() + ids.len() * 2 * size_of::<u64>())?;
        let mut places: Vec<usize> = (0..ids.len()).collect();
        let descending = Self::descending(sought);
        places.sort_by(|a, b| {
            let ordering = total_order(&column.get(*a), &column.get(*b));
            if descending {
                ordering.reverse()
            } else {
                ordering
            }
        });
        Ok(places.into_iter().map(|place| ids[place]).collect())
    }

    /// Reads on for nodes that are in no index.
    fn seek_outside(&mut self, sought: &Sought, rt: &QueryContext) -> Result<()> {
        rt.check_cancelled()?;
        let (null, ranges) = self.outside.as_mut().expect("asked for by the caller");
        let Some((from, to)) = ranges.pop_front() else {
            self.outside = None;
            return Ok(());
        };
        let until = to.min(from + BATCH_ROWS as u64);
        if until < to {
            ranges.push_front((until, to));
        }
        let found = in_no_index(from..until, *null, sought, rt)?;
        self.ready.extend(found.here);
        match &mut self.keyless {
            None => self
                .ready
                .extend(found.keyless.into_iter().map(|(_, id)| id)),
            Some(keyless) if Self::descending(sought) => keyless.extend(found.keyless),
            // An ascending order has found them before.
            Some(_) => {}
        }
        Ok(())
    }

    /// Takes the nodes of a class, or all, out of those that were kept apart.
    fn keyless_of(&mut self, class: Option<u8>) -> Vec<u64> {
        let Some(keyless) = &mut self.keyless else {
            return Vec::new();
        };
        let taken = keyless.extract_if(.., |(own, _)| class.is_none_or(|class| class == *own));
        taken.map(|(_, id)| id).collect()
    }

    /// Scans the label instead.
    fn without_index(
        &mut self,
        sought: &Sought,
        label: LabelId,
        values: &[Value],
        rt: &QueryContext,
    ) -> Result<()> {
        let mut found: Vec<(Value, u64)> = Vec::new();
        let (equal, part) = values.split_at(sought.equal.len());
        for range in rt.labelled(label)?.ranges() {
            for id in range {
                let value = |key: &Option<KeyId>| Ok(rt.node_properties(&[id], *key)?.value(0));
                let own: Vec<Value> = sought.keys.iter().map(value).collect::<Result<_>>()?;
                let mut fits = own
                    .iter()
                    .zip(equal)
                    .all(|(own, wanted)| equals(own, wanted) == Some(true));
                let next = own.get(equal.len()).cloned().unwrap_or_default();
                fits &= match &sought.part {
                    IndexCondition::All => {
                        let nulls = sought.order.is_some_and(|order| order.nulls);
                        nulls || own.iter().all(|value| !value.is_null())
                    }
                    IndexCondition::StartsWith(_)
                    | IndexCondition::Contains(_)
                    | IndexCondition::EndsWith(_) => match (&next, &part[0]) {
                        (Value::String(own), Value::String(wanted)) => match &sought.part {
                            IndexCondition::Contains(_) => own.contains(&**wanted),
                            IndexCondition::EndsWith(_) => own.ends_with(&**wanted),
                            _ => own.starts_with(&**wanted),
                        },
                        _ => false,
                    },
                    IndexCondition::Range { .. } => within(&next, sought.inclusions(), part),
                };
                if fits {
                    found.push((next, id));
                }
            }
        }
        if let Some(order) = sought.order {
            found.sort_by(|a, b| match order.direction {
                SortOrder::Ascending => total_order(&a.0, &b.0),
                SortOrder::Descending => total_order(&b.0, &a.0),
            });
        }
        self.ready.extend(found.into_iter().map(|(_, id)| id));
        Ok(())
    }
}

/// Whether a value lies within the bounds that are there.
fn within(
    value: &Value,
    (low, high): (Option<Inclusion>, Option<Inclusion>),
    bounds: &[Value],
) -> bool {
    let sides = [
        (low, std::cmp::Ordering::Greater),
        (high, std::cmp::Ordering::Less),
    ];
    let there = sides
        .iter()
        .filter_map(|(inclusion, side)| Some(((*inclusion)?, *side)));
    there
        .zip(bounds)
        .all(|((inclusion, side), bound)| match compare(value, bound) {
            Comparison::Ordered(std::cmp::Ordering::Equal) => inclusion == Inclusion::Inclusive,
            Comparison::Ordered(ordering) => ordering == side,
            Comparison::Unordered | Comparison::Unknown => false,
        })
}

/// Nodes that are in no index.
struct InNoIndex {
    /// Without the property, or with NaN.
    here: Vec<u64>,
    /// Class and node of values that have a class but no key.
    keyless: Vec<(u8, u64)>,
}

/// Of these nodes those without the property (`null`), or those with values that have no key.
fn in_no_index(
    ids: Range<u64>,
    null: bool,
    sought: &Sought,
    rt: &QueryContext,
) -> Result<InNoIndex> {
    rt.check_cancelled()?;
    let ids: Vec<u64> = ids.collect();
    let column = rt.node_properties(&ids, sought.ordered_key())?;
    let (mut here, mut keyless) = (Vec::new(), Vec::new());
    for (row, id) in ids.into_iter().enumerate() {
        match &*column.get(row) {
            Value::Null if null => here.push(id),
            Value::Float(f) if !null && f.is_nan() => here.push(id),
            value @ (Value::List(_) | Value::Stored(_)) if !null => {
                let stored = to_stored(value).filter(|value| !IndexPart::has_key(value));
                let class = stored.and_then(|value| IndexPart::class_of(&value));
                keyless.extend(class.map(|class| (class, id)));
            }
            _ => {}
        }
    }
    Ok(InNoIndex { here, keyless })
}

/// Where nodes of the label lie.
fn outside_ranges(sought: &Sought, rt: &QueryContext) -> Result<VecDeque<(u64, u64)>> {
    Ok(match sought.label {
        Some(label) => rt.label_ranges(label)?.into(),
        None => VecDeque::new(),
    })
}

/// What is read, in order.
fn sections(sought: &Sought, lacks: bool) -> VecDeque<Section> {
    let Some(order) = sought.order else {
        return VecDeque::from([Section::Whole]);
    };
    match sought.part {
        IndexCondition::All => {}
        _ => return VecDeque::from([Section::Whole]),
    }
    let classes = IndexPart::CLASSES.iter();
    let mut all: Vec<Section> = classes
        .map(|(class, sorts)| Section::Class(*class, *sorts))
        .collect();
    if lacks {
        all.push(Section::Outside(false));
        if order.nulls {
            all.push(Section::Outside(true));
        }
    }
    if order.direction == SortOrder::Descending {
        all.reverse();
    }
    all.into()
}
