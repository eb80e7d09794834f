//! The data file as its newest superblock describes it.

use std::sync::Arc;

use foldhash::HashMap;
use graven_pagecache::{PageKind, Reservation};
use parking_lot::Mutex;

use crate::Result;
use crate::adjacency::Adjacency;
use crate::catalog::{Catalog, RelationshipPart, StoreKind};
use crate::column::Column;
use crate::directory::{Directory, SegmentEntry};
use crate::ids::{Direction, KeyId, NodeId, RelId, TypeId};
use crate::labels::LabelRuns;
use crate::overflow_pages;
use crate::pages::Pages;
use crate::segment_map::SegmentMap;
use crate::superblock::Found;
use graven_types::PropertyValue;

/// Bytes of memory charged per byte of the stored catalogue: names are kept twice, in lists and
/// tables.
const CATALOG_FACTOR: u64 = 4;

/// Is told of damage that keeps some nodes' labels from being read; they are no nodes then.
pub(crate) type OnDamage<'a> = dyn FnMut(crate::Error) -> Result<()> + 'a;

/// What a checkpoint made: everything that snapshots of it share.
#[derive(Debug)]
pub(crate) struct FileRoot {
    pub(crate) pages: Arc<Pages>,
    pub(crate) found: Found,
    pub(crate) catalog: Catalog,
    pub(crate) labels: LabelRuns,
    pub(crate) directory: Directory,
    adjacencies: Mutex<HashMap<(TypeId, Direction), Adjacency>>,
    columns: Mutex<HashMap<StoreKind, Column>>,
    _reservation: Reservation,
}

impl FileRoot {
    /// Type, start and end of a relationship.
    pub(crate) fn relationship(&self, id: RelId) -> Result<Option<(TypeId, NodeId, NodeId)>> {
        if let Some(rel_type) = self.catalog.type_of(id) {
            let ends = self.adjacency(rel_type, Direction::Out).endpoints(id)?;
            return Ok(ends.map(|(start, end)| (rel_type, start, end)));
        }
        let part = |part| match self.column(StoreKind::Relationships(part)) {
            None => Ok(None),
            Some(column) => match column.get(id.0)? {
                PropertyValue::Integer(value) => Ok(Some(value as u64)),
                _ => Ok::<_, crate::Error>(None),
            },
        };
        let (Some(rel_type), Some(start), Some(end)) = (
            part(RelationshipPart::Type)?,
            part(RelationshipPart::Start)?,
            part(RelationshipPart::End)?,
        ) else {
            return Ok(None);
        };
        Ok(Some((TypeId(rel_type as u32), NodeId(start), NodeId(end))))
    }

    /// Reads what `found` points at; everything else when it is used.
    /// Labels that cannot be read are remembered: asking for them is an error, nothing else.
    pub(crate) fn open(pages: Arc<Pages>, found: Found) -> Result<FileRoot> {
        FileRoot::open_despite(pages, found, None)
    }

    /// As [`FileRoot::open`]; what cannot be read of the labels is told to `damage`, if given, and
    /// missing if that returns.
    pub(crate) fn open_despite(
        pages: Arc<Pages>,
        found: Found,
        damage: Option<&mut OnDamage<'_>>,
    ) -> Result<FileRoot> {
        let mut reservation = pages.budget().reserve("catalogue", 0)?;
        let head = found.superblock.catalogue;
        let catalog = {
            let bytes = overflow_pages::read(&pages, head, PageKind::Catalogue, |_| ());
            let bytes = bytes.map_err(catalogue_lost)?;
            reservation.grow(bytes.len() as u64 * CATALOG_FACTOR)?;
            let format = Catalog::format(&bytes);
            if let Some(found) = format.filter(|found| *found != Catalog::FORMAT) {
                return Err(crate::Error::Format {
                    path: pages.file().path().to_path_buf(),
                    found,
                    known: Catalog::FORMAT,
                });
            }
            let decoded = pages.checked(head, PageKind::Catalogue, Catalog::decode(&bytes));
            decoded.map_err(catalogue_lost)?
        };
        let directory = Directory::new(found.superblock.directory);
        let labels = read_labels(&pages, directory, &catalog, &mut reservation, damage)?;
        Ok(FileRoot {
            pages,
            found,
            catalog,
            labels,
            directory,
            adjacencies: Mutex::default(),
            columns: Mutex::default(),
            _reservation: reservation,
        })
    }

