//! A relationship pattern: resolved once ([`Shape`]), and with the adjacencies that a run follows
//! ([`Pattern`]).
//!
//! # How it works
//! A physical plan holds the shape: types, columns and the condition on each relationship, as long
//! as no names are added. Each run makes *parts* of it: one adjacency per type and direction. Seen
//! from both directions a loop lies in the out-list and the in-list of its node; the in-part leaves
//! loops out, so that it is met once. Relationship ids are resolved only where a caller needs them
//! ([`Pattern::needs_ids`]).
//!
//! # Invariants
//! * EX-12 Visiting all parts of a node meets every matching relationship exactly once.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use graven_cypher::plan::{Direction as PlanDirection, RelPattern, VarId};
use graven_storage::{Adjacency, Direction, List, NodeId, Sweep, TypeId};
use graven_types::told;

use crate::batch::Batch;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Compiler, Rows};
use crate::layout::Layout;
use crate::query_context::QueryContext;
use crate::value::Value;

/// One adjacency of a pattern.
#[derive(Clone)]
pub(crate) struct PatternPart {
    pub(crate) adjacency: Adjacency,
    /// The same relationships seen from the other end.
    pub(crate) reversed: Adjacency,
    pub(crate) direction: Direction,
    /// Loops are met in another part.
    pub(crate) skip_loops: bool,
}

/// See the file header.
pub(crate) struct Pattern {
    pub(crate) parts: Vec<PatternPart>,
    pub(crate) direction: PlanDirection,
    shape: Arc<Shape>,
}

/// What is the same in every run.
#[derive(Debug)]
pub(crate) struct Shape {
    /// What the parts are made of.
    types: Vec<TypeId>,
    direction: PlanDirection,
    /// Condition over the row and, in column `each`, the relationship.
    filter: Option<Compiled>,
    /// Row columns that `filter` reads.
    captured: Vec<usize>,
    each: usize,
    distinct_from: Vec<usize>,
    /// Columns of start and end of relationships of which each takes one of those between the same
    /// nodes.
    distinct_ends: Vec<(usize, usize)>,
    disjoint_from: Vec<usize>,
}

impl Shape {
    /// Resolves `pattern` for rows of `layout`; the filter sees the relationship in the column
    /// after them.
    pub(crate) fn new(pattern: &RelPattern, layout: &Layout, rt: &QueryContext) -> Result<Self> {
        let types = types_of(pattern, rt);
        let each = layout.width();
        let filter = match &pattern.filter {
            None => None,
            Some(filter) => {
                let mut vars = layout.vars().to_vec();
                vars.push(pattern.each.unwrap_or(VarId(u32::MAX)));
                Some(Compiler::new(&Layout::new(vars), rt).compile(filter)?)
            }
        };
        let mut captured = Vec::new();
        if let Some(filter) = &filter {
            filter.slots(&mut captured);
            captured.retain(|slot| *slot < each);
        }
        // A variable that the row lacks belongs to a pattern not matched yet: that one looks back
        // at us.
        let slots = |vars: &[VarId]| vars.iter().filter_map(|v| layout.slot(*v)).collect();
        let ends = |pairs: &[(VarId, VarId)]| -> Result<Vec<(usize, usize)>> {
            let slot = |var: VarId| {
                layout.slot(var).ok_or_else(|| ExecError::Plan {
                    message: told!("variable {} is not produced below its use (CY-1)", var.0),
                })
            };
            pairs
                .iter()
                .map(|(start, end)| Ok((slot(*start)?, slot(*end)?)))
                .collect()
        };
        Ok(Self {
            types,
            direction: pattern.direction,
            filter,
            captured,
            each,
            distinct_from: slots(&pattern.distinct_from),
            distinct_ends: ends(&pattern.distinct_ends)?,
            disjoint_from: slots(&pattern.disjoint_from),
        })
    }

    /// All relationships that the pattern visits, whatever its conditions.
    pub(crate) fn of_all(pattern: &RelPattern, rt: &QueryContext) -> Self {
        Self {
            types: types_of(pattern, rt),
            direction: pattern.direction,
            filter: None,
            captured: Vec::new(),
            each: 0,
            distinct_from: Vec::new(),
            distinct_ends: Vec::new(),
            disjoint_from: Vec::new(),
        }
    }

    /// The pattern with the relationships that a run sees.
    ///
    /// # Errors
    /// What reading gives.
    pub(crate) fn start(self: &Arc<Self>, rt: &QueryContext) -> Result<Pattern> {
        Ok(Pattern {
            parts: parts(&self.types, self.direction, rt)?,
            direction: self.direction,
            shape: Arc::clone(self),
        })
    }

