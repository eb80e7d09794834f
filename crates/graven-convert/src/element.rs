//! A node or relationship on its way from a file into a database.

use graven::Value;
use graven_files::elements;

use crate::text::stored_value;

/// Properties in the order of the file.
pub(crate) type Properties = Vec<(String, Value)>;

/// What a file holds one after the other. Ids are the file's own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Element {
    Node {
        id: String,
        labels: Vec<String>,
        properties: Properties,
    },
    Relationship {
        start: String,
        end: String,
        name: String,
        properties: Properties,
    },
}

impl From<elements::Element> for Element {
    fn from(element: elements::Element) -> Self {
        let own = |properties: elements::Properties| {
            let properties = properties.into_iter();
            properties
                .map(|(key, value)| (key, stored_value(&value)))
                .collect()
        };
        match element {
            elements::Element::Node {
                id,
                labels,
                properties,
            } => Element::Node {
                id,
                labels,
                properties: own(properties),
            },
            elements::Element::Relationship {
                start,
                end,
                name,
                properties,
            } => Element::Relationship {
                start,
                end,
                name,
                properties: own(properties),
            },
        }
    }
}
