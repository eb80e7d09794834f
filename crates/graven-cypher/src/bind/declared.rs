//! Declared types: what tables and casts say about the values of expressions.
//!
//! # How it works
//! A variable that a pattern names by the label or the type of a table has the columns of that
//! table as its properties. What is a column, a cast, a field of a `STRUCT`, or is made of such
//! values without a change of their type, has a declared type: its text, as it was written. A value
//! of a declared type is stored in the form that `docs/guide/from-kuzu.md` lists, so the types are
//! a help for programs that take results, not a promise of the executor. `map(keys, values)` makes
//! texts of its keys; its declared type tells what they were.
//!
//! # Invariants
//! * CY-70 A declared type refuses no statement and changes no value, but for `.field` behind a
//!   column of type `STRUCT`, for functions of maps given one of type `STRUCT` or `MAP`, and for
//!   those of unions: its text is read, which was an error otherwise. Operators take the texts of
//!   whole numbers beyond 64 bits and of JSON for what they stand for, and those of structs and
//!   maps in comparisons with maps. A literal text beside a value of another declared type in a
//!   comparison is read as one of that type. Two numbers of narrow types or decimals give a value
//!   of such a type or an error. Places in texts, and other values as texts, are an error
//!   otherwise.

use std::sync::Arc;

use super::json::{GIVING, JSON};
use super::made::{Typed, call};
use super::wide::widest;
use super::{Binder, Result};
use crate::ast::{self, ExprKind};
use crate::diagnostic::Code;
use crate::functions::UNION_OF;
use crate::plan::VarId;
use crate::plan::expression::{BinaryOp, Expr, Literal, UnaryOp};
use crate::types::{Type, TypeSet};
use graven_types::type_text;

/// Calls whose value is one of their arguments, or of the elements of the first one.
const PASSING: &[&str] = &[
    "min",
    "max",
    "graven.beside",
    "graven.slice",
    "graven.sort",
    "reverse",
    "tail",
];
/// Calls that give an element of a list.
const ELEMENT: &[&str] = &["head", "last", "graven.element"];

/// Other names of types, and the ones that Kuzu shows.
const ALIASES: &[(&str, &str)] = &[
    ("BIGINT", "INT64"),
    ("BOOLEAN", "BOOL"),
    ("BYTEA", "BLOB"),
    ("DEC", "DECIMAL(18, 3)"),
    ("DECIMAL", "DECIMAL(18, 3)"),
    ("DURATION", "INTERVAL"),
    ("FLOAT4", "FLOAT"),
    ("FLOAT8", "DOUBLE"),
    ("HUGEINT", "INT128"),
    ("INT", "INT64"),
    ("INTEGER", "INT64"),
    ("JSON", "json"),
    ("NUMERIC", "DECIMAL(18, 3)"),
    ("REAL", "FLOAT"),
    ("SMALLINT", "INT16"),
    ("TEXT", "STRING"),
    ("TIMESTAMP_S", "TIMESTAMP_SEC"),
    ("VARCHAR", "STRING"),
];

