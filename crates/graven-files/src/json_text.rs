//! Texts of JSON: the keys of objects stay in the order they are written, equal ones too.
//!
//! # How it works
//! What [`JsonText::read`] reads is written again by `Display`, without spaces. A text nested more
//! deeply than 128 levels is refused.
//!
//! # Cost
//! Linear in the text; an element of a list takes 32 bytes, however short it is.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Number, Value};

/// A value of JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonText {
    /// Null, a truth, a number or a text.
    Plain(Value),
    /// Elements of a list.
    List(Vec<JsonText>),
    /// Keys and values of an object.
    Object(Vec<(String, JsonText)>),
}

impl JsonText {
    /// The value that a text holds.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn read(text: &str) -> Result<JsonText, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The value of this key; of equal keys the first one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&JsonText> {
        let JsonText::Object(entries) = self else {
            return None;
        };
        let mut entries = entries.iter();
        entries
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Whether it is JSON's null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, JsonText::Plain(Value::Null))
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            JsonText::Plain(value) => value.serialize(serializer),
            JsonText::List(items) => serializer.collect_seq(items),
            JsonText::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfAny)
    }
}

struct OfAny;

impl<'de> Visitor<'de> for OfAny {
    type Value = JsonText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<JsonText, E> {
        Ok(JsonText::Plain(Value::Null))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<JsonText, E> {
        Ok(JsonText::Plain(Value::Bool(truth)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<JsonText, E> {
        Ok(JsonText::Plain(Value::Number(number.into())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<JsonText, E> {
        Ok(JsonText::Plain(Value::Number(number.into())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<JsonText, E> {
        let number = Number::from_f64(number);
        Ok(JsonText::Plain(number.map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonText, E> {
        Ok(JsonText::Plain(Value::String(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsonText, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(JsonText::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonText, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(JsonText::Object(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::JsonText;

    /// Goal: what is read is written with the same keys in the same order, and what is no JSON is
    /// refused.
    #[test]
    fn texts_keep_the_order_of_their_keys() {
        for (text, written) in [
            (
                r#"{"b": 1, "a": [true, null, {"c": "x"}], "b": 2}"#,
                r#"{"b":1,"a":[true,null,{"c":"x"}],"b":2}"#,
            ),
            (" -0.0 ", "-0.0"),
            (r#""\u00e9\n""#, "\"\u{e9}\\n\""),
            ("18446744073709551615", "18446744073709551615"),
            ("{}", "{}"),
        ] {
            let read = JsonText::read(text).expect(text);
            assert_eq!(read.to_string(), written);
        }
        for wrong in ["", "{a: 1}", "[1,]", "1 2", "nan", &"[".repeat(200)] {
            assert!(JsonText::read(wrong).is_err(), "{wrong}");
        }
        let first = JsonText::read(r#"{"b":1,"b":2}"#).expect("an object");
        assert_eq!(first.get("b").map(ToString::to_string), Some("1".into()));
        assert_eq!(size_of::<JsonText>(), 32);
    }
}
