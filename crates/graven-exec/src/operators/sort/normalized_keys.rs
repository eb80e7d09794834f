//! Sort keys as numbers: for each row as many leading bits of its keys as fit one word beside the
//! number of the row.
//!
//! # How it works
//! ```text
//! word: [ 1st key | 2nd key | first bits of the 3rd ... | row ]    keys minus the smallest of all, no wider than the widest needs
//! ```
//! A key becomes a number whose order is that of the values: integers with the sign turned round,
//! floats by their bits, ids as they are; of texts and of columns of several types the kind of
//! value and its first bytes. The words are sorted as numbers ([`super::radix_sort`]). The first
//! key of which something is left out is the last one in a word. Rows whose bits are equal lie side
//! by side then, and only these are put in order by what is left open ([`super::tie_break`]),
//! unless the word holds everything that the keys have.
//!
//! # Invariants
//! * EX-36 Of two rows the one with the smaller word comes first; with equal bits of keys the
//!   values decide, then the order of the input.
//!
//! # Costs
//! Two passes over the keys, one pass over the words for each byte of key bits, two words a row.

use graven_cypher::plan::SortOrder;

use super::KeyColumns;
use super::radix_sort::sort_words;
use crate::batch::Batch;
use crate::column::{Column, NULL_ID};
use crate::threads::{cut, on_threads};
use crate::value::Value;
use crate::value::order::type_rank;

/// What all parts of a key are made of, and so how its numbers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Nodes,
    Relationships,
    Integers,
    Floats,
    Booleans,
    /// Anything: four bits of kind, then what the value begins with.
    Mixed,
}

impl Form {
    fn of(column: &Column) -> Self {
        match column {
            Column::Nodes(_) => Self::Nodes,
            Column::Relationships(_) => Self::Relationships,
            Column::Integers(_) | Column::Constant(Value::Integer(_), _) => Self::Integers,
            Column::Floats(_) | Column::Constant(Value::Float(_), _) => Self::Floats,
            Column::Booleans(_) | Column::Constant(Value::Boolean(_), _) => Self::Booleans,
            _ => Self::Mixed,
        }
    }

    /// That of a key over all batches.
    fn of_all(slot: usize, batches: &[Batch]) -> Self {
        let forms = batches.iter().map(|batch| Self::of(batch.column(slot)));
        let form = forms.reduce(|all, own| if all == own { all } else { Self::Mixed });
        form.unwrap_or(Self::Mixed)
    }

    /// Whether equal numbers mean equal values.
    pub(super) fn is_exact(self) -> bool {
        self != Self::Mixed
    }

    /// The number of one row, of a form that is exact.
    pub(super) fn number(self, column: &Column, row: usize) -> u64 {
        match column {
            Column::Nodes(ids) | Column::Relationships(ids) => ids[row],
            Column::Integers(v) => integer(v[row]),
            Column::Floats(v) => float(v[row]),
            Column::Booleans(v) => u64::from(v[row]),
            Column::Constant(..) => {
                let mut number = 0;
                self.numbers(&column.slice(row, row + 1), |it| number = it);
                number
            }
            Column::Values(_) => unreachable!("of another form"),
        }
    }

    /// Hands the number of each row to `take`.
    fn numbers(self, column: &Column, mut take: impl FnMut(u64)) {
        match (self, column) {
            (Self::Mixed, column) => {
                (0..column.len()).for_each(|row| take(mixed(&column.get(row))));
            }
            // Null, the largest id, comes last.
            (_, Column::Nodes(ids) | Column::Relationships(ids)) => {
                ids.iter().for_each(|id| take(*id));
            }
            (_, Column::Integers(v)) => v.iter().for_each(|i| take(integer(*i))),
            (_, Column::Floats(v)) => v.iter().for_each(|f| take(float(*f))),
            (_, Column::Booleans(v)) => v.iter().for_each(|b| take(u64::from(*b))),
            (_, Column::Constant(value, rows)) => {
                let number = match value {
                    Value::Integer(i) => integer(*i),
                    Value::Float(f) => float(*f),
                    Value::Boolean(b) => u64::from(*b),
                    _ => unreachable!("of another form"),
                };
                (0..*rows).for_each(|_| take(number));
            }
            (_, Column::Values(_)) => unreachable!("of another form"),
        }
    }
}

