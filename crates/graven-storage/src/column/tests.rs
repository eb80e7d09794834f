//! Column segments against the values they were made of, for every type, presence and encoding;
//! damaged ones.

use super::segment::{Cell, ColumnSegment, SPAN_MAX, Stored, encode};
use crate::value::encode::tests::any_value;
use graven_types::PropertyValue;
use proptest::prelude::*;

fn cells(values: &[(u64, PropertyValue)]) -> Vec<(u64, Cell)> {
    values
        .iter()
        .map(|(id, value)| (*id, Cell::Value(value.clone())))
        .collect()
}

/// Encodes, reads every id back and returns the bytes.
fn round_trip(values: &[(u64, PropertyValue)]) -> Vec<u8> {
    let bytes = encode(&cells(values)).expect("no chains here");
    let segment = ColumnSegment::read(&bytes).unwrap();
    assert_eq!(segment.count(), values.len());
    assert!(segment.ids().eq(values.iter().map(|(id, _)| *id)));
    for (at, (id, value)) in values.iter().enumerate() {
        assert_eq!(segment.rank(*id), Some(at));
        assert_eq!(
            segment.value(at),
            Ok(Stored::Value(value.clone())),
            "id {id}"
        );
    }
    let texts = values.iter().map(|(_, value)| match value {
        PropertyValue::String(text) => Some(&**text),
        _ => None,
    });
    let texts: Option<Vec<&str>> = texts.collect();
    for wanted in ["", "a", "ab"]
        .into_iter()
        .chain(texts.iter().flatten().copied())
    {
        let ranks = wanted.len() % values.len()..values.len();
        let mut found = Vec::new();
        let looked = segment.find_texts(ranks.clone(), wanted, |rank, is| found.push((rank, is)));
        assert_eq!(looked, Ok(texts.is_some()));
        let expected = texts.iter().flat_map(|texts| {
            let ranks = ranks.clone().filter(|rank| texts[*rank] == wanted);
            ranks.map(|rank| (rank, true))
        });
        assert!(expected.eq(found), "{wanted}");
    }
    assert_eq!(segment.rank(segment.first().wrapping_sub(1)), None);
    assert_eq!(segment.rank(segment.end()), None);
    bytes
}

/// Ascending ids with gaps.
fn ids(gaps: &[u64]) -> Vec<u64> {
    let mut next = 1 << 33;
    gaps.iter()
        .map(|gap| {
            next += gap + 1;
            next
        })
        .collect()
}

fn typed() -> impl Strategy<Value = Vec<PropertyValue>> {
    let many = 1usize..400;
    prop_oneof![
        proptest::collection::vec((-3i64..4).prop_map(PropertyValue::Integer), many.clone()),
        proptest::collection::vec(any::<i64>().prop_map(PropertyValue::Integer), many.clone()),
        proptest::collection::vec(any::<i64>().prop_map(PropertyValue::Date), many.clone()),
        proptest::collection::vec(any::<bool>().prop_map(PropertyValue::Boolean), many.clone()),
        proptest::collection::vec((-1e9f64..1e9).prop_map(PropertyValue::Float), many.clone()),
        proptest::collection::vec(
            "[ab]{0,2}".prop_map(|text| PropertyValue::string(&text)),
            many.clone()
        ),
        proptest::collection::vec(
            "[a-z]{0,20}".prop_map(|text| PropertyValue::string(&text)),
            many.clone()
        ),
        proptest::collection::vec(
            any::<Vec<u8>>().prop_map(|bytes| PropertyValue::Bytes(bytes.into())),
            1..60
        ),
        proptest::collection::vec(any_value(), 1..60),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Goal: dense, half-empty and sparse segments of every type come back.
    #[test]
    fn values_come_back(values in typed(), spread in 0u64..40, seed: u64) {
        let gaps: Vec<u64> = (0..values.len() as u64).map(|at| (at ^ seed).wrapping_mul(7919) % (spread + 1)).collect();
        let values: Vec<_> = ids(&gaps).into_iter().zip(values).collect();
        round_trip(&values);
    }

    /// Goal (ST-9): a changed byte anywhere gives an error or some value, never a panic.
    #[test]
    fn damaged_segments_do_not_panic(values in typed(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let values: Vec<_> = ids(&vec![1; values.len()]).into_iter().zip(values).collect();
        let mut bytes = encode(&cells(&values)).expect("no chains here");
        let position = at.index(bytes.len());
        bytes[position] = byte;
        for bytes in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
            if let Ok(segment) = ColumnSegment::read(bytes) {
                for id in segment.ids().take(500) {
                    if let Some(rank) = segment.rank(id) {
                        let _ = segment.value(rank);
                        let _ = segment.find_texts(rank..segment.count(), "a", |_, _| ());
                        if segment.is_integer() {
                            let _ = segment.integer(rank);
                        }
                    }
                }
            }
        }
    }
}

/// Goal: sizes follow the data. Few distinct texts take bits, close integers take their width.
#[test]
fn encodings_are_compact() {
    let gender = |id: u64| {
        PropertyValue::string(if id.is_multiple_of(3) {
            "female"
        } else {
            "male"
        })
    };
    let texts: Vec<_> = (0..8000).map(|id| (id, gender(id))).collect();
    assert!(round_trip(&texts).len() < 1100, "one bit each");
    let dates: Vec<_> = (0..8000)
        .map(|id| {
            (
                id,
                PropertyValue::Integer(1_266_161_530_447 + id as i64 * 60),
            )
        })
        .collect();
    assert!(
        round_trip(&dates).len() < 8000 * 2,
        "13 bits each and block heads"
    );
    let sparse: Vec<_> = (0..SPAN_MAX)
        .step_by(1000)
        .map(|id| (id, PropertyValue::Boolean(true)))
        .collect();
    assert!(round_trip(&sparse).len() < 250, "2 bytes each");
}
