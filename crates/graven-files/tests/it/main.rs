//! Goal: rows come back from every format as they were written; what a file shows by itself is
//! found out; what is wrong is named.

mod declared;
mod errors;
mod found_out;
mod round_trip;

use std::path::Path;

use graven_files::{
    Bound, Cells, Column, Datum, Description, Options, Reader, Result, Source, describe,
    open_local as open,
};

fn source(path: &Path) -> Source {
    Source::Files(vec![path.to_str().expect("text").to_owned()])
}

/// All rows of a source, and what it is.
fn rows(
    source: &Source,
    options: &Options,
    declared: Option<&[Column]>,
) -> Result<(Description, Vec<Vec<Datum>>)> {
    let description = describe(source, &open, options, declared)?;
    let wanted: Vec<String> = description.columns.iter().map(|c| c.name.clone()).collect();
    let read = some_rows(source, options, &description, &wanted, Vec::new())?;
    Ok((description, read.1))
}

fn some_rows(
    source: &Source,
    options: &Options,
    description: &Description,
    wanted: &[String],
    bounds: Vec<Bound>,
) -> Result<(Reader, Vec<Vec<Datum>>)> {
    let mut reader = Reader::new(
        source.clone(),
        options.clone(),
        description.clone(),
        wanted,
        bounds,
    )?;
    let mut rows = Vec::new();
    while let Some(chunk) = reader.next(&open, 100, 1 << 20)? {
        for row in 0..chunk.len {
            rows.push(chunk.columns.iter().map(|c: &Cells| c.get(row)).collect());
        }
    }
    Ok((reader, rows))
}

fn literal(datum: &Datum) -> String {
    let mut text = String::new();
    graven_files::literal::write(&mut text, datum);
    text
}
