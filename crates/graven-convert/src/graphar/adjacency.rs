//! The edges of a type, by one of its adjacency lists.
//!
//! # How it works
//! All lists of an edge type hold the same edges; the first that is ordered is read, else the
//! first. Its edges come in parts, one for the edges of each vertex chunk, and these in chunks: a
//! file of the ends, and one of each property group beside it. The offsets of an ordered list say
//! where the edges of each vertex begin; they are read along and compared with the ends.
//!
//! # Invariants
//! * GA-5 An edge ends at vertices that there are, in the part of its vertex, and where the offsets
//!   say.

use std::path::{Path, PathBuf};

use graven_files::Datum;

use super::info::{EdgeInfo, End, List};
use super::layout::{EDGE_COUNT, ENDS, OFFSET, OFFSETS, SOURCE, TARGET, VERTEX_COUNT, chunk, part};
use super::rows::{Rows, Wanted, count};
use super::vertices::{Vertices, add, wanted};
use crate::element::{Element, Properties};
use crate::error::{Error, Result};
use crate::load::Loader;

/// The offsets of a part, read along with its edges.
struct Offsets {
    rows: Rows,
    /// The vertex of the part that the edges are at, and where its edges end.
    vertex: u64,
    end: u64,
    edges: u64,
    by: PathBuf,
}

impl Offsets {
    fn open(path: PathBuf, list: &List, edges: u64, by: PathBuf) -> Result<Offsets> {
        let wanted = [Wanted::number(OFFSET)];
        let mut offsets = Offsets {
            rows: Rows::open(path, list.format, &wanted, &[])?,
            vertex: 0,
            end: 0,
            edges,
            by,
        };
        match offsets.next()? {
            Some(0) => {}
            first => {
                let message = match first {
                    Some(first) => format!("begins with {first}, and the first edge is edge 0"),
                    None => "is empty".to_owned(),
                };
                let path = offsets.rows.path().to_owned();
                return Err(Error::File { path, message });
            }
        }
        offsets.end = offsets.next()?.unwrap_or(0);
        Ok(offsets)
    }

    fn next(&mut self) -> Result<Option<u64>> {
        let Some(row) = self.rows.next()? else {
            return Ok(None);
        };
        let datum = row.into_iter().next().unwrap_or(Datum::NULL);
        let offset = self.rows.number(OFFSET, &datum)?;
        if offset > self.edges {
            let why = format!(
                "lies behind the last of the {} edges of {}",
                self.edges,
                self.by.display()
            );
            return Err(self.rows.fault(OFFSET, &datum, why));
        }
        if offset < self.end {
            let why = format!("is less than the offset before, {}", self.end);
            return Err(self.rows.fault(OFFSET, &datum, why));
        }
        Ok(Some(offset))
    }

    /// The vertex of the part that has the edge of that number; none behind the last offset.
    fn vertex_of(&mut self, edge: u64) -> Result<Option<u64>> {
        while edge >= self.end {
            let Some(end) = self.next()? else {
                return Ok(None);
            };
            self.end = end;
            self.vertex += 1;
        }
        Ok(Some(self.vertex))
    }

    /// Ends the part: the last offset is its number of edges.
    fn finish(&mut self) -> Result<()> {
        while let Some(end) = self.next()? {
            self.end = end;
        }
        if self.end == self.edges {
            return Ok(());
        }
        Err(Error::File {
            path: self.rows.path().to_owned(),
            message: format!(
                "ends with {}, and {} counts {} edges",
                self.end,
                self.by.display(),
                self.edges
            ),
        })
    }
}

/// Loads the edges of a type between vertices that are loaded.
pub(super) fn load(
    loader: &mut Loader<'_>,
    edge: &EdgeInfo,
    (source, target): (&Vertices, &Vertices),
) -> Result<()> {
    let ordered = edge.lists.iter().find(|list| list.is_ordered);
    let Some(list) = ordered.or(edge.lists.first()) else {
        return Ok(());
    };
    let (vertices, size) = match list.by {
        End::Source => (source.count, edge.source_chunk_size),
        End::Target => (target.count, edge.target_chunk_size),
    };
    let own_count = list.folder.join(VERTEX_COUNT);
    // Libraries before 0.10 did not write it.
    if own_count.exists() {
        let counted = count(&own_count)?;
        if counted != vertices {
            return Err(Error::File {
                path: own_count,
                message: format!("holds {counted}, and the vertex type has {vertices} vertices"),
            });
        }
    }
    for number in 0..vertices.div_ceil(size) {
        let part = Part {
            edge,
            list,
            source,
            target,
            number,
            size,
        };
        part.load(loader)?;
    }
    Ok(())
}