impl Binder<'_> {
    /// A pattern names the variable by these labels or types.
    pub(super) fn named_by(&mut self, var: VarId, names: &[Arc<str>]) {
        if let [name] = names {
            self.tables.entry(var).or_insert_with(|| name.clone());
        }
    }

    /// The value of the expression becomes that of the variable.
    pub(super) fn declares(&mut self, var: VarId, of: &ast::Expr) {
        if let Some(declared) = self.declared_type(of) {
            self.declared.insert(var, declared);
        }
    }

    /// The declared type of an expression in the current scope; none if it has none.
    pub(super) fn declared_type(&self, of: &ast::Expr) -> Option<Arc<str>> {
        match &of.kind {
            ExprKind::Variable(name) => {
                let entry = self.scope.find(&name.text)?;
                self.declared.get(&entry.var).cloned()
            }
            ExprKind::Parameter(name) => Some(format!("${}", name.text).into()),
            ExprKind::Property { base, key } => {
                if let ExprKind::Variable(name) = &base.kind {
                    let var = self.scope.find(&name.text)?.var;
                    if let Some(table) = self.tables.get(&var) {
                        let table = self.schema.table(table)?;
                        let column = table.column(&key.text);
                        return column.map(|column| column.of.clone());
                    }
                }
                field(&self.declared_type(base)?, &key.text)
            }
            ExprKind::Index { base, .. } => {
                let whole = self.declared_type(base)?;
                element(&whole).or_else(|| is_text(&whole).then_some(whole))
            }
            ExprKind::Slice { base, .. } => self.declared_type(base),
            ExprKind::List(items) => Some(format!("{}[]", self.common(items.iter())?).into()),
            ExprKind::Case {
                branches,
                otherwise,
                ..
            } => {
                let results = branches.iter().map(|(_, result)| result);
                self.common(results.chain(otherwise.as_deref()))
            }
            ExprKind::Unary {
                op: UnaryOp::Minus,
                operand,
            } => self.declared_of_one("-", operand),
            ExprKind::Binary { op, left, right } => self.declared_result(*op, left, right),
            ExprKind::Call { name, args, .. } => {
                let is = |known: &&str| known.eq_ignore_ascii_case(&name.text);
                let first = || args.first().and_then(|arg| self.declared_type(arg));
                match (&args[..], &*name.text.to_ascii_lowercase()) {
                    ([_, wanted], "cast") => match &wanted.kind {
                        ExprKind::String(text) => Some(self.meant(text)),
                        _ => None,
                    },
                    ([keys, values], "apoc.map.fromlists") => {
                        let ExprKind::ListComprehension { list, .. } = &keys.kind else {
                            return None;
                        };
                        let of = |list| self.declared_element(list).or_else(|| of_literals(list));
                        let value = of(values).unwrap_or_else(|| "ANY".into());
                        Some(format!("MAP({}, {value})", of(list)?).into())
                    }
                    ([], "randomuuid") => Some("UUID".into()),
                    ([_, path], "graven.json.extract") => {
                        let lists = match path.kind {
                            ExprKind::List(_) => "[]",
                            _ => "",
                        };
                        Some(format!("{JSON}{lists}").into())
                    }
                    (_, json) if GIVING.contains(&json) => Some(JSON.into()),
                    (_, "graven.json.keys") => Some("STRING[]".into()),
                    ([of], one @ ("abs" | "sum" | "floor" | "ceil")) => {
                        self.declared_of_one(one, of)
                    }
                    (any, "coalesce") => self.common(any.iter()),
                    ([_], "collect") => Some(format!("{}[]", first()?).into()),
                    _ if PASSING.iter().any(is) => first(),
                    _ if ELEMENT.iter().any(is) => element(&first()?),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The declared type of the argument of `typeof`, as Kuzu writes it; none if only its value
    /// tells the type. It is bound for its errors.
    pub(super) fn type_of(&mut self, of: &ast::Expr) -> Result<Option<Arc<str>>> {
        let declared = self.declared_type(of);
        let Some(text) = declared.filter(|text| !text.starts_with('$')) else {
            return Ok(None);
        };
        self.expression(of)?;
        Ok(Some(type_shown(&text).into()))
    }

    /// The declared type that all expressions have, those aside that are null; `INT128` of whole
    /// numbers of which some have more than 64 bits.
    fn common<'e>(&self, all: impl Iterator<Item = &'e ast::Expr>) -> Option<Arc<str>> {
        let mut found = Vec::new();
        let mut numbers = 0;
        for it in all.filter(|it| it.kind != ExprKind::Null) {
            match it.kind {
                ExprKind::Integer(_) => numbers += 1,
                _ => found.push(self.declared_type(it)),
            }
        }
        let same = shared(found.iter().cloned()).filter(|_| numbers == 0);
        same.or_else(|| widest(&found))
    }

    /// The column becomes that of all these.
    pub(super) fn declares_union(&mut self, var: VarId, all: impl Iterator<Item = VarId>) {
        let declared = shared(all.map(|of| self.declared.get(&of).cloned()));
        self.declared.extend(declared.map(|of| (var, of)));
    }

    /// That of the elements of a list.
    pub(super) fn declared_element(&self, list: &ast::Expr) -> Option<Arc<str>> {
        element(&self.declared_type(list)?)
    }

    /// Declared types of the columns of a result.
    pub(super) fn declared_columns(&self, columns: &[(Arc<str>, VarId)]) -> Vec<Option<Arc<str>>> {
        let columns = columns.iter();
        let declared = columns.map(|(_, var)| self.declared.get(var).cloned());
        declared.collect()
    }

    /// The map that the text of a column holds; none if the expression has no such type.
    pub(super) fn opened(&mut self, column: &ast::Expr) -> Result<Option<Typed>> {
        let declared = self.declared_type(column);
        let Some(of) = declared.and_then(|declared| of_map(&declared)) else {
            return Ok(None);
        };
        let (bound, ty) = self.expression(column)?;
        if !ty.set.may_be(TypeSet::STRING) {
            return Ok(Some((bound, ty)));
        }
        let of = Expr::Literal(Literal::String(of));
        Ok(Some((
            call("cast", vec![bound, of]),
            Type::of(TypeSet::MAP),
        )))
    }

    /// The name of the member that the value of a column of type `UNION` is, or the value of the
    /// member that the second argument names.
    pub(super) fn union_of(&mut self, at: &ast::Name, args: &[ast::Expr]) -> Result<Typed> {
        let column = &args[0];
        let declared = self.declared_type(column);
        let is_union = |of: &Arc<str>| of.trim().to_ascii_uppercase().starts_with("UNION");
        let Some(of) = declared.filter(is_union) else {
            let message = "the argument is no column of type UNION";
            let hint = "a union is the value that it holds: `typeof(value)` tells its type";
            return Err(self
                .error(at.span, Code::FeatureNotAvailable, message)
                .with_hint(hint));
        };
        let (value, _) = self.expression(column)?;
        let text = |of: Arc<str>| Expr::Literal(Literal::String(of));
        let wanted = match args.get(1) {
            Some(wanted) => self.expression(wanted)?.0,
            None => text("".into()),
        };
        let ty = match args.len() {
            1 => Type::of(TypeSet::STRING),
            _ => Type::ANY,
        };
        Ok((call(UNION_OF, vec![value, text(of), wanted]), ty))
    }

    /// The operands of `=` and `<>`: the text of a column of type `STRUCT` or `MAP` is read where
    /// the other one is a map, or such a text, too.
    pub(super) fn maps_compared(
        &self,
        op: BinaryOp,
        (left, a): (&ast::Expr, Typed),
        (right, b): (&ast::Expr, Typed),
    ) -> (Typed, Typed) {
        use BinaryOp::{Equal, NotEqual};
        let compares = matches!(op, Equal | NotEqual);
        let text_of_map = |of: &ast::Expr, (_, ty): &Typed| {
            let may_be = compares && ty.set.may_be(TypeSet::STRING) && !ty.set.is(TypeSet::STRING);
            let declared = may_be.then(|| self.declared_type(of)).flatten();
            declared.filter(|of| of_map(of).is_some())
        };
        let (of_left, of_right) = (text_of_map(left, &a), text_of_map(right, &b));
        let is_map =
            |of: &Option<Arc<str>>, (_, ty): &Typed| of.is_some() || ty.set == TypeSet::MAP;
        if !is_map(&of_left, &a) || !is_map(&of_right, &b) {
            return (a, b);
        }
        let read = |of: Option<Arc<str>>, (value, ty): Typed| match of {
            None => (value, ty),
            Some(of) => {
                let of = Expr::Literal(Literal::String(of));
                (call("cast", vec![value, of]), Type::of(TypeSet::MAP))
            }
        };
        (read(of_left, a), read(of_right, b))
    }

    /// Whether it has the declared type of a text.
    pub(super) fn is_declared_text(&self, of: &ast::Expr) -> bool {
        self.declared_type(of).is_some_and(|of| is_text(&of))
    }

    /// Whether it has a declared type, which is none of lists, nor of values that may be texts
    /// here.
    pub(super) fn is_declared_other(&self, of: &ast::Expr) -> bool {
        let texts = ["UUID", "JSON", "BLOB", "BYTEA", "ANY"];
        let mut built = ["STRUCT", "MAP", "UNION"].iter();
        self.declared_type(of).is_some_and(|of| {
            let of = of.trim().to_ascii_uppercase();
            !is_text(&of)
                && !of.starts_with('$')
                && !of.ends_with(']')
                && !texts.contains(&&*of)
                && !built.any(|word| of.starts_with(word))
        })
    }

    /// Whether a value is read as a text where one of the kinds `wanted` stands: it has the
    /// declared type of others.
    pub(super) fn is_read_as_text(&self, wanted: TypeSet, of: &ast::Expr) -> bool {
        let sized = TypeSet::STRING.or(TypeSet::LIST).or(TypeSet::MAP);
        if !wanted.may_be(TypeSet::STRING) || !wanted.is(sized.or(TypeSet::VECTOR)) {
            return false;
        }
        let is_list = |of: Arc<str>| !of.starts_with('$') && element(&of).is_some();
        self.is_declared_other(of)
            || wanted == TypeSet::STRING && self.declared_type(of).is_some_and(is_list)
    }

    /// The type as which a literal text is read that is compared with this one; none if it stays a
    /// text.
    pub(super) fn read_beside(&self, of: &ast::Expr) -> Option<Arc<str>> {
        let declared = self.operand(of)?;
        let upper = declared.trim().to_ascii_uppercase();
        let is_read = match upper.rsplit_once('[') {
            Some((element, _)) => !has_texts(element),
            None => matches!(&*upper, "BLOB" | "BYTEA" | "UUID") || self.is_declared_other(of),
        };
        is_read.then_some(declared)
    }

    /// The operands of a comparison: a literal text becomes a value of the declared type of the
    /// other one.
    pub(super) fn text_compared(
        &self,
        op: BinaryOp,
        (left, a): (&ast::Expr, Typed),
        (right, b): (&ast::Expr, Typed),
    ) -> (Typed, Typed) {
        use BinaryOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let read = |literal: &ast::Expr, (value, ty): Typed, other: &ast::Expr| {
            let is_text = matches!(literal.kind, ExprKind::String(_));
            match is_text.then(|| self.read_beside(other)).flatten() {
                None => (value, ty),
                Some(of) => {
                    let of = Expr::Literal(Literal::String(of));
                    (call("cast", vec![value, of]), Type::ANY)
                }
            }
        };
        match op {
            Equal | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual => {
                (read(left, a, right), read(right, b, left))
            }
            _ => (a, b),
        }
    }

    /// `.key` of the text of a `STRUCT`; none if the base is no column of such a type.
    pub(super) fn field_of_struct(
        &self,
        base: &ast::Expr,
        key: &str,
        bound: &Expr,
        ty: Type,
    ) -> Option<Typed> {
        // Maps and entities have their fields already.
        if !ty.set.may_be(TypeSet::STRING) {
            return None;
        }
        let whole = self.declared_type(base)?;
        let of = field(&whole, key)?;
        let text = |of: &Arc<str>| Expr::Literal(Literal::String(of.clone()));
        let map = call("cast", vec![bound.clone(), text(&of_map(&whole)?)]);
        let value = Expr::Property {
            base: Box::new(map),
            key: key.into(),
            at: base.span,
        };
        Some((call("cast", vec![value, text(&of)]), Type::ANY))
    }
}

/// Whether values of a declared type, or parts of them, are kept as texts of any form.
fn has_texts(of: &str) -> bool {
    ["STRUCT", "MAP", "UNION", "JSON", "ANY", "$"]
        .iter()
        .any(|word| of.trim().starts_with(word))
}

/// Whether a declared type is that of texts.
pub(super) fn is_text(of: &str) -> bool {
    let names = ["STRING", "VARCHAR", "TEXT"];
    names
        .iter()
        .any(|name| of.trim().eq_ignore_ascii_case(name))
}

/// A type as Kuzu shows it: its names in capital letters, those of fields as they are.
#[must_use]
pub fn type_shown(of: &str) -> String {
    let of = of.trim();
    if let Some((element, length)) = of.strip_suffix(']').and_then(|of| of.rsplit_once('[')) {
        return format!("{}[{}]", type_shown(element), length.trim());
    }
    let Some((head, inside)) = of.strip_suffix(')').and_then(|of| of.split_once('(')) else {
        let upper = of.to_ascii_uppercase();
        let known = ALIASES.iter().find(|(alias, _)| *alias == upper);
        return known.map_or(upper, |(_, name)| (*name).to_owned());
    };
    let head = head.trim().to_ascii_uppercase();
    let parts = type_text::parts(inside).into_iter();
    let parts = parts.map(|part| match &*head {
        "STRUCT" | "UNION" => match type_text::field(part) {
            Some((name, of)) => format!("{name} {}", type_shown(of)),
            None => part.trim().to_owned(),
        },
        "MAP" => type_shown(part),
        _ => part.trim().to_owned(),
    });
    let parts: Vec<String> = parts.collect();
    let head = if head == "NUMERIC" { "DECIMAL" } else { &*head };
    format!("{head}({})", parts.join(", "))
}

/// The type by which the text of a column is read as a map; none if it is no text of a map. The
/// fields of a `STRUCT` are cast where they are taken.
fn of_map(of: &str) -> Option<Arc<str>> {
    let (head, _) = of.trim_end().strip_suffix(')')?.split_once('(')?;
    match &*head.trim().to_ascii_uppercase() {
        "STRUCT" => Some("STRUCT".into()),
        "MAP" => Some(of.into()),
        _ => None,
    }
}

/// The type that all elements of a literal list have.
fn of_literals(list: &ast::Expr) -> Option<Arc<str>> {
    let ExprKind::List(items) = &list.kind else {
        return None;
    };
    let of = |item: &ast::Expr| match item.kind {
        ExprKind::Integer(_) => Some("INT64"),
        ExprKind::Float(_) => Some("DOUBLE"),
        ExprKind::Boolean(_) => Some("BOOL"),
        ExprKind::String(_) => Some("STRING"),
        _ => None,
    };
    shared(items.iter().map(of)).map(Arc::from)
}

/// The type that all have, if there is one.
fn shared<T: PartialEq>(mut all: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first))
        .then_some(first)
}

