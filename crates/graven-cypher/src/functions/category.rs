//! The categories of functions, as Neo4j's manual divides them.

const LIST: &[&str] = &[
    "keys",
    "labels",
    "nodes",
    "range",
    "reduce",
    "relationships",
    "reverse",
    "tail",
    "tobooleanlist",
    "tofloatlist",
    "tointegerlist",
    "tostringlist",
];
const LOAD_CSV: &[&str] = &["file", "linenumber"];
const LOGARITHMIC: &[&str] = &["e", "exp", "log", "log10", "sqrt"];
const NUMERIC: &[&str] = &["abs", "ceil", "floor", "isnan", "rand", "round", "sign"];
const PREDICATE: &[&str] = &["all", "any", "exists", "isempty", "none", "single"];
const STRING: &[&str] = &[
    "btrim",
    "left",
    "lower",
    "ltrim",
    "normalize",
    "replace",
    "right",
    "rtrim",
    "split",
    "substring",
    "tolower",
    "tostring",
    "tostringornull",
    "toupper",
    "trim",
    "upper",
];
const TRIGONOMETRIC: &[&str] = &[
    "acos", "asin", "atan", "atan2", "cos", "cosh", "cot", "coth", "degrees", "haversin", "pi",
    "radians", "sin", "sinh", "tan", "tanh",
];
const TEMPORAL: &[&str] = &[
    "date",
    "datetime",
    "duration",
    "localdatetime",
    "localtime",
    "time",
];
const SPATIAL: &[&str] = &["distance", "point"];

/// The category of a function that is no aggregate.
#[must_use]
pub fn category(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let family = name.split('.').next().unwrap_or_default();
    let of = |names: &[&str], name: &str| names.contains(&name);
    match () {
        () if of(LIST, &name) => "List",
        () if of(LOAD_CSV, &name) => "Load CSV",
        () if of(LOGARITHMIC, &name) => "Logarithmic",
        () if of(NUMERIC, &name) => "Numeric",
        () if of(PREDICATE, &name) => "Predicate",
        () if of(STRING, &name) => "String",
        () if of(TRIGONOMETRIC, &name) => "Trigonometric",
        () if of(TEMPORAL, family) => "Temporal",
        () if of(SPATIAL, family) => "Spatial",
        () if family == "db" => "Database",
        () => "Scalar",
    }
}
