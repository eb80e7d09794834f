//! The vertices of a type.
//!
//! # How it works
//! Chunk by chunk, a row of each property group beside each other. A vertex has the labels that its
//! type lists, or those that a table says of it; where the type lists none, the name of the type.

use graven_files::{Datum, Format, Kind};

use super::info::{Group, VertexInfo};
use super::layout::{VERTEX, VERTEX_COUNT, chunk};
use super::rows::{Rows, Wanted, count};
use crate::element::{Element, Properties};
use crate::error::Result;
use crate::load::Loader;
use crate::text::value;

/// Where the vertices of a type are, once they are loaded.
pub(super) struct Vertices {
    /// The number of the type.
    place: usize,
    pub(super) count: u64,
}

impl Vertices {
    /// The id of a vertex while the graph is loaded.
    pub(super) fn id(&self, number: u64) -> String {
        format!("{}:{number}", self.place)
    }
}

/// The columns of a group of properties.
pub(super) fn wanted(group: &Group) -> Vec<Wanted> {
    let properties = group.properties.iter();
    properties
        .map(|property| Wanted {
            name: property.name.clone(),
            kind: property.kind.clone(),
            text: property.text.clone(),
        })
        .collect()
}

/// Adds the values of a row that are there; its columns have these names.
pub(super) fn add(properties: &mut Properties, names: &[String], row: Vec<Datum>) {
    for (name, datum) in names.iter().zip(row) {
        if !datum.is_null() {
            properties.push((name.clone(), value(datum)));
        }
    }
}

/// Loads the vertices of the type of that number.
pub(super) fn load(loader: &mut Loader<'_>, place: usize, vertex: &VertexInfo) -> Result<Vertices> {
    let by = vertex.folder.join(VERTEX_COUNT);
    let vertices = Vertices {
        place,
        count: count(&by)?,
    };
    let mut number = 0;
    while number < vertices.count {
        let chunk_number = number / vertex.chunk_size;
        let rows = vertex.chunk_size.min(vertices.count - number);
        let name = chunk(chunk_number);
        let mut files = Vec::new();
        for group in &vertex.groups {
            let path = vertex.folder.join(&group.folder).join(&name);
            let numbers = [Wanted::number(VERTEX)];
            files.push(Rows::open(path, group.format, &wanted(group), &numbers)?);
        }
        let mut labels = match &vertex.labels_of_each {
            None => None,
            Some(folder) => {
                let of = |label: &String| Wanted {
                    name: label.clone(),
                    kind: Kind::Boolean,
                    text: None,
                };
                let columns: Vec<Wanted> = vertex.labels.iter().map(of).collect();
                let path = folder.join(&name);
                Some(Rows::open(path, Format::Parquet, &columns, &[])?)
            }
        };
        let first = files.first().or(labels.as_ref());
        loader.file(first.map_or(by.as_path(), Rows::path));
        for row in 0..rows {
            let mut properties = Properties::new();
            for file in &mut files {
                let mut values = file.counted(rows, &by)?;
                if file.names().last().is_some_and(|name| name == VERTEX)
                    && let Some(datum) = values.pop()
                    && file.number(VERTEX, &datum)? != number
                {
                    let why = format!("is the number of another vertex than this one, {number}");
                    return Err(file.fault(VERTEX, &datum, why));
                }
                add(&mut properties, file.names(), values);
            }
            let labels = match &mut labels {
                None => vertex.labels.clone(),
                Some(file) => {
                    let has = file.counted(rows, &by)?;
                    let all = vertex.labels.iter().zip(has);
                    let own = all.filter(|(_, has)| *has == Datum::Value(true.into()));
                    own.map(|(label, _)| label.clone()).collect()
                }
            };
            let id = vertices.id(number);
            let node = Element::Node {
                id,
                labels,
                properties,
            };
            loader.push(node, row + 1)?;
            number += 1;
        }
        for file in files.iter_mut().chain(&mut labels) {
            file.end(&by)?;
        }
    }
    Ok(vertices)
}