    /// The adjacencies that visiting all relationships at a node reads.
    ///
    /// # Errors
    /// What reading gives.
    pub(crate) fn adjacencies(&self, rt: &QueryContext) -> Result<Vec<Adjacency>> {
        let parts = parts(&self.types, self.direction, rt)?;
        Ok(parts.into_iter().map(|part| part.adjacency).collect())
    }

    /// Whether relationships are told apart by their ends.
    pub(crate) fn goes_by_ends(&self) -> bool {
        !self.distinct_ends.is_empty()
    }

    /// Whether nothing but a condition that reads no row decides which relationships count.
    pub(crate) fn filters_alone(&self) -> bool {
        let told_apart = !(self.distinct_from.is_empty() && self.disjoint_from.is_empty());
        self.filter.is_some() && self.captured.is_empty() && !told_apart
    }

    /// Whether relationships go out of the node where the pattern starts, in, or both.
    pub(crate) fn direction(&self) -> PlanDirection {
        self.direction
    }
}

impl Pattern {
    /// Mean number of list entries of a node in a graph of `nodes` nodes.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(crate) fn mean_degree(&self, nodes: f64) -> f64 {
        let entries = self
            .parts
            .iter()
            .map(|part| part.adjacency.relationship_count());
        entries.sum::<u64>() as f64 / nodes.max(1.0)
    }

    /// Entries of the lists of a node that has some, on average, or fewer.
    pub(crate) fn mean_list(&self) -> Result<u64> {
        let parts = self.parts.iter();
        let entries: u64 = parts.map(|part| part.adjacency.relationship_count()).sum();
        Ok(entries / self.lists(&(0..u64::MAX))?.max(1))
    }

    /// Lists of all nodes with ids in a range, or more.
    pub(crate) fn lists(&self, ids: &Range<u64>) -> Result<u64> {
        let mut lists = 0;
        for part in &self.parts {
            let span = part.adjacency.node_span()?;
            let own = ids
                .end
                .min(span.end)
                .saturating_sub(ids.start.max(span.start));
            lists += own.min(part.adjacency.relationship_count());
        }
        Ok(lists)
    }

    /// Ids of all nodes that relationships of the pattern lead to: the first is a multiple of 64.
    pub(crate) fn ends_span(&self) -> Result<Range<u64>> {
        hull(self.parts.iter().map(|part| &part.reversed))
    }

    /// How many different ends the lists of so many nodes lead to, if chance decides (Cardenas).
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(crate) fn ends_of(&self, nodes: f64) -> Result<f64> {
        let mut found = 0.0;
        for part in &self.parts {
            let entries = part.adjacency.relationship_count() as f64;
            let visited = nodes / lists_of(&part.adjacency)?.max(1) as f64;
            let ends = lists_of(&part.reversed)? as f64;
            found += ends * (1.0 - (-entries * visited.min(1.0) / ends.max(1.0)).exp());
        }
        Ok(found)
    }

    /// Ids of all nodes that have relationships of the pattern: the first is a multiple of 64.
    pub(crate) fn span(&self) -> Result<Range<u64>> {
        let sides = self.parts.iter();
        hull(sides.flat_map(|part| [&part.adjacency, &part.reversed]))
    }

    /// Whether all ends lie in these ascending disjoint ranges of ids, as far as is known without
    /// reading lists.
    pub(crate) fn ends_lie_in(&self, ranges: &[(u64, u64)]) -> Result<bool> {
        for part in &self.parts {
            let span = part.reversed.node_span()?;
            let holds = |range: &(u64, u64)| range.0 <= span.start && span.end <= range.1;
            if !span.is_empty() && !ranges.iter().any(holds) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The error for a neighbour outside of [`Pattern::span`].
    pub(crate) fn stray(&self, node: u64) -> ExecError {
        let part = self.parts.first().expect("neighbours come from a part");
        part.adjacency.stray_neighbour(node).into()
    }

    /// The same relationships, followed from their other ends.
    pub(crate) fn reversed(&self) -> Self {
        let turned = |part: &PatternPart| PatternPart {
            adjacency: part.reversed.clone(),
            reversed: part.adjacency.clone(),
            direction: match part.direction {
                Direction::Out => Direction::In,
                Direction::In => Direction::Out,
            },
            skip_loops: part.skip_loops,
        };
        Self {
            parts: self.parts.iter().map(turned).collect(),
            direction: match self.direction {
                PlanDirection::Out => PlanDirection::In,
                PlanDirection::In => PlanDirection::Out,
                PlanDirection::Both => PlanDirection::Both,
            },
            shape: Arc::clone(&self.shape),
        }
    }

    /// Whether relationships are tested one by one.
    pub(crate) fn needs_ids(&self) -> bool {
        self.shape.filter.is_some()
            || !self.shape.distinct_from.is_empty()
            || !self.shape.disjoint_from.is_empty()
    }

    /// Whether relationships are told apart by their ends.
    pub(crate) fn goes_by_ends(&self) -> bool {
        self.shape.goes_by_ends()
    }

    /// The neighbours of `from` in this row to which one relationship less leads, once for each.
    pub(crate) fn taken_ends(&self, batch: &Batch, row: usize, from: u64, taken: &mut Vec<u64>) {
        taken.clear();
        let node = |column: usize| batch.column(column).node(row);
        for (start, end) in &self.shape.distinct_ends {
            let other = if self.direction != PlanDirection::In && node(*start) == Some(from) {
                node(*end)
            } else if self.direction != PlanDirection::Out && node(*end) == Some(from) {
                node(*start)
            } else {
                None
            };
            taken.extend(other);
        }
    }

    /// Whether some of `rows`, whose nodes are `nodes`, may have one relationship less, as far as
    /// is quickly told.
    pub(crate) fn may_take(&self, batch: &Batch, rows: Range<usize>, nodes: &[u64]) -> bool {
        let meets = |column: usize| match &**batch.column(column) {
            Column::Nodes(others) => {
                let mut pairs = others[rows.clone()].iter().zip(nodes);
                pairs.any(|(other, node)| other == node)
            }
            _ => true,
        };
        self.shape.distinct_ends.iter().any(|(start, end)| {
            self.direction != PlanDirection::In && meets(*start)
                || self.direction != PlanDirection::Out && meets(*end)
        })
    }

    /// Whether which relationships count depends on the row.
    pub(crate) fn reads_the_row(&self) -> bool {
        let told_apart = [
            self.shape.distinct_from.len(),
            self.shape.disjoint_from.len(),
            self.shape.distinct_ends.len(),
        ];
        !self.shape.captured.is_empty() || told_apart.iter().any(|others| *others > 0)
    }

    /// Whether nothing but a condition that reads no row decides which relationships count.
    pub(crate) fn filters_alone(&self) -> bool {
        self.shape.filters_alone()
    }

    /// Which of `relationships` satisfy the condition, which reads no row.
    pub(crate) fn passing(&self, relationships: &[u64], rt: &QueryContext) -> Result<Vec<u32>> {
        let filter = self.shape.filter.as_ref().expect("asked before");
        let rows = relationships.len();
        let unused = Arc::new(Column::Constant(Value::Null, rows));
        let mut columns = vec![unused; self.shape.each + 1];
        columns[self.shape.each] = Arc::new(Column::Relationships(relationships.to_vec()));
        filter.true_rows(Rows::of_columns(&columns, rows), rt)
    }

    /// Whether relationships have a condition of their own.
    pub(crate) fn has_filter(&self) -> bool {
        self.shape.filter.is_some()
    }

    /// Relationships that may not be used for this row, ascending.
    pub(crate) fn excluded(&self, batch: &Batch, row: usize) -> Result<Vec<u64>> {
        let mut excluded = Vec::new();
        for slot in &self.shape.distinct_from {
            excluded.extend(batch.column(*slot).relationship(row));
        }
        for slot in &self.shape.disjoint_from {
            match &*batch.column(*slot).get(row) {
                Value::List(items) => excluded.extend(items.iter().filter_map(|v| match v {
                    Value::Relationship(id) => Some(id.0),
                    _ => None,
                })),
                Value::Null => {}
                Value::Relationship(id) => excluded.push(id.0),
                other => {
                    return Err(ExecError::Plan {
                        message: told!("{} is no list of relationships", other.type_name()),
                    });
                }
            }
        }
        excluded.sort_unstable();
        Ok(excluded)
    }

    /// Positions among `relationships` that row `rows[i]` of `batch` admits; neither list is longer
    /// than a batch.
    pub(crate) fn admitted(
        &self,
        batch: &Batch,
        rows: &[u32],
        relationships: &[u64],
        rt: &QueryContext,
    ) -> Result<Vec<u32>> {
        let mut kept: Vec<u32> = Vec::with_capacity(relationships.len());
        let mut last: Option<(u32, Vec<u64>)> = None;
        for (i, (row, relationship)) in rows.iter().zip(relationships).enumerate() {
            if last.as_ref().is_none_or(|(r, _)| r != row) {
                last = Some((*row, self.excluded(batch, *row as usize)?));
            }
            let excluded = &last.as_ref().expect("set above").1;
            if excluded.binary_search(relationship).is_err() {
                kept.push(u32::try_from(i).expect("a batch is small"));
            }
        }
        let Some(filter) = &self.shape.filter else {
            return Ok(kept);
        };
        let kept_rows: Vec<u32> = kept.iter().map(|i| rows[*i as usize]).collect();
        let unused = Arc::new(Column::Constant(Value::Null, kept.len()));
        let mut columns = vec![unused; self.shape.each + 1];
        for slot in &self.shape.captured {
            columns[*slot] = Arc::new(batch.column(*slot).gather(&kept_rows));
        }
        columns[self.shape.each] = Arc::new(Column::Relationships(
            kept.iter().map(|i| relationships[*i as usize]).collect(),
        ));
        let passed = filter.true_rows(Rows::of_columns(&columns, kept.len()), rt)?;
        Ok(passed.into_iter().map(|i| kept[i as usize]).collect())
    }

    /// Appends the relationships of `node`: neighbour and relationship id.
    pub(crate) fn neighbours(&self, node: u64, out: &mut Vec<(u64, u64)>) -> Result<()> {
        let mut found = Vec::new();
        for part in &self.parts {
            found.clear();
            part.adjacency.neighbours(NodeId(node), &mut found)?;
            out.extend(
                found
                    .iter()
                    .map(|n| (n.node.0, n.relationship.0))
                    .filter(|(other, _)| !(part.skip_loops && *other == node)),
            );
        }
        Ok(())
    }
}

/// Ids of all nodes with a list in one of these, from a multiple of 64 on.
fn hull<'a>(adjacencies: impl Iterator<Item = &'a Adjacency>) -> Result<Range<u64>> {
    let mut span: Option<Range<u64>> = None;
    for adjacency in adjacencies {
        let own = adjacency.node_span()?;
        if own.is_empty() {
            continue;
        }
        span = Some(match span {
            None => own,
            Some(span) => span.start.min(own.start)..span.end.max(own.end),
        });
    }
    Ok(span.map_or(0..0, |span| span.start & !63..span.end))
}