const SIGN: u64 = 1 << 63;

fn integer(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

/// NaN is the largest number, and both zeros are one.
fn float(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// Kind and beginning of a value.
fn mixed(value: &Value) -> u64 {
    const KIND_BITS: u32 = 4;
    let beginning = match value {
        Value::Null => 0,
        Value::Node(id) => id.0,
        Value::Relationship(id) => id.0,
        Value::Boolean(b) => u64::from(*b) << 63,
        // Integers and floats compare with each other.
        #[expect(
            clippy::cast_precision_loss,
            reason = "rounded, it never falls behind a smaller one"
        )]
        Value::Integer(i) => float(*i as f64),
        Value::Float(f) => float(*f),
        Value::String(text) => first_bytes(text.as_bytes()),
        Value::Bytes(bytes) => first_bytes(bytes),
        // Only compared.
        _ => 0,
    };
    u64::from(type_rank(value)) << (64 - KIND_BITS) | beginning >> KIND_BITS
}

fn first_bytes(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

/// One key over all batches.
struct Key {
    slot: usize,
    form: Form,
    /// All bits set where the order is descending.
    turned: u64,
    low: u64,
    /// Bits that the largest number above `low` needs.
    bits: u32,
}

impl Key {
    fn new(slot: usize, direction: SortOrder, batches: &[Batch], threads: usize) -> Self {
        let form = Form::of_all(slot, batches);
        let turned = match direction {
            SortOrder::Ascending => 0,
            SortOrder::Descending => u64::MAX,
        };
        let bounds = on_threads(cut(batches, threads), |batches| {
            let (mut low, mut high) = (u64::MAX, 0);
            for batch in batches {
                form.numbers(batch.column(slot), |number| {
                    let number = number ^ turned;
                    low = low.min(number);
                    high = high.max(number);
                });
            }
            (low, high)
        });
        let high = bounds.iter().map(|(_, high)| *high).max().unwrap_or(0);
        let low = bounds
            .iter()
            .map(|(low, _)| *low)
            .min()
            .unwrap_or(0)
            .min(high);
        Self {
            slot,
            form,
            turned,
            low,
            bits: 64 - (high - low).leading_zeros(),
        }
    }
}

impl Key {
    /// Puts the first `taken` bits of the key into the words of the rows, from bit `shift` on.
    fn fill(&self, batches: &[Batch], words: &mut [u64], taken: u32, shift: u32) {
        let mut words = words.iter_mut();
        for batch in batches {
            self.form.numbers(batch.column(self.slot), |number| {
                let above = (number ^ self.turned) - self.low;
                let bits = above >> (self.bits - taken);
                if let Some(word) = words.next() {
                    *word |= bits << shift;
                }
            });
        }
    }
}

/// A key that words hold with all there is to it.
pub(super) struct Written {
    pub(super) slot: usize,
    form: Form,
    turned: u64,
    low: u64,
    /// Its lowest bit in a word, and how many it has.
    shift: u32,
    bits: u32,
}

impl Written {
    /// The values of the key, read from words. Not of floats: both zeros are the same number.
    pub(super) fn column(&self, words: &[u64]) -> Option<Column> {
        let mask = u64::MAX.checked_shr(64 - self.bits).unwrap_or(0);
        let above = |word: &u64| word.checked_shr(self.shift).unwrap_or(0) & mask;
        let numbers = words
            .iter()
            .map(|word| (above(word) + self.low) ^ self.turned);
        match self.form {
            Form::Nodes => Some(Column::Nodes(numbers.collect())),
            Form::Relationships => Some(Column::Relationships(numbers.collect())),
            Form::Integers => {
                let numbers = numbers.map(|number| (number ^ SIGN).cast_signed());
                Some(Column::Integers(numbers.collect()))
            }
            Form::Floats | Form::Booleans | Form::Mixed => None,
        }
    }
}

/// Rows of some batches in the order of their keys.
pub(super) struct Order {
    /// The row of each word, in its lower bits.
    pub(super) words: Vec<u64>,
    places: Places,
    /// Bits of keys in a word.
    key_bits: u32,
    /// The keys that are in the words.
    pub(super) written: Vec<Written>,
    /// Forms of the keys that are not in the words, or not with all there is to them: of rows with
    /// equal bits they decide.
    pub(super) open: Vec<Form>,
}

/// Numbers of a key, with the words of their rows.
pub(super) type Numbered = Vec<(u64, u64)>;

/// How a word names a row: its batch, then its row within it.
#[derive(Clone, Copy)]
pub(super) struct Places {
    row_bits: u32,
    /// Bits of batch and row together.
    bits: u32,
}

fn bits_for(numbers: usize) -> u32 {
    usize::BITS - numbers.saturating_sub(1).leading_zeros()
}

impl Places {
    fn new(batches: &[Batch]) -> Self {
        let longest = batches.iter().map(Batch::len).max().unwrap_or(0);
        let row_bits = bits_for(longest);
        let bits = row_bits + bits_for(batches.len());
        assert!(bits < 64, "EX-36: {} batches", batches.len());
        Self { row_bits, bits }
    }

    /// Batch and row of a word.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "fewer than 2^32 batches, and rows of each"
    )]
    pub(super) fn of(self, word: u64) -> (u32, u32) {
        let row = word & ((1 << self.row_bits) - 1);
        let batch = (word & ((1 << self.bits) - 1)) >> self.row_bits;
        (batch as u32, row as u32)
    }
}

