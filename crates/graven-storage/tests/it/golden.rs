//! Goal: the format does not change by accident. Method: a fixed graph gives the bytes it gave when
//! its newest feature was described; a deliberate change of the format changes the number here
//! together with docs/internals/data-file.md.

use graven_io::MemoryFile;
use graven_pagecache::page::checksum;
use graven_storage::{GraphBuilder, NodeId, PropertyValue, Uniqueness};
use graven_types::{DateTime, Point};
use std::sync::Arc;

const BYTES: usize = 290_816;
const CHECKSUM: u64 = 8_618_478_317_495_898_971;

#[test]
fn format_1_is_what_it_was() {
    let mut builder = GraphBuilder::new();
    for number in 0..500i64 {
        let mixed = match number % 4 {
            0 => PropertyValue::Point(Point {
                srid: 4326,
                x: number as f64,
                y: 0.5,
                z: None,
            }),
            1 => PropertyValue::from(vec![PropertyValue::Null, PropertyValue::Boolean(true)]),
            2 => PropertyValue::DateTime(DateTime {
                seconds: number,
                nanoseconds: 1,
                offset_seconds: 3600,
                zone: Some("Europe/Berlin".into()),
            }),
            _ => PropertyValue::Float(0.25),
        };
        let properties = [
            ("id", PropertyValue::Integer(number * 37)),
            (
                "name",
                PropertyValue::string(&format!("person {}", number % 50)),
            ),
            ("mixed", mixed),
        ];
        let labels: &[&str] = if number < 300 {
            &["Person"]
        } else {
            &["Post", "Message"]
        };
        builder.node(labels, &properties[..2 + (number % 3 > 0) as usize]);
    }
    for number in 0..4000u64 {
        let (start, end) = (NodeId(number * number % 499), NodeId(number * 31 % 457));
        let since = [("since", PropertyValue::Date(number as i64 % 90))];
        builder.relationship(start, "KNOWS", end, &since[..(number % 2) as usize]);
    }
    builder.node(
        &[],
        &[("text", PropertyValue::string(&"long ".repeat(30_000)))],
    );
    builder.index("Person", "id", Uniqueness::Unique);
    builder.index("Message", "name", Uniqueness::Any);
    let file = MemoryFile::new("golden.graven");
    builder.build(Arc::new(file.clone())).unwrap();
    let bytes = file.to_bytes();
    assert_eq!((bytes.len(), checksum(&bytes)), (BYTES, CHECKSUM));
    let store = builder.open(1 << 20).unwrap();
    assert_eq!(store.check().unwrap().problems, []);
    let stored: u64 = store.info().stores.iter().map(|store| store.bytes).sum();
    assert_eq!(stored + store.info().other_bytes, bytes.len() as u64);
}
