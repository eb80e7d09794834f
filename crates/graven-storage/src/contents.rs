//! What of a store is in memory: resident pages by kind, label, type and property.
//!
//! # How it works
//! The pages in the cache are listed first, then the directory tells which store each segment
//! belongs to (read as a scan, so that looking changes little of what is seen), and the inner pages
//! of indexes which index each leaf belongs to. A column segment counts for the label set of its
//! first node. Pages of chains (long lists and values, the catalogue) count by their kind alone.

use crate::Result;
use crate::catalog::StoreKind;
use crate::data_file::FileRoot;
use crate::ids::{KeyId, LabelId, NodeId, StoreId, TypeId};
use crate::schema::SchemaEntity;
use crate::snapshot::Snapshot;
use graven_pagecache::{PageKind, PageRef, residents::Resident};
use std::collections::{BTreeMap, HashMap};

/// A part of a store, as far as one line of a report tells parts apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Part {
    /// Kind of the pages.
    pub kind: String,
    /// Labels of the nodes, joined by colons.
    pub label: Option<String>,
    /// Type of the relationships.
    pub rel_type: Option<String>,
    /// Property; of an index, its properties.
    pub property: Option<String>,
}

/// How much of a part there is, and how much of it is in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Residency {
    /// Pages in memory.
    pub resident_pages: u64,
    /// Their bytes.
    pub resident_bytes: u64,
    /// Those of them that a thread has pinned,
    pub pinned_pages: u64,
    /// those that wait to be written,
    pub dirty_pages: u64,
    /// and those that were read ahead and are not used yet.
    pub ahead_pages: u64,
    /// Pages of the part in the file; 0 where only those in memory can be told.
    pub pages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Residency {
    fn add(&mut self, resident: &Resident) {
        self.resident_pages += 1;
        self.resident_bytes += resident.page.len_bytes() as u64;
        self.pinned_pages += u64::from(resident.pinned);
        self.dirty_pages += u64::from(resident.dirty);
        self.ahead_pages += u64::from(resident.ahead);
    }
}

/// Parts with what is known of them, and the resident pages that were not met yet.
struct Count<'a> {
    snapshot: &'a Snapshot,
    root: &'a FileRoot,
    parts: BTreeMap<Part, Residency>,
    left: HashMap<u64, Resident>,
}

impl Snapshot {
    /// What of the file is in memory, by kind, label, type and property; parts without any page in
    /// memory are there, too.
    ///
    /// # Errors
    /// What reading the directory and inner index pages gives.
    pub fn contents(&self) -> Result<Vec<(Part, Residency)>> {
        let root = self.root();
        let residents = root.pages.cache().residents();
        let (own, others): (Vec<Resident>, Vec<Resident>) = residents
            .into_iter()
            .partition(|resident| root.pages.holds(resident.file));
        let mut count = Count {
            snapshot: self,
            root,
            parts: BTreeMap::new(),
            left: own.iter().map(|one| (one.page.unit(), *one)).collect(),
        };
        count.segments()?;
        count.indexes()?;
        for resident in std::mem::take(&mut count.left).values().chain(&others) {
            let part = Part {
                kind: resident.kind.to_string(),
                ..Part::default()
            };
            count.parts.entry(part).or_default().add(resident);
        }
        Ok(count.parts.into_iter().collect())
    }
}

impl Count<'_> {
    fn meet(&mut self, part: Part, page: PageRef) {
        let residency = self.parts.entry(part).or_default();
        residency.pages += 1;
        residency.bytes += page.len_bytes() as u64;
        if let Some(resident) = self.left.remove(&page.unit()) {
            residency.add(&resident);
        }
    }

    /// Segments, through the directory.
    fn segments(&mut self) -> Result<()> {
        let root = self.root;
        let kinds: HashMap<StoreId, StoreKind> = root
            .catalog
            .stores
            .iter()
            .map(|store| (store.id, store.kind))
            .collect();
        let mut directory_pages = Vec::new();
        let mut found = Vec::new();
        root.directory.scan_all(
            &root.pages,
            &mut |page| directory_pages.push(page),
            &mut |store, entry| {
                found.push((store, entry.first, entry.page));
                Ok(())
            },
        )?;
        for page in directory_pages {
            let part = Part {
                kind: PageKind::SegmentDirectory.to_string(),
                ..Part::default()
            };
            self.meet(part, page);
        }
        for (store, first, page) in found {
            if let Some(part) = kinds.get(&store).and_then(|kind| self.part(*kind, first)) {
                self.meet(part, page);
            }
        }
        Ok(())
    }

    /// The part that a segment beginning at id `first` of a store belongs to; none for indexes.
    fn part(&self, kind: StoreKind, first: u64) -> Option<Part> {
        let of = |kind: PageKind| Part {
            kind: kind.to_string(),
            ..Part::default()
        };
        Some(match kind {
            StoreKind::NodeLabels => Part {
                property: Some("labels".to_owned()),
                ..of(PageKind::NodeColumn)
            },
            StoreKind::NodeColumn(key) => Part {
                label: self.label(first),
                property: self.key(key),
                ..of(PageKind::NodeColumn)
            },
            StoreKind::Adjacency(rel_type, _) => Part {
                label: self.label(first),
                rel_type: self.rel_type(rel_type),
                ..of(PageKind::Adjacency)
            },
            StoreKind::RelationshipColumn(rel_type, key) => Part {
                rel_type: self.rel_type(rel_type),
                property: self.key(key),
                ..of(PageKind::RelationshipColumn)
            },
            StoreKind::Relationships(_) => of(PageKind::RelationshipColumn),
            StoreKind::Index(_) => return None,
        })
    }

    /// Pages of indexes, through their inner pages.
    fn indexes(&mut self) -> Result<()> {
        let root = self.root;
        for description in &root.catalog.indexes {
            let keys = description.keys.iter().filter_map(|key| self.key(*key));
            let part = Part {
                property: Some(keys.collect::<Vec<_>>().join(", ")),
                ..match description.entity {
                    SchemaEntity::Node(label) => Part {
                        label: self.names(&[label]),
                        ..Part::default()
                    },
                    SchemaEntity::Relationship(rel_type) => Part {
                        rel_type: self.rel_type(rel_type),
                        ..Part::default()
                    },
                }
            };
            let mut pages = Vec::new();
            let index = self
                .snapshot
                .index_on(description.entity, &description.keys);
            if let Some(index) = index {
                index.pages(&mut |kind, page| pages.push((kind, page)))?;
            }
            for (kind, page) in pages {
                let part = Part {
                    kind: kind.to_string(),
                    ..part.clone()
                };
                self.meet(part, page);
            }
        }
        Ok(())
    }

    fn label(&self, node: u64) -> Option<String> {
        let set = self.root.labels.set_of(NodeId(node))?;
        self.names(self.root.catalog.label_sets.get(set)?)
    }

    fn names(&self, labels: &[LabelId]) -> Option<String> {
        let names: Vec<&str> = labels
            .iter()
            .filter_map(|label| self.root.catalog.label_name(*label))
            .map(|name| &**name)
            .collect();
        (!names.is_empty()).then(|| names.join(":"))
    }

    fn rel_type(&self, id: TypeId) -> Option<String> {
        self.root.catalog.type_name(id).map(|name| name.to_string())
    }

    fn key(&self, id: KeyId) -> Option<String> {
        self.root.catalog.key_name(id).map(|name| name.to_string())
    }
}
