//! Values of JavaScript as parameters of statements.
//!
//! # How it works
//! What has no counterpart in Node-API (a `Moment`, a `Map`, a typed array) is taken apart by
//! `parts` of `values.js`, which gives a word and what the word needs. A plain object has no parts:
//! it is a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven::{Params, Value};
use napi::{Env, ValueType};

use crate::js::{Any, Js};
use crate::temporal;
use crate::told::{Told, sync};

/// Lists within lists, at most.
const DEPTH_MAX: usize = 100;

/// Numbers beyond are no integers: their neighbours differ by more than one.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// Reads values of JavaScript within one call.
#[derive(Clone, Copy)]
pub(crate) struct Reader {
    js: Js,
    parts: Any,
}

impl Reader {
    /// `makers` has the functions of `values.js`.
    pub(crate) fn new(js: Js, makers: Any) -> Result<Reader, Told> {
        let parts = js.named(makers, "parts")?;
        Ok(Reader { js, parts })
    }

    /// Parameters by their names; none for null and undefined.
    pub(crate) fn params(self, given: Any) -> Result<Params, Told> {
        let mut params = Params::new();
        match self.js.kind(given)? {
            ValueType::Null | ValueType::Undefined => return Ok(params),
            ValueType::Object if self.is_plain(given)? => {}
            _ => {
                return Err(Told::usage("params must be a plain object."));
            }
        }
        for (name, value) in self.entries(given)? {
            let value = self
                .value(value, 0)
                .map_err(|told| told.of_parameter(&name))?;
            let name = name.strip_prefix('$').unwrap_or(&name);
            if params.get(name).is_some() {
                let message = format!("parameter `{name}` is given twice, with `$` and without");
                return Err(Told::usage(message));
            }
            params.set(name, value);
        }
        Ok(params)
    }

    fn text(self, string: Any, what: &str) -> Result<String, Told> {
        text(self.js, string, what)
    }

    fn is_plain(self, object: Any) -> Result<bool, Told> {
        let parts = self.js.call(self.parts, &[object])?;
        Ok(!self.js.is_array(object)? && self.js.kind(parts)? == ValueType::Null)
    }

    fn entries(self, object: Any) -> Result<Vec<(String, Any)>, Told> {
        let names = self.js.names(object)?.into_iter().map(|key| {
            let name = self.text(key, "a name")?;
            Ok((name, self.js.get(object, key)?))
        });
        names.collect()
    }

    fn value(self, it: Any, depth: usize) -> Result<Value, Told> {
        if depth > DEPTH_MAX {
            let message = format!("a value nested in itself, or deeper than {DEPTH_MAX} levels");
            return Err(Told::usage(message));
        }
        Ok(match self.js.kind(it)? {
            ValueType::Undefined | ValueType::Null => Value::Null,
            ValueType::Boolean => Value::Boolean(self.js.to_boolean(it)?),
            ValueType::Number => number(self.js.to_number(it)?),
            ValueType::String => Value::from(self.text(it, "a text")?),
            ValueType::BigInt => Value::Integer(self.bigint(it)?),
            ValueType::Object => return self.object(it, depth),
            other => {
                let message = format!("a {other} cannot be a parameter");
                return Err(Told::usage(message.to_lowercase()));
            }
        })
    }

    fn bigint(self, it: Any) -> Result<i64, Told> {
        let integer = self.js.to_integer(it)?;
        integer.ok_or_else(|| Told::usage("a BigInt does not fit in a 64-bit integer"))
    }

    fn object(self, it: Any, depth: usize) -> Result<Value, Told> {
        if self.js.is_array(it)? {
            return self.list(it, depth);
        }
        let parts = self.js.call(self.parts, &[it])?;
        if self.js.kind(parts)? != ValueType::Null {
            return self.taken_apart(&self.js.items(parts)?, depth);
        }
        let mut map = BTreeMap::new();
        for (name, item) in self.entries(it)? {
            map.insert(Arc::from(name), self.value(item, depth + 1)?);
        }
        Ok(Value::Map(map))
    }

    fn list(self, array: Any, depth: usize) -> Result<Value, Told> {
        let items = self.js.items(array)?.into_iter();
        let items = items.map(|item| self.value(item, depth + 1));
        Ok(Value::List(items.collect::<Result<_, _>>()?))
    }

