//! Vectors: numbers of one type, one after the other.
//!
//! # Invariants
//! * A vector has 1 to [`DIMENSION_MAX`] coordinates, and all of them are finite: vectors that
//!   equal each other have one order and one hash.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Most coordinates of a vector.
pub const DIMENSION_MAX: usize = 4096;

/// Type of the coordinates of a vector, in the order in which vectors are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CoordinateType {
    /// 8-bit signed integers.
    Integer8 = 1,
    /// 16-bit signed integers.
    Integer16 = 2,
    /// 32-bit signed integers.
    Integer32 = 3,
    /// 64-bit signed integers.
    Integer64 = 4,
    /// 32-bit floats.
    Float32 = 5,
    /// 64-bit floats.
    Float64 = 6,
}

use CoordinateType::{Float32, Float64, Integer8, Integer16, Integer32, Integer64};

/// Names of coordinate types.
const NAMES: &[(&str, CoordinateType)] = &[
    ("INTEGER8", Integer8),
    ("INT8", Integer8),
    ("INTEGER16", Integer16),
    ("INT16", Integer16),
    ("INTEGER32", Integer32),
    ("INT32", Integer32),
    ("INTEGER", Integer64),
    ("INT", Integer64),
    ("INTEGER64", Integer64),
    ("INT64", Integer64),
    ("SIGNED INTEGER", Integer64),
    ("FLOAT32", Float32),
    ("FLOAT", Float64),
    ("FLOAT64", Float64),
];

impl CoordinateType {
    /// The type of that name, in any letter case.
    #[must_use]
    pub fn parse(name: &str) -> Option<CoordinateType> {
        let known = NAMES.iter();
        let mut known = known.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        known.next().map(|(_, of)| *of)
    }

    /// The name it is written with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Integer8 => "INTEGER8",
            Integer16 => "INTEGER16",
            Integer32 => "INTEGER32",
            Integer64 => "INTEGER",
            Float32 => "FLOAT32",
            Float64 => "FLOAT",
        }
    }

    /// Number of the type in files.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The type of that number.
    #[must_use]
    pub fn of_code(code: u8) -> Option<CoordinateType> {
        let mut types = NAMES.iter().map(|(_, of)| *of);
        types.find(|of| of.code() == code)
    }

    /// Bytes of a coordinate.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Integer8 => 1,
            Integer16 => 2,
            Integer32 | Float32 => 4,
            Integer64 | Float64 => 8,
        }
    }

    /// Whether coordinates are floats.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Float32 | Float64)
    }
}

impl fmt::Display for CoordinateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type of vectors: of any or one type of coordinates, of any or one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorType {
    /// Type of the coordinates.
    pub of: Option<CoordinateType>,
    /// How many there are.
    pub dimension: Option<usize>,
}

impl VectorType {
    /// Reads the type at the beginning of the text, `VECTOR<FLOAT32>(3)` with each part behind the
    /// name or without, and leaves what follows.
    pub fn take(text: &mut &str) -> Option<VectorType> {
        const NAME: &str = "VECTOR";
        let name = text.get(..NAME.len())?;
        if !name.eq_ignore_ascii_case(NAME) || text[NAME.len()..].starts_with(char::is_alphabetic) {
            return None;
        }
        let (mut of, mut dimension) = (None, None);
        let mut rest = &text[NAME.len()..];
        if let Some(inside) = rest.trim_start().strip_prefix('<') {
            let (name, behind) = inside.split_once('>')?;
            let name = name.trim();
            // No vector holds null.
            let bare = name.len().checked_sub("NOT NULL".len());
            let bare = bare.and_then(|at| name.split_at_checked(at));
            let bare = bare.filter(|(_, end)| end.eq_ignore_ascii_case("NOT NULL"));
            of = Some(CoordinateType::parse(
                bare.map_or(name, |it| it.0.trim_end()),
            )?);
            rest = behind;
        }
        if let Some(inside) = rest.trim_start().strip_prefix('(') {
            let (digits, behind) = inside.split_once(')')?;
            let found = digits.trim().parse().ok();
            dimension = Some(found.filter(|found| (1..=DIMENSION_MAX).contains(found))?);
            rest = behind;
        }
        *text = rest;
        Some(VectorType { of, dimension })
    }

    /// The type of that name and no more.
    #[must_use]
    pub fn parse(mut text: &str) -> Option<VectorType> {
        let found = VectorType::take(&mut text)?;
        text.trim().is_empty().then_some(found)
    }

