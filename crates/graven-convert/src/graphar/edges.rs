//! The edges of a type, in the order of the vertices at one of their ends.
//!
//! # How it works
//! For each vertex chunk there is a part: the ends of the edges, their properties beside them, and
//! offsets, which say for each vertex of the chunk where its edges begin. A part has offsets and a
//! count even if it has no edges.

use std::path::PathBuf;

use graven_files::{Datum, Kind, Shape};

use super::chunks::{Chunks, number, write_count};
use super::layout::{
    EDGE_COUNT, ENDS, OFFSET, OFFSETS, PROPERTIES, SOURCE, TARGET, VERTEX_COUNT, part,
};
use crate::error::Result;

/// How many vertices and edges a chunk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) vertices: u64,
    pub(super) edges: u64,
}

/// See the file header.
pub(super) struct Edges {
    folder: PathBuf,
    /// Vertices at the end that the edges are ordered by.
    vertices: u64,
    /// Vertices of a chunk.
    size: u64,
    part: u64,
    /// Edges of the part so far.
    count: u64,
    /// Offsets of the part so far.
    offsets_done: u64,
    offsets: Chunks,
    ends: Chunks,
    properties: Option<Chunks>,
}

fn numbers(names: &[&str]) -> Vec<(String, Shape)> {
    let columns = names.iter();
    columns
        .map(|name| ((*name).to_owned(), Shape::of(Kind::Integer)))
        .collect()
}

impl Edges {
    /// Of edges with these properties, in the folder of their adjacency list.
    pub(super) fn new(
        folder: PathBuf,
        columns: Vec<(String, Shape)>,
        vertices: u64,
        sizes: Sizes,
    ) -> Edges {
        let first = |name: &str| folder.join(name).join(part(0));
        let offsets = sizes.vertices.saturating_add(1);
        let properties =
            (!columns.is_empty()).then(|| Chunks::new(first(PROPERTIES), columns, sizes.edges));
        Edges {
            offsets: Chunks::new(folder.join(OFFSETS), numbers(&[OFFSET]), offsets),
            ends: Chunks::new(first(ENDS), numbers(&[SOURCE, TARGET]), sizes.edges),
            properties,
            folder,
            vertices,
            size: sizes.vertices,
            part: 0,
            count: 0,
            offsets_done: 0,
        }
    }

    /// Appends an edge; `at`: the vertex that the edges are ordered by, no smaller than that of the
    /// edge before.
    pub(super) fn push(
        &mut self,
        at: u64,
        ends: (u64, u64),
        properties: impl IntoIterator<Item = Datum>,
    ) -> Result<()> {
        while at / self.size > self.part {
            self.end_part()?;
        }
        self.offsets_to(at % self.size + 1)?;
        self.ends.push([number(ends.0), number(ends.1)])?;
        if let Some(chunks) = &mut self.properties {
            chunks.push(properties)?;
        }
        self.count += 1;
        Ok(())
    }

    /// Writes offsets until the part has so many.
    fn offsets_to(&mut self, count: u64) -> Result<()> {
        while self.offsets_done < count {
            self.offsets.push([number(self.count)])?;
            self.offsets_done += 1;
        }
        Ok(())
    }

    fn end_part(&mut self) -> Result<()> {
        // One for each vertex, and the end of the last one's edges.
        let rest = self.vertices - self.part * self.size;
        self.offsets_to(rest.min(self.size).saturating_add(1))?;
        let name = format!("{EDGE_COUNT}{}", self.part);
        write_count(&self.folder.join(name), self.count)?;
        self.offsets.end()?;
        self.part += 1;
        self.count = 0;
        self.offsets_done = 0;
        let folder = |name: &str| self.folder.join(name).join(part(self.part));
        let (ends, properties) = (folder(ENDS), folder(PROPERTIES));
        self.ends.begin(ends)?;
        match &mut self.properties {
            Some(chunks) => chunks.begin(properties),
            None => Ok(()),
        }
    }

    /// Ends the list, with the parts that have no edges.
    pub(super) fn end(mut self) -> Result<()> {
        while self.part < self.vertices.div_ceil(self.size) {
            self.end_part()?;
        }
        write_count(&self.folder.join(VERTEX_COUNT), self.vertices)
    }
}