impl Order {
    /// The rows of `batches` by the leading bits of their keys.
    pub(super) fn new(batches: &[Batch], keys: &KeyColumns, threads: usize) -> Self {
        let places = Places::new(batches);
        let rows = batches.iter().map(Batch::len).sum();
        let mut words = row_words(batches, rows, places, threads);
        let mut left = 64 - places.bits;
        let mut written = Vec::with_capacity(keys.len());
        for (slot, direction) in keys {
            let key = Key::new(*slot, *direction, batches, threads);
            let taken = key.bits.min(left);
            let is_exact = key.form.is_exact() && taken == key.bits;
            if taken > 0 {
                left -= taken;
                let shift = left + places.bits;
                on_threads(
                    parts_of(&mut words, batches, threads),
                    |(batches, words)| {
                        key.fill(batches, words, taken, shift);
                    },
                );
            }
            // What one key leaves open is decided before the next one counts.
            if !is_exact {
                break;
            }
            written.push(Written {
                slot: key.slot,
                form: key.form,
                turned: key.turned,
                low: key.low,
                shift: left + places.bits,
                bits: taken,
            });
        }
        let open = keys[written.len()..].iter();
        let open = open.map(|(slot, _)| Form::of_all(*slot, batches));
        let key_bits = 64 - places.bits - left;
        // Key bits that are not used lie between row and keys.
        sort_words(&mut words, places.bits + left, key_bits, threads);
        Self {
            words,
            places,
            key_bits,
            written,
            open: open.collect(),
        }
    }

    /// How the words name rows.
    pub(super) fn places(&self) -> Places {
        self.places
    }

    /// Hands out the words of rows whose bits of keys are equal, where there are several, on so
    /// many threads.
    pub(super) fn for_each_tie(
        &mut self,
        threads: usize,
        take: impl Fn(&mut [u64], &mut Numbered) + Sync,
    ) {
        let (key_bits, shift) = (self.key_bits, 64 - self.key_bits);
        let same = |a: &u64, b: &u64| key_bits == 0 || a >> shift == b >> shift;
        let length = self.words.len().div_ceil(threads.max(1)).max(1);
        let mut parts = Vec::with_capacity(threads);
        let mut left = self.words.as_mut_slice();
        while !left.is_empty() {
            // What is equal stays together.
            let mut end = length.min(left.len());
            while end < left.len() && same(&left[end - 1], &left[end]) {
                end += 1;
            }
            let part;
            (part, left) = left.split_at_mut(end);
            parts.push(part);
        }
        on_threads(parts, |words| {
            let tied = words.chunk_by_mut(same);
            let mut scratch = Numbered::new();
            tied.filter(|tied| tied.len() > 1)
                .for_each(|tied| take(tied, &mut scratch));
        });
    }
}