    /// Whether the vector is of the type.
    #[must_use]
    pub fn holds(&self, vector: &Vector) -> bool {
        self.of.is_none_or(|of| of == vector.of())
            && (self.dimension).is_none_or(|dimension| dimension == vector.dimension())
    }
}

impl fmt::Display for VectorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VECTOR")?;
        if let Some(of) = self.of {
            write!(f, "<{of}>")?;
        }
        match self.dimension {
            Some(dimension) => write!(f, "({dimension})"),
            None => Ok(()),
        }
    }
}

/// A coordinate, as the language sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of a vector of integers.
    Integer(i64),
    /// Of a vector of floats.
    Float(f64),
}

impl Number {
    /// The number as a float.
    #[must_use]
    pub fn as_float(self) -> f64 {
        match self {
            Number::Integer(integer) => integer as f64,
            Number::Float(float) => float,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(integer) => integer.fmt(f),
            Number::Float(float) => write!(f, "{float:?}"),
        }
    }
}

/// Why numbers make no vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VectorFault {
    /// So many coordinates are none or too many.
    Dimension(usize),
    /// The coordinate type does not hold the number.
    OutOfRange(Number, CoordinateType),
    /// The number is infinite or none.
    NotFinite(f64),
}

impl fmt::Display for VectorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VectorFault::Dimension(found) => {
                write!(
                    f,
                    "a vector has 1 to {DIMENSION_MAX} coordinates, not {found}"
                )
            }
            VectorFault::OutOfRange(number, of) => {
                write!(f, "the coordinate {number} is out of the range of {of}")
            }
            VectorFault::NotFinite(number) => {
                write!(f, "the coordinate {number:?} is no finite number")
            }
        }
    }
}

impl std::error::Error for VectorFault {}

/// A vector; its coordinates are shared.
#[derive(Clone, Debug)]
pub struct Vector {
    of: CoordinateType,
    /// The coordinates, little-endian.
    bytes: Arc<[u8]>,
}

impl Vector {
    /// The vector of these little-endian coordinates; none where they are none, too many, cut off
    /// or not finite.
    #[must_use]
    pub fn from_bytes(of: CoordinateType, bytes: Arc<[u8]>) -> Option<Vector> {
        let dimension = bytes.len() / of.width();
        let whole = bytes.len().is_multiple_of(of.width());
        let vector = Vector { of, bytes };
        let fits = whole && (1..=DIMENSION_MAX).contains(&dimension);
        let finite = !of.is_float() || vector.floats().all(f64::is_finite);
        (fits && finite).then_some(vector)
    }

    /// The vector of these numbers as coordinates of that type: floats lose their fraction in a
    /// vector of integers, and digits that a float of 32 bits does not have.
    ///
    /// # Errors
    /// Too few or too many numbers, or one that the type does not hold.
    pub fn new(
        of: CoordinateType,
        numbers: impl IntoIterator<Item = Number>,
    ) -> Result<Vector, VectorFault> {
        let mut bytes = Vec::new();
        for number in numbers {
            if bytes.len() == DIMENSION_MAX * of.width() {
                return Err(VectorFault::Dimension(DIMENSION_MAX + 1));
            }
            put(&mut bytes, of, number)?;
        }
        if bytes.is_empty() {
            return Err(VectorFault::Dimension(0));
        }
        let bytes = bytes.into();
        Ok(Vector { of, bytes })
    }

    /// Type of the coordinates.
    #[must_use]
    pub const fn of(&self) -> CoordinateType {
        self.of
    }