/// Nodes with a list, or more.
fn lists_of(adjacency: &Adjacency) -> Result<u64> {
    let span = adjacency.node_span()?;
    Ok(adjacency.relationship_count().min(span.end - span.start))
}

fn types_of(pattern: &RelPattern, rt: &QueryContext) -> Vec<TypeId> {
    let mut types: Vec<_> = if pattern.types.is_empty() {
        rt.snapshot.any_type().collect()
    } else {
        pattern.types.iter().filter_map(|t| rt.type_id(t)).collect()
    };
    types.sort_unstable();
    types.dedup();
    types
}

/// The adjacencies of relationships of these types.
fn parts(
    types: &[TypeId],
    direction: PlanDirection,
    rt: &QueryContext,
) -> Result<Vec<PatternPart>> {
    let mut parts = Vec::new();
    for rel_type in types {
        let out = rt.snapshot.adjacency(*rel_type, Direction::Out)?;
        let into = rt.snapshot.adjacency(*rel_type, Direction::In)?;
        // A writing statement may create the first ones while it runs; a serialisable transaction
        // is told that there are none.
        let seen = rt.writer.is_some() || rt.snapshot.records_reads();
        if out.relationship_count() == 0 && !seen {
            continue;
        }
        if direction != PlanDirection::In {
            parts.push(PatternPart {
                adjacency: out.clone(),
                reversed: into.clone(),
                direction: Direction::Out,
                skip_loops: false,
            });
        }
        if direction != PlanDirection::Out {
            parts.push(PatternPart {
                adjacency: into,
                reversed: out,
                direction: Direction::In,
                skip_loops: direction == PlanDirection::Both,
            });
        }
    }
    Ok(parts)
}