    /// What `parts` gave.
    fn taken_apart(self, parts: &[Any], depth: usize) -> Result<Value, Told> {
        let js = self.js;
        let unknown = || Told::usage("an object that this build does not know");
        let (word, rest) = parts.split_first().ok_or_else(unknown)?;
        let word = self.text(*word, "a word")?;
        match (word.as_str(), rest) {
            ("value", [it]) => self.value(*it, depth + 1),
            ("list", [items]) => self.list(*items, depth),
            ("bytes", [it]) => {
                let bytes = js.to_bytes(*it)?.ok_or_else(unknown)?;
                Ok(Value::Bytes(bytes.into()))
            }
            ("wrong", [why]) => Err(Told::usage(self.text(*why, "a message")?)),
            ("float", [x]) => Ok(Value::Float(js.to_number(*x)?)),
            ("floats", [items]) => {
                let items = js.items(*items)?.into_iter();
                let items = items.map(|x| js.to_number(x).map(Value::Float));
                Ok(Value::List(items.collect::<Result<_, _>>()?))
            }
            ("moment", [kind, milliseconds, nanoseconds, zone]) => temporal::of_moment(
                &self.text(*kind, "a type")?,
                js.to_number(*milliseconds)?,
                self.float(*nanoseconds, "nanoseconds")?,
                self.unless_null(*zone, |zone| self.text(zone, "a zone"))?
                    .as_deref(),
            ),
            ("temporal", [kind, written]) => {
                let kind = self.text(*kind, "a type")?;
                temporal::of_text(&kind, &self.text(*written, "a text")?)
            }
            ("duration", [months, days, seconds, nanoseconds]) => temporal::of_duration([
                self.whole(*months, "months")?,
                self.whole(*days, "days")?,
                self.whole(*seconds, "seconds")?,
                self.whole(*nanoseconds, "nanoseconds")?,
            ]),
            ("point", [srid, x, y, z]) => temporal::of_point(
                self.float(*srid, "srid")?,
                self.float(*x, "x")?,
                self.float(*y, "y")?,
                self.unless_null(*z, |z| self.float(z, "z"))?,
            ),
            _ => Err(unknown()),
        }
    }

    fn unless_null<T>(
        self,
        it: Any,
        read: impl FnOnce(Any) -> Result<T, Told>,
    ) -> Result<Option<T>, Told> {
        match self.js.kind(it)? {
            ValueType::Null | ValueType::Undefined => Ok(None),
            _ => read(it).map(Some),
        }
    }

    fn float(self, it: Any, name: &str) -> Result<f64, Told> {
        match self.js.kind(it)? {
            ValueType::Number => Ok(self.js.to_number(it)?),
            _ => Err(Told::usage(format!("`{name}` is no number"))),
        }
    }

    fn whole(self, it: Any, name: &str) -> Result<i64, Told> {
        match self.js.kind(it)? {
            ValueType::BigInt => return self.bigint(it),
            ValueType::Number => {
                if let Value::Integer(i) = number(self.js.to_number(it)?) {
                    return Ok(i);
                }
            }
            _ => {}
        }
        Err(Told::usage(format!("`{name}` is no whole number")))
    }
}

/// An integer, if the number says exactly one; -0 does not.
fn number(x: f64) -> Value {
    let is_whole = x.fract() == 0.0 && x.abs() <= SAFE;
    match is_whole && !(x == 0.0 && x.is_sign_negative()) {
        true => Value::Integer(x as i64),
        false => Value::Float(x),
    }
}

/// The text, and for errors what it is of.
pub(crate) fn text_of(env: &Env, string: Any, what: &str) -> napi::Result<String> {
    sync(|| text(Js::new(env), string, what))
}

fn text(js: Js, string: Any, what: &str) -> Result<String, Told> {
    if js.kind(string)? != ValueType::String {
        return Err(Told::usage(format!("{what} must be a string.")));
    }
    let message = "has half of a pair of surrogates, which is no Unicode text: see \
        String.prototype.toWellFormed";
    let text = js.to_text(string)?;
    text.ok_or_else(|| Told::usage(format!("{what} {message}")))
}

/// What a statement is run with: its text and parameters.
pub(crate) fn request(
    env: &Env,
    text: Any,
    params: Any,
    makers: Any,
) -> napi::Result<(String, Params)> {
    sync(|| {
        let reader = Reader::new(Js::new(env), makers)?;
        Ok((reader.text(text, "statement")?, reader.params(params)?))
    })
}
