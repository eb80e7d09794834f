//! What to import and how.

use std::path::PathBuf;

use crate::generate::Social;

/// Where the graph comes from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ImportSource {
    /// A folder in one of the layouts of the LDBC social network; the layout is found out.
    Ldbc(PathBuf),
    /// A generated network, read while it is made: no table of it is written.
    Generated(Social),
    /// Tables named one by one, with Neo4j's header convention.
    Tables(TableSource),
}

/// Tables with Neo4j's header convention.
#[derive(Debug, Clone, Default)]
pub struct TableSource {
    /// Node tables.
    pub nodes: Vec<TableArgument>,
    /// Relationship tables.
    pub relationships: Vec<TableArgument>,
    /// How the text is cut into fields.
    pub format: CsvFormat,
}

/// One `Label=FILE,FILE...` argument.
///
/// All files of one argument are one table: the first line of the first file is the header, so the
/// header may stand in a file of its own.
#[derive(Debug, Clone, Default)]
pub struct TableArgument {
    /// Labels for every node (`A:B` gives two) or the type for every relationship; may be empty
    /// when the header has `:LABEL` or `:TYPE`.
    pub names: Vec<String>,
    /// The files in reading order; plain, zstd or gzip, recognised by content.
    pub files: Vec<PathBuf>,
}

impl std::str::FromStr for TableArgument {
    type Err = String;

    /// Reads `Label:Other=first.csv,second.csv.zst`, or only files.
    fn from_str(text: &str) -> Result<Self, String> {
        let (names, files) = match text.split_once('=') {
            Some((names, files)) => (names, files),
            None => ("", text),
        };
        let names: Vec<String> = names
            .split(':')
            .map(str::trim)
            .filter(|n| !n.is_empty())
            .map(String::from)
            .collect();
        let files: Vec<PathBuf> = files
            .split(',')
            .filter(|f| !f.is_empty())
            .map(PathBuf::from)
            .collect();
        if files.is_empty() {
            return Err(format!(
                "'{text}' names no file: write Name=FILE or Name=HEADER,FILE"
            ));
        }
        Ok(Self { names, files })
    }
}

/// How table text is cut into fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvFormat {
    /// Byte between fields; `None` takes what the header line holds most of (`|`, `,`, `;`, tab).
    pub delimiter: Option<u8>,
    /// Byte between the elements of an array; `None` is `;`, or `|` where fields are cut at `;`.
    pub array_delimiter: Option<u8>,
    /// Quote character; `None` means that no field is quoted.
    pub quote: Option<u8>,
}

impl Default for CsvFormat {
    fn default() -> Self {
        Self {
            delimiter: None,
            array_delimiter: None,
            quote: Some(b'"'),
        }
    }
}

impl CsvFormat {
    /// Byte between the elements of an array in a table whose fields `delimiter` cuts.
    pub(crate) fn array_delimiter(&self, delimiter: u8) -> u8 {
        let usual = if delimiter == b';' { b'|' } else { b';' };
        self.array_delimiter.unwrap_or(usual)
    }
}

/// The order of node ids inside a group of equal labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NodeOrder {
    /// Descending number of relationships, so that hot adjacency is dense. Ties in file order.
    #[default]
    Degree,
    /// As in the files.
    File,
}

impl std::str::FromStr for NodeOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "degree" => Ok(Self::Degree),
            "file" => Ok(Self::File),
            other => Err(format!("unknown node order '{other}': use degree or file")),
        }
    }
}

/// How to import.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// Bytes the import may use for its data; what does not fit is spilled beside the target.
    /// At least [`ImportOptions::MEMORY_MIN`].
    pub memory: u64,
    /// Order of node ids.
    pub order: NodeOrder,
    /// Worker threads, 1 or more: all of them read relationships, two sort and write.
    pub threads: usize,
    /// Write rows that cannot be taken to this file and go on, instead of failing at the first.
    pub skip_bad_rows: Option<PathBuf>,
}

impl ImportOptions {
    /// The least memory an import works with, in bytes.
    pub const MEMORY_MIN: u64 = 8 << 20;
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            memory: 1 << 30,
            order: NodeOrder::Degree,
            threads: 2,
            skip_bad_rows: None,
        }
    }
}
