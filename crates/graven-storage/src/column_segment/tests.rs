//! Column segments: every encoding and presence form gives back what was put in; damage is refused or decodes
//! to something else, but never panics.

use super::*;
use crate::value::Point;
use graven_pagecache::SizeClass;
use proptest::prelude::*;

fn round_trip(entries: &[(u64, Entry)]) {
    let bytes = encode(entries);
    let first = entries[0].0;
    let segment = ColumnSegment::parse(&bytes, first).expect("parses");
    assert_eq!(
        segment.ids(),
        first..entries[entries.len() - 1].0 + 1,
        "ST-COL-1"
    );
    let mut wanted = entries.iter().peekable();
    for id in first.saturating_sub(2)..segment.ids().end + 2 {
        let expected = wanted
            .next_if(|(at, _)| *at == id)
            .map(|(_, entry)| entry.clone());
        let got = segment.get(id).expect("decodes");
        assert_eq!(format!("{got:?}"), format!("{expected:?}"), "id {id}");
        let integer = segment.integer(id).expect("decodes");
        match expected {
            None => assert_eq!(integer, Ok(None)),
            Some(Entry::Value(PropertyValue::Integer(value))) => {
                assert_eq!(integer, Ok(Some(value)));
            }
            Some(_) => assert_eq!(integer, Err(NotAnInteger)),
        }
    }
    let all: Vec<(u64, Entry)> = segment
        .entries()
        .collect::<Result<_, _>>()
        .expect("all entries decode");
    assert_eq!(format!("{all:?}"), format!("{entries:?}"));
}

fn column(
    values: impl IntoIterator<Item = PropertyValue>,
    first: u64,
    gap: u64,
) -> Vec<(u64, Entry)> {
    values
        .into_iter()
        .enumerate()
        .map(|(at, value)| (first + at as u64 * gap, Entry::Value(value)))
        .collect()
}

/// Each encoding, dense, with gaps and far apart.
#[test]
fn every_encoding_with_every_presence_form_round_trips() {
    let overflow = Overflow {
        first: PageRef::new(SizeClass::new(0).expect("class"), 7),
        bytes: 1 << 33,
    };
    for gap in [1, 2, 1000] {
        let text = |at: i64| PropertyValue::string(&format!("name {}", at * at * 7919 % 1009));
        round_trip(&column((0..700).map(PropertyValue::Integer), 5, gap));
        round_trip(&column(
            (0..700).map(|at| PropertyValue::Date(at * 365)),
            0,
            gap,
        ));
        round_trip(&column(
            (0..9).map(|at| PropertyValue::LocalTime(at * 1_000_000)),
            0,
            gap,
        ));
        round_trip(&column(
            [i64::MIN, i64::MAX, 0, -1].map(PropertyValue::Integer),
            1 << 40,
            gap,
        ));
        round_trip(&column(
            (0..700).map(|at| PropertyValue::Boolean(at % 3 == 0)),
            5,
            gap,
        ));
        round_trip(&column(
            [0.5, -0.0, f64::NAN, f64::INFINITY].map(PropertyValue::Float),
            5,
            gap,
        ));
        round_trip(&column((0..700).map(text), 5, gap));
        round_trip(&column((0..700).map(|at| text(at % 3)), 5, gap));
        round_trip(&column((0..700).map(|_| text(1)), 5, gap));
        let point = Point {
            srid: 7203,
            x: 1.0,
            y: 2.0,
            z: None,
        };
        let mut mixed = column(
            [
                PropertyValue::Point(point),
                text(1),
                PropertyValue::Integer(3),
                vec![text(2)].into(),
            ],
            5,
            gap,
        );
        mixed.push((mixed[3].0 + gap, Entry::Overflow(overflow)));
        round_trip(&mixed);
        round_trip(&mixed[4..]);
    }
}

/// Days kept as milliseconds cost the bits of the day number, not of the millisecond.
#[test]
fn a_common_step_is_taken_out() {
    let days = column(
        (0..1000).map(|day| PropertyValue::Integer(day * 86_400_000)),
        0,
        1,
    );
    assert!(encode(&days).len() < 1000 * 10 / 8 + 64);
}

fn value() -> impl Strategy<Value = PropertyValue> {
    prop_oneof![
        any::<i64>().prop_map(PropertyValue::Integer),
        any::<bool>().prop_map(PropertyValue::Boolean),
        any::<f64>().prop_map(PropertyValue::Float),
        "[a-c]{0,3}".prop_map(|text| PropertyValue::string(&text)),
        prop::collection::vec(any::<i64>().prop_map(PropertyValue::Integer), 0..3)
            .prop_map(PropertyValue::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Any mixture of values and gaps round trips.
    #[test]
    fn any_column_round_trips(
        values in prop::collection::vec((value(), 1_u64..40), 1..200),
        uniform in any::<bool>(),
    ) {
        let mut id = 3;
        let entries: Vec<(u64, Entry)> = values
            .iter()
            .map(|(value, gap)| {
                id += gap;
                let value = if uniform { PropertyValue::Integer(*gap as i64) } else { value.clone() };
                (id, Entry::Value(value))
            })
            .collect();
        round_trip(&entries);
    }

    /// ST-COL-2: flipped and cut segments never panic.
    #[test]
    fn damaged_segments_never_panic(
        values in prop::collection::vec((value(), 1_u64..3), 1..60),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut id = 0;
        let entries: Vec<(u64, Entry)> = values
            .into_iter()
            .map(|(value, gap)| {
                id += gap;
                (id, Entry::Value(value))
            })
            .collect();
        let mut bytes = encode(&entries);
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        for damaged in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
            if let Ok(segment) = ColumnSegment::parse(damaged, 1) {
                for id in segment.ids().take(2000) {
                    let _ = (segment.get(id), segment.integer(id));
                }
            }
        }
    }
}
