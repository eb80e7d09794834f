//! `apoc.xml.parse`, and what `apoc.load.xml` reads: elements of XML as maps.

use graven_files::xml::Document;
use graven_types::told;

use super::{map, text};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{Items, charge, work};
use crate::query_context::QueryContext;
use crate::sources;
use crate::value::{Map, Value};

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.xml.parse", (1, 4), parse),
    Function::new("graven.xml", (3, 3), |_, args| {
        if args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let name = "apoc.load.xml";
        let given = text(name, &args[0])?.map_or("", |given| given);
        let all = elements(name, given, (&args[1], &args[2]), usize::MAX)?;
        let mut items = Items::with_room(all.len())?;
        all.into_iter().try_for_each(|item| items.push(item))?;
        items.value()
    }),
];

/// The first element at a path, as a map; null where there is none.
fn parse(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.xml.parse";
    let Some(given) = text(name, &args[0])? else {
        return Ok(Value::Null);
    };
    let config = args.get(2).map(|config| map(name, config)).transpose()?;
    let options = config.flatten().map_or(&[][..], Map::entries);
    if let Some((key, _)) = options.first() {
        // Those of APOC are about what stands outside of the text.
        return Err(ExecError::Argument {
            message: told!("{name}() has no option {key}"),
        });
    }
    let (path, simple) = (args.get(1), args.get(3));
    let (path, simple) = (path.unwrap_or(&Value::Null), simple.unwrap_or(&Value::Null));
    let found = elements(name, given, (path, simple), 1)?;
    Ok(found.into_iter().next().unwrap_or_default())
}

/// The first elements at a path, as maps, which may be simple.
fn elements(
    name: &str,
    given: &str,
    (path, simple): (&Value, &Value),
    most: usize,
) -> Result<Vec<Value>> {
    let failed = |why: String| ExecError::Argument {
        message: told!("{name}(): {why}"),
    };
    let path = text(name, path)?.map_or("/", |path| path);
    // Elements and then maps take more room than their text.
    charge(given.len().saturating_mul(24))?;
    work(1 + given.len() / 16)?;
    let document = Document::read(given).map_err(|why| failed(told!("that is no XML: {why}")))?;
    let found = document.at(path).map_err(failed)?;
    let mut all = Vec::new();
    for at in found.into_iter().take(most) {
        let value = sources::value(document.map(at, *simple == Value::Boolean(true)));
        charge(value.heap_bytes())?;
        work(1)?;
        all.push(value);
    }
    Ok(all)
}
