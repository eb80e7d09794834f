//! Macros: expressions with names and parameters, kept with indexes and constraints.
//!
//! # How it works
//! The list is part of the schema, as that of sequences is. The store does not look into the
//! expressions.
//!
//! # On disk
//! Behind the sequences of the catalogue, and of the schema in the log, only where there are
//! macros: the version (varint, 1), count; each: name, count of parameters, each: name, 1 and the
//! text of its default or 0; then the text of the expression.

use crate::bytes::{Decoded, Malformed, Reader, put_text, put_varint};
use std::sync::Arc;

const VERSION: u64 = 1;

/// A macro as the catalogue lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MacroDescription {
    /// Its name.
    pub name: Arc<str>,
    /// Names of its parameters, with the texts of their defaults.
    pub parameters: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// The text of its expression.
    pub body: Arc<str>,
}

pub(crate) fn put(out: &mut Vec<u8>, macros: &[MacroDescription]) {
    put_varint(out, VERSION);
    put_varint(out, macros.len() as u64);
    for known in macros {
        put_text(out, &known.name);
        put_varint(out, known.parameters.len() as u64);
        for (name, default) in &known.parameters {
            put_text(out, name);
            put_varint(out, u64::from(default.is_some()));
            default.iter().for_each(|text| put_text(out, text));
        }
        put_text(out, &known.body);
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Decoded<Vec<MacroDescription>> {
    let version = reader.varint()?;
    if version != VERSION {
        let what = format!("macros of version {version}, version {VERSION} expected");
        return Err(Malformed(what));
    }
    let mut macros: Vec<MacroDescription> = Vec::new();
    for _ in 0..reader.length()? {
        let name: Arc<str> = Arc::from(reader.text()?);
        if macros.last().is_some_and(|last| last.name >= name) {
            return Err(Malformed::new("macros are not in the order of their names"));
        }
        let mut parameters = Vec::new();
        for _ in 0..reader.length()? {
            let name = Arc::from(reader.text()?);
            let default = match reader.varint()? {
                0 => None,
                1 => Some(Arc::from(reader.text()?)),
                other => {
                    let what = format!("a parameter of a macro has {other} defaults");
                    return Err(Malformed(what));
                }
            };
            parameters.push((name, default));
        }
        macros.push(MacroDescription {
            name,
            parameters,
            body: Arc::from(reader.text()?),
        });
    }
    Ok(macros)
}

#[cfg(test)]
mod tests {
    //! Goal: macros come back from bytes, and damaged bytes are refused.

    use super::*;
    use crate::GraphBuilder;
    use crate::catalog::Catalog;

    #[test]
    fn macros_come_back_from_bytes() {
        let macros = vec![
            MacroDescription {
                name: "add".into(),
                parameters: vec![("a".into(), None), ("b".into(), Some("3".into()))],
                body: "a + b".into(),
            },
            MacroDescription {
                name: "one".into(),
                parameters: Vec::new(),
                body: "1".into(),
            },
        ];
        let mut builder = GraphBuilder::new();
        builder.node(&["A"], &[]);
        let store = builder.open(1 << 20).expect("opened");
        let mut catalog: Catalog = store.snapshot().catalog().clone();
        catalog.macros.clone_from(&macros);
        let back = Catalog::decode(&catalog.encode()).expect("readable");
        assert_eq!(back, catalog);
        let mut out = Vec::new();
        put(&mut out, &macros);
        assert_eq!(read(&mut Reader::new(&out)), Ok(macros));
        for at in 0..out.len() {
            let mut changed = out.clone();
            changed[at] ^= 0xff;
            let _ = read(&mut Reader::new(&changed));
            assert!(read(&mut Reader::new(&out[..at])).is_err(), "cut at {at}");
        }
    }
}