    /// How many coordinates it has.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.bytes.len() / self.of.width()
    }

    /// The coordinates, little-endian.
    #[must_use]
    pub const fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// The coordinates.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = Number> {
        let of = self.of;
        let coordinates = self.bytes.chunks_exact(of.width());
        coordinates.map(move |bytes| number(of, bytes))
    }

    /// The coordinates as floats.
    pub fn floats(&self) -> impl ExactSizeIterator<Item = f64> {
        self.numbers().map(Number::as_float)
    }

    /// The type of this vector and of no other dimension.
    #[must_use]
    pub fn vector_type(&self) -> VectorType {
        VectorType {
            of: Some(self.of),
            dimension: Some(self.dimension()),
        }
    }

    /// The type as the language writes it, with `NOT NULL` inside.
    #[must_use]
    pub fn type_text(&self) -> String {
        format!("VECTOR<{} NOT NULL>({})", self.of, self.dimension())
    }

    /// Appends the coordinates as digits: `[1.0, 0.1]`. Those of 32-bit floats are the fewest that
    /// lead back to the same float, by way of a float of 64 bits.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_numbers(&self, out: &mut impl fmt::Write) -> fmt::Result {
        out.write_char('[')?;
        for (at, number) in self.numbers().enumerate() {
            if at > 0 {
                out.write_str(", ")?;
            }
            match number {
                Number::Float(wide) if self.of == Float32 => {
                    let short = format!("{:?}", wide as f32);
                    let back = short.parse::<f64>().map(|back| f64::from(back as f32));
                    match back == Ok(wide) {
                        true => out.write_str(&short)?,
                        false => write!(out, "{number}")?,
                    }
                }
                number => write!(out, "{number}")?,
            }
        }
        out.write_char(']')
    }
}

fn number(of: CoordinateType, bytes: &[u8]) -> Number {
    fn part<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().expect("a coordinate has its width")
    }
    match of {
        Integer8 => Number::Integer(i8::from_le_bytes(part(bytes)).into()),
        Integer16 => Number::Integer(i16::from_le_bytes(part(bytes)).into()),
        Integer32 => Number::Integer(i32::from_le_bytes(part(bytes)).into()),
        Integer64 => Number::Integer(i64::from_le_bytes(part(bytes))),
        Float32 => Number::Float(f32::from_le_bytes(part(bytes)).into()),
        Float64 => Number::Float(f64::from_le_bytes(part(bytes))),
    }
}

/// Appends a number as a coordinate of that type.
fn put(out: &mut Vec<u8>, of: CoordinateType, number: Number) -> Result<(), VectorFault> {
    /// The first float above every 64-bit integer.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if let Number::Float(float) = number
        && !float.is_finite()
    {
        return Err(VectorFault::NotFinite(float));
    }
    let beyond = || VectorFault::OutOfRange(number, of);
    if of.is_float() {
        let wide = number.as_float();
        if of == Float64 {
            out.extend_from_slice(&wide.to_le_bytes());
            return Ok(());
        }
        let narrow = wide as f32;
        out.extend_from_slice(&narrow.to_le_bytes());
        return narrow.is_finite().then_some(()).ok_or_else(beyond);
    }
    let whole = match number {
        Number::Integer(integer) => integer,
        Number::Float(float) if (-BEYOND..BEYOND).contains(&float) => float as i64,
        Number::Float(_) => return Err(beyond()),
    };
    let narrow = 64 - 8 * of.width();
    if whole << narrow >> narrow != whole {
        return Err(beyond());
    }
    out.extend_from_slice(&whole.to_le_bytes()[..of.width()]);
    Ok(())
}

/// As a statement makes it: `vector([1.0, 2.0], 2, FLOAT32)`.
impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("vector(")?;
        self.write_numbers(f)?;
        write!(f, ", {}, {})", self.dimension(), self.of)
    }
}

impl PartialEq for Vector {
    fn eq(&self, other: &Vector) -> bool {
        if self.of != other.of || self.bytes.len() != other.bytes.len() {
            return false;
        }
        // Zeros of either sign are equal.
        self.bytes == other.bytes || self.of.is_float() && self.floats().eq(other.floats())
    }
}

impl Eq for Vector {}