    fn map(&self, kind: StoreKind) -> Option<(SegmentMap, u64)> {
        let store = self.catalog.store(kind)?;
        Some((
            SegmentMap::new(self.directory, store.id, store.segments),
            store.entries,
        ))
    }

    pub(crate) fn adjacency(&self, rel_type: TypeId, direction: Direction) -> Adjacency {
        if let Some(known) = self.adjacencies.lock().get(&(rel_type, direction)) {
            return known.clone();
        }
        let forward = match direction {
            Direction::Out => None,
            Direction::In => Some(self.adjacency(rel_type, Direction::Out)),
        };
        let (map, entries) = match self.map(StoreKind::Adjacency(rel_type, direction)) {
            None => (None, 0),
            Some((map, entries)) => (Some(map), entries),
        };
        let sizes = (self.catalog.next_node, entries);
        let made = Adjacency::new(
            self.pages.clone(),
            (rel_type, direction),
            map,
            sizes,
            forward,
        );
        self.adjacencies
            .lock()
            .entry((rel_type, direction))
            .or_insert(made)
            .clone()
    }

    /// The column of `kind`, which is a kind of column.
    pub(crate) fn column(&self, kind: StoreKind) -> Option<Column> {
        if let Some(known) = self.columns.lock().get(&kind) {
            return Some(known.clone());
        }
        let page_kind = match kind {
            StoreKind::NodeColumn(_) => PageKind::NodeColumn,
            StoreKind::RelationshipColumn(..) | StoreKind::Relationships(_) => {
                PageKind::RelationshipColumn
            }
            StoreKind::NodeLabels | StoreKind::Adjacency(..) | StoreKind::Index(_) => return None,
        };
        let (map, _) = self.map(kind)?;
        let bytes = self.catalog.store(kind).map_or(0, |store| store.bytes);
        let made = Column::new(self.pages.clone(), map, page_kind, bytes);
        Some(self.columns.lock().entry(kind).or_insert(made).clone())
    }

    pub(crate) fn node_column(&self, key: KeyId) -> Option<Column> {
        self.column(StoreKind::NodeColumn(key))
    }
}

/// Says what damage to the catalogue means.
fn catalogue_lost(error: crate::Error) -> crate::Error {
    match error.is_damage() {
        false => error,
        true => crate::Error::CatalogueLost {
            why: error.to_string(),
        },
    }
}

fn read_labels(
    pages: &Pages,
    directory: Directory,
    catalog: &Catalog,
    reservation: &mut Reservation,
    mut damage: Option<&mut OnDamage<'_>>,
) -> Result<LabelRuns> {
    let mut labels = LabelRuns::default();
    let Some(store) = catalog.store(StoreKind::NodeLabels) else {
        return Ok(labels);
    };
    let mut charged = 0;
    // The newest damaged segment: its nodes end where the next segment begins.
    let mut broken: Option<(u64, crate::Error)> = None;
    let scanned = directory.scan(pages, store.id, &mut |entry: SegmentEntry| {
        if let Some((first, error)) = broken.take() {
            labels.push_lost(first..entry.first, &error);
        }
        let read = pages.pin(entry.page, PageKind::NodeColumn).map(|pin| {
            let mut segment = LabelRuns::default();
            let decoded = segment.decode(&pin, catalog.label_sets.len());
            decoded.and_then(|()| labels.append(segment))
        });
        let read = match read {
            Err(error) => Err(error),
            Ok(decoded) => pages.checked(entry.page, PageKind::NodeColumn, decoded),
        };
        match (read, &mut damage) {
            (Ok(()), _) => {
                let more = labels.memory_bytes().saturating_sub(charged);
                charged += more;
                Ok(reservation.grow(more)?)
            }
            (Err(error), _) if !error.is_damage() => Err(error),
            (Err(error), Some(damage)) => damage(error),
            (Err(error), None) => {
                broken = Some((entry.first, error));
                Ok(())
            }
        }
    });
    match (scanned, damage) {
        (Ok(()), _) => {}
        (Err(error), _) if !error.is_damage() => return Err(error),
        (Err(error), Some(damage)) => damage(error)?,
        // The directory ends here: so does all that is known of labels.
        (Err(error), None) => {
            let first = broken.as_ref().map_or(labels.end(), |(first, _)| *first);
            broken = Some((first, error));
        }
    }
    if let Some((first, error)) = broken {
        labels.push_lost(
            first..catalog.next_node.max(first.saturating_add(1)),
            &error,
        );
    }
    labels.finish();
    reservation.shrink(charged.saturating_sub(labels.memory_bytes()));
    Ok(labels)
}