impl PatternPart {
    /// Visits the lists of `nodes`, which ascend; `order` says from which end.
    pub(crate) fn sweep(
        &self,
        nodes: &[u64],
        order: Sweep,
        visit: impl FnMut(NodeId, &List<'_>) -> graven_storage::Result<ControlFlow<()>>,
    ) -> Result<()> {
        sweep(&self.adjacency, nodes, order, visit)
    }

    /// As [`PatternPart::sweep`] upwards; `visit` is also told the place of the node among `nodes`.
    pub(crate) fn sweep_places(
        &self,
        nodes: &[u64],
        mut visit: impl FnMut(usize, NodeId, &List<'_>) -> graven_storage::Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut place = 0;
        self.sweep(nodes, Sweep::Up, |node, list| {
            while nodes[place] != node.0 {
                place += 1;
            }
            visit(place, node, list)
        })
    }
}

/// As [`PatternPart::sweep`] for one adjacency.
pub(crate) fn sweep(
    adjacency: &Adjacency,
    nodes: &[u64],
    order: Sweep,
    visit: impl FnMut(NodeId, &List<'_>) -> graven_storage::Result<ControlFlow<()>>,
) -> Result<()> {
    match order {
        Sweep::Up => adjacency.sweep(nodes.iter().map(|n| NodeId(*n)), order, visit)?,
        Sweep::Down => adjacency.sweep(nodes.iter().rev().map(|n| NodeId(*n)), order, visit)?,
    }
    Ok(())
}