/// The edges of one vertex chunk.
struct Part<'a> {
    edge: &'a EdgeInfo,
    list: &'a List,
    source: &'a Vertices,
    target: &'a Vertices,
    number: u64,
    /// Vertices of a vertex chunk.
    size: u64,
}

impl Part<'_> {
    fn load(&self, loader: &mut Loader<'_>) -> Result<()> {
        let folder = &self.list.folder;
        let by = folder.join(format!("{EDGE_COUNT}{}", self.number));
        let edges = count(&by)?;
        let offsets = folder.join(OFFSETS).join(chunk(self.number));
        let mut offsets = match self.list.is_ordered {
            false => None,
            true => Some(Offsets::open(offsets, self.list, edges, by.clone())?),
        };
        let mut done = 0;
        while done < edges {
            let rows = self.edge.chunk_size.min(edges - done);
            self.chunk(loader, (done, rows), &by, &mut offsets)?;
            done += rows;
        }
        match &mut offsets {
            Some(offsets) => offsets.finish(),
            None => Ok(()),
        }
    }

    /// Loads a chunk: the edges from the number `first` on, so many `rows`.
    fn chunk(
        &self,
        loader: &mut Loader<'_>,
        (first, rows): (u64, u64),
        by: &Path,
        offsets: &mut Option<Offsets>,
    ) -> Result<()> {
        let folder = &self.list.folder;
        let name = chunk(first / self.edge.chunk_size);
        let path = folder.join(ENDS).join(part(self.number)).join(&name);
        let both = [Wanted::number(SOURCE), Wanted::number(TARGET)];
        let mut ends = Rows::open(path, self.list.format, &both, &[])?;
        let mut files = Vec::new();
        for group in &self.list.groups {
            let folder = folder.join(&group.folder).join(part(self.number));
            let path = folder.join(&name);
            files.push(Rows::open(path, group.format, &wanted(group), &[])?);
        }
        loader.file(ends.path());
        for row in 0..rows {
            let (source, target) = self.ends(&mut ends, (first + row, rows), by, offsets)?;
            let mut properties = Properties::new();
            for file in &mut files {
                let values = file.counted(rows, by)?;
                add(&mut properties, file.names(), values);
            }
            let relationship = Element::Relationship {
                start: self.source.id(source),
                end: self.target.id(target),
                name: self.edge.name.clone(),
                properties,
            };
            loader.push(relationship, row + 1)?;
        }
        for file in files.iter_mut().chain([&mut ends]) {
            file.end(by)?;
        }
        Ok(())
    }

    /// The ends of the next edge, which is the one of that number.
    fn ends(
        &self,
        file: &mut Rows,
        (edge, rows): (u64, u64),
        by: &Path,
        offsets: &mut Option<Offsets>,
    ) -> Result<(u64, u64)> {
        let values = file.counted(rows, by)?;
        let [from, to] = values.as_slice() else {
            return Err(Error::File {
                path: file.path().to_owned(),
                message: "has no two ends of edges".to_owned(),
            });
        };
        let ends = [
            (SOURCE, from, self.source, &self.edge.source),
            (TARGET, to, self.target, &self.edge.target),
        ];
        let mut numbers = [0; 2];
        for (number, (column, datum, vertices, name)) in numbers.iter_mut().zip(ends) {
            *number = file.number(column, datum)?;
            if *number >= vertices.count {
                let why = format!("is no vertex of {name}, which has {}", vertices.count);
                return Err(file.fault(column, datum, why));
            }
        }
        let [source, target] = numbers;
        let (column, datum, at) = match self.list.by {
            End::Source => (SOURCE, from, source),
            End::Target => (TARGET, to, target),
        };
        if at / self.size != self.number {
            let why = format!(
                "is a vertex of part {}, and this is part {}",
                at / self.size,
                self.number
            );
            return Err(file.fault(column, datum, why));
        }
        if let Some(offsets) = offsets
            && offsets.vertex_of(edge)? != Some(at % self.size)
        {
            let why = format!(
                "is not the vertex to which {} gives edge {edge} of the part",
                offsets.rows.path().display()
            );
            return Err(file.fault(column, datum, why));
        }
        Ok((source, target))
    }
}