/// Consecutive batches for each thread, and the words of their rows.
fn parts_of<'a>(
    words: &'a mut [u64],
    batches: &'a [Batch],
    threads: usize,
) -> Vec<(&'a [Batch], &'a mut [u64])> {
    let mut left = words;
    let parts = cut(batches, threads).into_iter().map(|batches| {
        let rows = batches.iter().map(Batch::len).sum();
        let own;
        (own, left) = std::mem::take(&mut left).split_at_mut(rows);
        (batches, own)
    });
    parts.collect()
}

/// A word for each row, which names it and says nothing of its keys yet.
fn row_words(batches: &[Batch], rows: usize, places: Places, threads: usize) -> Vec<u64> {
    // Memory that is written by the thread that gets it from the system first.
    let mut words = vec![0; rows];
    let mut before = 0;
    let parts = parts_of(&mut words, batches, threads).into_iter();
    let parts = parts.map(|(batches, words)| {
        let first = before;
        before += batches.len() as u64;
        (first, batches, words)
    });
    on_threads(parts.collect(), |(first, batches, words)| {
        let mut words = words.iter_mut();
        for (batch, rows) in (first..).zip(batches) {
            let first = batch << places.row_bits;
            for (row, word) in (first..first + rows.len() as u64).zip(words.by_ref()) {
                *word = row;
            }
        }
    });
    words
}

const _: () = assert!(NULL_ID == u64::MAX, "null comes last as the largest id");

#[cfg(test)]
mod tests {
    //! Numbers of values are ordered as the values are.

    use std::cmp::Ordering;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::value::order::total_order;
    use graven_storage::NodeId;

    #[test]
    fn numbers_are_ordered_as_values() {
        let values = [
            Value::Null,
            Value::Boolean(false),
            Value::Boolean(true),
            Value::Integer(i64::MIN),
            Value::Integer(-1),
            Value::Integer(0),
            Value::Integer(1),
            Value::Integer((1 << 53) + 1),
            Value::Integer(i64::MAX - 1),
            Value::Integer(i64::MAX),
            Value::Float(f64::NEG_INFINITY),
            Value::Float(-1.5),
            Value::Float(-0.0),
            Value::Float(0.0),
            Value::Float(1e-300),
            Value::Float(9_007_199_254_740_992.0),
            Value::Float(9.3e18),
            Value::Float(f64::INFINITY),
            Value::Float(f64::NAN),
            Value::text(""),
            Value::text("a"),
            Value::text("a\0"),
            Value::text("abcdefgh"),
            Value::text("abcdefghi"),
            Value::text("caf\u{e9}"),
            Value::Node(NodeId(0)),
            Value::Node(NodeId(1 << 40)),
            Value::list(vec![Value::Integer(1)]),
            Value::list(vec![]),
            Value::map(vec![]),
        ];
        for a in &values {
            for b in &values {
                let order = total_order(a, b);
                if mixed(a) < mixed(b) {
                    assert_eq!(order, Ordering::Less, "{a} {b}");
                }
                match (a, b) {
                    (Value::Integer(x), Value::Integer(y)) => {
                        assert_eq!(integer(*x).cmp(&integer(*y)), order);
                    }
                    (Value::Float(x), Value::Float(y)) => {
                        assert_eq!(float(*x).cmp(&float(*y)), order, "{a} {b}");
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn a_key_that_is_left_open_hides_the_next_one() {
        let list = |i: i64| Value::list(vec![Value::Integer(i)]);
        let lists = Column::Values(vec![list(3), list(1)]);
        let columns = vec![Arc::new(lists), Arc::new(Column::Integers(vec![1, 2]))];
        let batch = Batch::new(columns, 2);
        let keys = vec![(0, SortOrder::Ascending), (1, SortOrder::Ascending)];
        let mut order = Order::new(&[batch], &keys, 1);
        assert_eq!(order.open, [Form::Mixed, Form::Integers]);
        let tied = AtomicUsize::new(0);
        for threads in [1, 2] {
            order.for_each_tie(threads, |words, _| {
                tied.fetch_add(words.len(), Relaxed);
            });
        }
        assert_eq!(tied.into_inner(), 4, "the lists decide, not the integers");
    }
}
