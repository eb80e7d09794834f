//! `graven inspect`: what a file holds, and the statement that copies it into a database.

use std::io::Write as _;

use clap::Args;
use graven_files::{Format, Options, literal};

use crate::failure::Failure;

/// Show the columns of a file, their types, and the COPY statement to use.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  graven inspect people.csv
  graven inspect 's3://bucket/trips/*.parquet'
  graven inspect https://example.org/people.csv.gz

CSV (also packed by gzip or zstd), Parquet, JSON, Arrow IPC and NumPy files. Of CSV and JSON the \
first
records are looked at. URLs are those of LOAD FROM, with credentials from the environment.")]
pub(crate) struct Inspect {
    /// The files, patterns of them, or URLs, which have the same columns
    #[arg(required = true)]
    files: Vec<String>,
    /// What they are, where their names do not say it: csv, parquet, json, arrow or npy
    #[arg(long)]
    format: Option<String>,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let format = self.format.as_deref().map(|name| {
            let unknown = || Failure::usage(format!("there is no format {name}"));
            Format::parse(name).ok_or_else(unknown)
        });
        let options = Options {
            format: format.transpose()?,
            ..Options::default()
        };
        let found = graven::inspect(&self.files, &options).map_err(Failure::failed)?;
        let mut out = std::io::stdout().lock();
        let name = found.format.map_or("", Format::name);
        write!(out, "{}: {name}", self.files.join(", "))?;
        let mut told = Vec::new();
        for (option, value) in found.told() {
            let mut text = String::new();
            literal::write(&mut text, &value);
            match (option, text.as_str()) {
                ("HEADER", "true") => write!(out, ", with a header")?,
                ("HEADER", _) => write!(out, ", without a header")?,
                ("DELIM", text) => write!(out, ", delimiter {text}")?,
                ("QUOTE", text) => write!(out, ", quote {text}")?,
                (_, text) => write!(out, ", escape {text}")?,
            }
            told.push(format!("{option} = {text}"));
        }
        if let Some(rows) = found.rows {
            write!(out, ", {rows} rows")?;
        }
        writeln!(out)?;
        let width = found
            .columns
            .iter()
            .map(|column| column.name.chars().count());
        let width = width.max().unwrap_or(0);
        for column in &found.columns {
            let kind = column.kind.to_string();
            let kind = column.stated.as_ref().unwrap_or(&kind);
            writeln!(out, "  {:width$}  {kind}", column.name)?;
        }
        let names = self.files.iter().map(|name| {
            let mut text = String::new();
            literal::quoted(&mut text, name);
            text
        });
        let names: Vec<String> = names.collect();
        let names = match names.as_slice() {
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        if let Some(format) = options.format {
            told.push(format!("FORMAT = '{}'", format.name()));
        }
        let told = match told.is_empty() {
            true => String::new(),
            false => format!(" ({})", told.join(", ")),
        };
        Ok(writeln!(out, "\nCOPY Label FROM {names}{told}")?)
    }
}