impl PartialOrd for Vector {
    fn partial_cmp(&self, other: &Vector) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By type, then by dimension, then by coordinates.
impl Ord for Vector {
    fn cmp(&self, other: &Vector) -> Ordering {
        let form = |it: &Vector| (it.of, it.bytes.len());
        let compare = |(a, b): (Number, Number)| match (a, b) {
            (Number::Integer(a), Number::Integer(b)) => a.cmp(&b),
            (a, b) => (a.as_float() + 0.0).total_cmp(&(b.as_float() + 0.0)),
        };
        let pairs = || self.numbers().zip(other.numbers());
        form(self).cmp(&form(other)).then_with(|| {
            let first = pairs().map(compare).find(|order| order.is_ne());
            first.unwrap_or(Ordering::Equal)
        })
    }
}

impl Hash for Vector {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.of.hash(state);
        match self.of.is_float() {
            true => (self.floats()).for_each(|float| state.write_u64((float + 0.0).to_bits())),
            false => state.write(&self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::DefaultHasher;

    fn made(of: CoordinateType, floats: &[f64]) -> Vector {
        Vector::new(of, floats.iter().map(|x| Number::Float(*x))).unwrap()
    }

    /// Goal: each type holds its own range and no more, and gives the numbers back.
    #[test]
    fn types_hold_their_range() {
        for (of, low, high) in [
            (Integer8, -128, 127),
            (Integer16, -32_768, 32_767),
            (Integer32, -(1 << 31), (1 << 31) - 1),
            (Integer64, i64::MIN, i64::MAX),
        ] {
            let ends = [low, high].map(Number::Integer);
            let vector = Vector::new(of, ends).unwrap();
            assert_eq!(vector.numbers().collect::<Vec<_>>(), ends);
            assert_eq!(vector.dimension(), 2);
            assert_eq!(CoordinateType::of_code(of.code()), Some(of));
            for beyond in [low.checked_sub(1), high.checked_add(1)]
                .into_iter()
                .flatten()
            {
                let fault = VectorFault::OutOfRange(Number::Integer(beyond), of);
                assert_eq!(Vector::new(of, [Number::Integer(beyond)]), Err(fault));
            }
            assert!(Vector::new(of, [Number::Float(1e19)]).is_err());
            assert_eq!(
                made(of, &[-1.9]).numbers().next(),
                Some(Number::Integer(-1))
            );
        }
        assert!(Vector::new(Float32, [Number::Float(1e39)]).is_err());
        assert!(Vector::new(Float64, [Number::Float(f64::NAN)]).is_err());
        assert_eq!(Vector::new(Float64, []), Err(VectorFault::Dimension(0)));
        let many = |count| Vector::new(Integer8, (0..count).map(|_| Number::Integer(0)));
        assert!(many(DIMENSION_MAX).is_ok() && many(DIMENSION_MAX + 1).is_err());
    }

    /// Goal: equal vectors have one order and one hash, whatever the sign of a zero.
    #[test]
    fn zeros_of_either_sign_are_equal() {
        let hash = |vector: &Vector| {
            let mut state = DefaultHasher::new();
            vector.hash(&mut state);
            state.finish()
        };
        for of in [Float32, Float64] {
            let (a, b) = (made(of, &[0.0, 1.5]), made(of, &[-0.0, 1.5]));
            assert!(a == b && a.cmp(&b) == Ordering::Equal && hash(&a) == hash(&b));
            assert_ne!(a.bytes(), b.bytes());
            assert!(a < made(of, &[0.5, 1.5]) && a > made(of, &[9.0]));
        }
        assert!(made(Integer64, &[9.0]) < made(Float32, &[1.0]));
    }

    /// Goal: types are read with any of their parts, and nothing else is.
    #[test]
    fn types_are_read() {
        for (text, written) in [
            ("VECTOR", "VECTOR"),
            ("vector <float32 not null> ( 3 )", "VECTOR<FLOAT32>(3)"),
            ("VECTOR(4096)", "VECTOR(4096)"),
            ("VECTOR<SIGNED INTEGER>", "VECTOR<INTEGER>"),
        ] {
            let read = VectorType::parse(text).map(|it| it.to_string());
            assert_eq!(read.as_deref(), Some(written));
        }
        let wrong =
            "VECTORS VECTOR<> VECTOR<STRING> VECTOR(0) VECTOR(4097) VECTOR(x) VECTOR<INT VEC";
        assert!(
            wrong
                .split(' ')
                .all(|text| VectorType::parse(text).is_none())
        );
    }

    /// Goal: bytes that are no vector are refused, and texts lead back to the vector.
    #[test]
    fn bytes_and_texts_come_back() {
        let vector = made(Float32, &[0.1, -3.4e38, 1e-45]);
        assert_eq!(
            vector.to_string(),
            "vector([0.1, -3.4e38, 1e-45], 3, FLOAT32)"
        );
        assert_eq!(vector.type_text(), "VECTOR<FLOAT32 NOT NULL>(3)");
        let again = Vector::from_bytes(Float32, Arc::clone(vector.bytes()));
        assert_eq!(again, Some(vector));
        let read = |of, bytes: &[u8]| Vector::from_bytes(of, bytes.into());
        assert_eq!(read(Integer16, &[]), None);
        assert_eq!(read(Integer16, &[0; 3]), None);
        assert_eq!(read(Float64, &f64::INFINITY.to_le_bytes()), None);
        assert_eq!(read(Integer8, &[0; DIMENSION_MAX + 1]), None);
    }
}