/// The type of the elements of a list.
fn element(of: &str) -> Option<Arc<str>> {
    let rest = of.trim_end().strip_suffix(']')?;
    let open = rest.rfind('[')?;
    Some(rest[..open].trim_end().into())
}

/// The type of a field of `STRUCT(name TYPE, ...)`.
fn field(of: &str, key: &str) -> Option<Arc<str>> {
    let head = of.get(..6)?;
    let inside = of[6..].trim().strip_prefix('(')?.strip_suffix(')')?;
    if !head.eq_ignore_ascii_case("STRUCT") {
        return None;
    }
    let mut fields = type_text::parts(inside)
        .into_iter()
        .filter_map(type_text::field);
    let (_, of) = fields.find(|(name, _)| name == key)?;
    Some(of.trim().into())
}

#[cfg(test)]
mod tests {
    use super::{element, field};

    /// Goal: fields and elements are found at any depth, and what has none gives none.
    #[test]
    fn types_are_taken_apart() {
        let of = "STRUCT(a INT8, `b c` STRUCT(x DECIMAL(5, 2)[], y DATE))";
        assert_eq!(field(of, "a").as_deref(), Some("INT8"));
        assert!(field(of, "b c").is_some_and(|of| of.starts_with("STRUCT(x")));
        assert_eq!(field(of, "y"), None);
        let of = "struct(a INT8, b STRUCT(x DECIMAL(5, 2)[], y DATE))";
        let inner = field(of, "b").expect("a field");
        let list = field(&inner, "x").expect("a field");
        assert_eq!(&*list, "DECIMAL(5, 2)[]");
        assert_eq!(element(&list).as_deref(), Some("DECIMAL(5, 2)"));
        assert_eq!(element("INT64[3]").as_deref(), Some("INT64"));
        for none in ["MAP(a INT8)", "STRUCT", "STR", "", "a]"] {
            assert_eq!((field(none, "a"), element(none)), (None, None), "{none}");
        }
    }
}
