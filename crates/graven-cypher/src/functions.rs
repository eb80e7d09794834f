//! The function table: every scalar function of the language, its arity, its types and whether this build
//! evaluates it.
//!
//! # How it works
//! The binder looks names up here (case-insensitively, with namespaces joined by dots) and refuses what is
//! unknown, called with the wrong number of arguments, or not available. The executor implements exactly
//! the entries whose [`Function::availability`] is [`Availability::Available`] or
//! [`Availability::Internal`]; aggregates are not here, they become [`crate::plan::AggregateFunction`].
//!
//! # Invariants
//! * CY-30 Names in the table are lower case, sorted and unique; [`crate::plan::Expr::Call`] carries them so.

use crate::types::TypeSet;

/// Whether a function can be called in this build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Availability {
    /// The executor evaluates it.
    Available,
    /// Written by the planner only; not a name users can call.
    Internal,
}

/// One function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Lower-case name, the one that plans carry.
    pub name: &'static str,
    /// Name as documented.
    pub display: &'static str,
    /// Fewest arguments.
    pub args_min: u8,
    /// Most arguments; 255 means any number.
    pub args_max: u8,
    /// What the first argument may be.
    pub first: TypeSet,
    /// What it returns.
    pub returns: TypeSet,
    /// What the elements are if it returns a list.
    pub element: TypeSet,
    /// Whether it can be called.
    pub availability: Availability,
    /// Equal arguments give equal results within a statement.
    pub deterministic: bool,
}

const ANY: TypeSet = TypeSet::ANY;
const NUM: TypeSet = TypeSet::NUMBER;
const INT: TypeSet = TypeSet::INTEGER;
const FLOAT: TypeSet = TypeSet::FLOAT;
const STR: TypeSet = TypeSet::STRING;
const BOOL: TypeSet = TypeSet::BOOLEAN;
const LIST: TypeSet = TypeSet::LIST;
const MAP: TypeSet = TypeSet::MAP;
const NODE: TypeSet = TypeSet::NODE;
const REL: TypeSet = TypeSet::RELATIONSHIP;
const PATH: TypeSet = TypeSet::PATH;
const ENTITY: TypeSet = TypeSet::ENTITY;
const TEMPORAL: TypeSet = TypeSet::TEMPORAL;
const DURATION: TypeSet = TypeSet::DURATION;
const POINT: TypeSet = TypeSet::POINT;
const SIZED: TypeSet = STR.or(LIST);
const SCALAR: TypeSet = STR.or(NUM).or(BOOL);

const fn function(
    display: &'static str,
    name: &'static str,
    args: (u8, u8),
    first: TypeSet,
    returns: TypeSet,
) -> Function {
    Function {
        name,
        display,
        args_min: args.0,
        args_max: args.1,
        first,
        returns,
        element: TypeSet::ANY,
        availability: Availability::Available,
        deterministic: true,
    }
}

const fn elements(function: Function, element: TypeSet) -> Function {
    Function {
        element,
        ..function
    }
}

const fn internal(function: Function) -> Function {
    Function {
        availability: Availability::Internal,
        ..function
    }
}

const fn volatile(function: Function) -> Function {
    Function {
        deterministic: false,
        ..function
    }
}

/// Name of the internal function behind map projections: merges maps, later ones win; null maps are skipped.
pub const MERGE_MAPS: &str = "graven.merge_maps";

/// Name of the internal function behind `a || b`.
pub(crate) const CONCATENATE: &str = "graven.concatenate";

/// Name of the internal function behind `%`: whether a node has any label; every relationship has a type.
pub(crate) const IS_LABELED: &str = "graven.is_labeled";

/// Names of the internal functions behind `$(names)` and `$any(names)`: whether a node or relationship has all, or one, of the
/// labels or types that a text or a list of texts names.
pub(crate) const HAS_ALL_LABELS: &str = "graven.has_all_labels";
pub(crate) const HAS_ANY_LABEL: &str = "graven.has_any_label";

/// Name of the function behind `x IS NFC NORMALIZED`: a value and the name of a normal form.
pub(crate) const IS_NORMALIZED: &str = "graven.is_normalized";

/// Name of the function behind `x IS :: TYPE`: a value and the text of a type.
pub(crate) const IS_TYPED: &str = "graven.is_typed";

/// All functions, sorted by lower-case name.
pub const FUNCTIONS: &[Function] = &[
    function("abs", "abs", (1, 1), NUM, NUM),
    function("acos", "acos", (1, 1), NUM, FLOAT),
    function("apoc.coll.avg", "apoc.coll.avg", (1, 1), ANY, FLOAT),
    function(
        "apoc.coll.contains",
        "apoc.coll.contains",
        (2, 2),
        ANY,
        BOOL,
    ),
    function(
        "apoc.coll.containsAll",
        "apoc.coll.containsall",
        (2, 2),
        ANY,
        BOOL,
    ),
    function(
        "apoc.coll.containsDuplicates",
        "apoc.coll.containsduplicates",
        (1, 1),
        ANY,
        BOOL,
    ),
    function(
        "apoc.coll.different",
        "apoc.coll.different",
        (1, 1),
        ANY,
        BOOL,
    ),
    function(
        "apoc.coll.disjunction",
        "apoc.coll.disjunction",
        (2, 2),
        ANY,
        LIST,
    ),
    function(
        "apoc.coll.dropDuplicateNeighbors",
        "apoc.coll.dropduplicateneighbors",
        (1, 1),
        ANY,
        LIST,
    ),
    function(
        "apoc.coll.duplicates",
        "apoc.coll.duplicates",
        (1, 1),
        ANY,
        LIST,
    ),
    function("apoc.coll.fill", "apoc.coll.fill", (2, 2), ANY, LIST),
    function("apoc.coll.flatten", "apoc.coll.flatten", (1, 2), ANY, LIST),
    function(
        "apoc.coll.frequencies",
        "apoc.coll.frequencies",
        (1, 1),
        ANY,
        LIST,
    ),
    function(
        "apoc.coll.frequenciesAsMap",
        "apoc.coll.frequenciesasmap",
        (1, 1),
        ANY,
        MAP,
    ),
    function("apoc.coll.indexOf", "apoc.coll.indexof", (2, 2), ANY, INT),
    function("apoc.coll.insert", "apoc.coll.insert", (3, 3), ANY, LIST),
    function(
        "apoc.coll.insertAll",
        "apoc.coll.insertall",
        (3, 3),
        ANY,
        LIST,
    ),
    function(
        "apoc.coll.intersection",
        "apoc.coll.intersection",
        (2, 2),
        ANY,
        LIST,
    ),
    function(
        "apoc.coll.isEqualCollection",
        "apoc.coll.isequalcollection",
        (2, 2),
        ANY,
        BOOL,
    ),
    function("apoc.coll.max", "apoc.coll.max", (1, 1), ANY, ANY),
    function("apoc.coll.min", "apoc.coll.min", (1, 1), ANY, ANY),
    function(
        "apoc.coll.occurrences",
        "apoc.coll.occurrences",
        (2, 2),
        ANY,
        INT,
    ),
    function("apoc.coll.pairs", "apoc.coll.pairs", (1, 1), ANY, LIST),
    function(
        "apoc.coll.pairsMin",
        "apoc.coll.pairsmin",
        (1, 1),
        ANY,
        LIST,
    ),
    function("apoc.coll.remove", "apoc.coll.remove", (2, 3), ANY, LIST),
    function("apoc.coll.set", "apoc.coll.set", (3, 3), ANY, LIST),
    function("apoc.coll.sort", "apoc.coll.sort", (1, 1), ANY, LIST),
    function(
        "apoc.coll.sortMaps",
        "apoc.coll.sortmaps",
        (2, 2),
        ANY,
        LIST,
    ),
    function(
        "apoc.coll.sortNodes",
        "apoc.coll.sortnodes",
        (2, 2),
        ANY,
        LIST,
    ),
    function(
        "apoc.coll.subtract",
        "apoc.coll.subtract",
        (2, 2),
        ANY,
        LIST,
    ),
    function("apoc.coll.sum", "apoc.coll.sum", (1, 1), ANY, FLOAT),
    function("apoc.coll.toSet", "apoc.coll.toset", (1, 1), ANY, LIST),
    function("apoc.coll.union", "apoc.coll.union", (2, 2), ANY, LIST),
    function(
        "apoc.coll.unionAll",
        "apoc.coll.unionall",
        (2, 2),
        ANY,
        LIST,
    ),
    function("apoc.coll.zip", "apoc.coll.zip", (2, 2), ANY, LIST),
    function(
        "apoc.convert.fromJsonList",
        "apoc.convert.fromjsonlist",
        (1, 1),
        ANY,
        LIST,
    ),
    function(
        "apoc.convert.fromJsonMap",
        "apoc.convert.fromjsonmap",
        (1, 1),
        ANY,
        MAP,
    ),
    function(
        "apoc.convert.toJson",
        "apoc.convert.tojson",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.convert.toList",
        "apoc.convert.tolist",
        (1, 1),
        ANY,
        LIST,
    ),
    function("apoc.convert.toMap", "apoc.convert.tomap", (1, 1), ANY, MAP),
    function("apoc.map.clean", "apoc.map.clean", (3, 3), ANY, MAP),
    function("apoc.map.flatten", "apoc.map.flatten", (1, 2), ANY, MAP),
    function("apoc.map.fromLists", "apoc.map.fromlists", (2, 2), ANY, MAP),
    function("apoc.map.fromPairs", "apoc.map.frompairs", (1, 1), ANY, MAP),
    function(
        "apoc.map.fromValues",
        "apoc.map.fromvalues",
        (1, 1),
        ANY,
        MAP,
    ),
    function("apoc.map.get", "apoc.map.get", (2, 4), ANY, ANY),
    function("apoc.map.groupBy", "apoc.map.groupby", (2, 2), ANY, MAP),
    function(
        "apoc.map.groupByMulti",
        "apoc.map.groupbymulti",
        (2, 2),
        ANY,
        MAP,
    ),
    function("apoc.map.merge", "apoc.map.merge", (2, 2), ANY, MAP),
    function("apoc.map.mergeList", "apoc.map.mergelist", (1, 1), ANY, MAP),
    function("apoc.map.mget", "apoc.map.mget", (2, 4), ANY, LIST),
    function("apoc.map.removeKey", "apoc.map.removekey", (2, 3), ANY, MAP),
    function(
        "apoc.map.removeKeys",
        "apoc.map.removekeys",
        (2, 3),
        ANY,
        MAP,
    ),
    function("apoc.map.setEntry", "apoc.map.setentry", (3, 3), ANY, MAP),
    function("apoc.map.setKey", "apoc.map.setkey", (3, 3), ANY, MAP),
    function("apoc.map.setLists", "apoc.map.setlists", (3, 3), ANY, MAP),
    function("apoc.map.setPairs", "apoc.map.setpairs", (2, 2), ANY, MAP),
    function("apoc.map.setValues", "apoc.map.setvalues", (2, 2), ANY, MAP),
    function(
        "apoc.map.sortedProperties",
        "apoc.map.sortedproperties",
        (1, 2),
        ANY,
        LIST,
    ),
    function("apoc.map.submap", "apoc.map.submap", (2, 4), ANY, MAP),
    function("apoc.map.values", "apoc.map.values", (1, 3), ANY, LIST),
    function(
        "apoc.meta.cypher.type",
        "apoc.meta.cypher.type",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.text.camelCase",
        "apoc.text.camelcase",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.text.capitalize",
        "apoc.text.capitalize",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.text.capitalizeAll",
        "apoc.text.capitalizeall",
        (1, 1),
        ANY,
        STR,
    ),
    function("apoc.text.charAt", "apoc.text.charat", (2, 2), ANY, INT),
    function("apoc.text.clean", "apoc.text.clean", (1, 1), ANY, STR),
    function("apoc.text.code", "apoc.text.code", (1, 1), ANY, STR),
    function(
        "apoc.text.compareCleaned",
        "apoc.text.comparecleaned",
        (2, 2),
        ANY,
        BOOL,
    ),
    function(
        "apoc.text.decapitalize",
        "apoc.text.decapitalize",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.text.decapitalizeAll",
        "apoc.text.decapitalizeall",
        (1, 1),
        ANY,
        STR,
    ),
    function("apoc.text.distance", "apoc.text.distance", (2, 2), ANY, INT),
    function(
        "apoc.text.hammingDistance",
        "apoc.text.hammingdistance",
        (2, 2),
        ANY,
        INT,
    ),
    function("apoc.text.indexOf", "apoc.text.indexof", (2, 4), ANY, INT),
    function("apoc.text.join", "apoc.text.join", (2, 2), ANY, STR),
    function(
        "apoc.text.levenshteinDistance",
        "apoc.text.levenshteindistance",
        (2, 2),
        ANY,
        INT,
    ),
    function(
        "apoc.text.levenshteinSimilarity",
        "apoc.text.levenshteinsimilarity",
        (2, 2),
        ANY,
        FLOAT,
    ),
    function("apoc.text.lpad", "apoc.text.lpad", (2, 3), ANY, STR),
    function("apoc.text.repeat", "apoc.text.repeat", (2, 2), ANY, STR),
    function("apoc.text.rpad", "apoc.text.rpad", (2, 3), ANY, STR),
    function("apoc.text.slug", "apoc.text.slug", (1, 2), ANY, STR),
    function(
        "apoc.text.snakeCase",
        "apoc.text.snakecase",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.text.sorensenDiceSimilarity",
        "apoc.text.sorensendicesimilarity",
        (2, 3),
        ANY,
        FLOAT,
    ),
    function("apoc.text.swapCase", "apoc.text.swapcase", (1, 1), ANY, STR),
    function(
        "apoc.text.toUpperCase",
        "apoc.text.touppercase",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.text.upperCamelCase",
        "apoc.text.uppercamelcase",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.text.urldecode",
        "apoc.text.urldecode",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.text.urlencode",
        "apoc.text.urlencode",
        (1, 1),
        ANY,
        STR,
    ),
    function(
        "apoc.util.validatePredicate",
        "apoc.util.validatepredicate",
        (3, 3),
        ANY,
        BOOL,
    ),
    function("apoc.version", "apoc.version", (0, 0), ANY, STR),
    function("asin", "asin", (1, 1), NUM, FLOAT),
    function("atan", "atan", (1, 1), NUM, FLOAT),
    function("atan2", "atan2", (2, 2), NUM, FLOAT),
    function("bTrim", "btrim", (1, 2), STR, STR),
    function("ceil", "ceil", (1, 1), NUM, FLOAT),
    function("char_length", "char_length", (1, 1), STR, INT),
    function("character_length", "character_length", (1, 1), STR, INT),
    function("coalesce", "coalesce", (1, 255), ANY, ANY),
    function("cos", "cos", (1, 1), NUM, FLOAT),
    function("cot", "cot", (1, 1), NUM, FLOAT),
    function("date", "date", (0, 1), ANY, TEMPORAL),
    volatile(function(
        "date.realtime",
        "date.realtime",
        (0, 1),
        ANY,
        TEMPORAL,
    )),
    function("date.statement", "date.statement", (0, 1), ANY, TEMPORAL),
    function(
        "date.transaction",
        "date.transaction",
        (0, 1),
        ANY,
        TEMPORAL,
    ),
    function("date.truncate", "date.truncate", (1, 3), STR, TEMPORAL),
    function("datetime", "datetime", (0, 1), ANY, TEMPORAL),
    function(
        "datetime.fromEpoch",
        "datetime.fromepoch",
        (2, 2),
        NUM,
        TEMPORAL,
    ),
    function(
        "datetime.fromEpochMillis",
        "datetime.fromepochmillis",
        (1, 1),
        NUM,
        TEMPORAL,
    ),
    volatile(function(
        "datetime.realtime",
        "datetime.realtime",
        (0, 1),
        ANY,
        TEMPORAL,
    )),
    function(
        "datetime.statement",
        "datetime.statement",
        (0, 1),
        ANY,
        TEMPORAL,
    ),
    function(
        "datetime.transaction",
        "datetime.transaction",
        (0, 1),
        ANY,
        TEMPORAL,
    ),
    function(
        "datetime.truncate",
        "datetime.truncate",
        (1, 3),
        STR,
        TEMPORAL,
    ),
    function("degrees", "degrees", (1, 1), NUM, FLOAT),
    function("duration", "duration", (1, 1), ANY, DURATION),
    function(
        "duration.between",
        "duration.between",
        (2, 2),
        TEMPORAL,
        DURATION,
    ),
    function(
        "duration.inDays",
        "duration.indays",
        (2, 2),
        TEMPORAL,
        DURATION,
    ),
    function(
        "duration.inMonths",
        "duration.inmonths",
        (2, 2),
        TEMPORAL,
        DURATION,
    ),
    function(
        "duration.inSeconds",
        "duration.inseconds",
        (2, 2),
        TEMPORAL,
        DURATION,
    ),
    function("e", "e", (0, 0), ANY, FLOAT),
    function("elementId", "elementid", (1, 1), ENTITY, STR),
    function("endNode", "endnode", (1, 1), REL, NODE),
    function("exists", "exists", (1, 1), ANY, BOOL),
    function("exp", "exp", (1, 1), NUM, FLOAT),
    function("floor", "floor", (1, 1), NUM, FLOAT),
    internal(function(
        "graven.concatenate",
        CONCATENATE,
        (2, 2),
        SIZED,
        SIZED,
    )),
    internal(function(
        "graven.has_all_labels",
        HAS_ALL_LABELS,
        (2, 2),
        ANY,
        BOOL,
    )),
    internal(function(
        "graven.has_any_label",
        HAS_ANY_LABEL,
        (2, 2),
        ANY,
        BOOL,
    )),
    internal(function(
        "graven.is_labeled",
        IS_LABELED,
        (1, 1),
        ENTITY,
        BOOL,
    )),
    function("graven.is_normalized", IS_NORMALIZED, (2, 2), ANY, BOOL),
    function("graven.is_typed", IS_TYPED, (2, 2), ANY, BOOL),
    internal(function(
        "graven.merge_maps",
        MERGE_MAPS,
        (1, 255),
        MAP,
        MAP,
    )),
    function("haversin", "haversin", (1, 1), NUM, FLOAT),
    function("head", "head", (1, 1), LIST, ANY),
    function("id", "id", (1, 1), ENTITY, INT),
    function("isEmpty", "isempty", (1, 1), SIZED.or(MAP), BOOL),
    function("isNaN", "isnan", (1, 1), NUM, BOOL),
    elements(function("keys", "keys", (1, 1), ENTITY.or(MAP), LIST), STR),
    elements(function("labels", "labels", (1, 1), NODE, LIST), STR),
    function("last", "last", (1, 1), LIST, ANY),
    function("left", "left", (2, 2), STR, STR),
    function("length", "length", (1, 1), PATH, INT),
    function("localdatetime", "localdatetime", (0, 1), ANY, TEMPORAL),
    volatile(function(
        "localdatetime.realtime",
        "localdatetime.realtime",
        (0, 1),
        ANY,
        TEMPORAL,
    )),
    function(
        "localdatetime.statement",
        "localdatetime.statement",
        (0, 1),
        ANY,
        TEMPORAL,
    ),
    function(
        "localdatetime.transaction",
        "localdatetime.transaction",
        (0, 1),
        ANY,
        TEMPORAL,
    ),
    function(
        "localdatetime.truncate",
        "localdatetime.truncate",
        (1, 3),
        STR,
        TEMPORAL,
    ),
    function("localtime", "localtime", (0, 1), ANY, TEMPORAL),
    volatile(function(
        "localtime.realtime",
        "localtime.realtime",
        (0, 1),
        ANY,
        TEMPORAL,
    )),
    function(
        "localtime.statement",
        "localtime.statement",
        (0, 1),
        ANY,
        TEMPORAL,
    ),
    function(
        "localtime.transaction",
        "localtime.transaction",
        (0, 1),
        ANY,
        TEMPORAL,
    ),
    function(
        "localtime.truncate",
        "localtime.truncate",
        (1, 3),
        STR,
        TEMPORAL,
    ),
    function("log", "log", (1, 1), NUM, FLOAT),
    function("log10", "log10", (1, 1), NUM, FLOAT),
    function("lower", "lower", (1, 1), STR, STR),
    function("lTrim", "ltrim", (1, 2), STR, STR),
    elements(function("nodes", "nodes", (1, 1), PATH, LIST), NODE),
    function("normalize", "normalize", (1, 2), STR, STR),
    function("nullIf", "nullif", (2, 2), ANY, ANY),
    function("pi", "pi", (0, 0), ANY, FLOAT),
    function("point", "point", (1, 1), MAP, POINT),
    function("point.distance", "point.distance", (2, 2), POINT, FLOAT),
    function("point.withinBBox", "point.withinbbox", (3, 3), POINT, BOOL),
    function("properties", "properties", (1, 1), ENTITY.or(MAP), MAP),
    function("radians", "radians", (1, 1), NUM, FLOAT),
    volatile(function("rand", "rand", (0, 0), ANY, FLOAT)),
    volatile(function("randomUUID", "randomuuid", (0, 0), ANY, STR)),
    elements(function("range", "range", (2, 3), ANY, LIST), INT),
    elements(
        function("relationships", "relationships", (1, 1), PATH, LIST),
        REL,
    ),
    function("replace", "replace", (3, 3), STR, STR),
    function("reverse", "reverse", (1, 1), SIZED, SIZED),
    function("right", "right", (2, 2), STR, STR),
    function("round", "round", (1, 3), NUM, FLOAT),
    function("rTrim", "rtrim", (1, 2), STR, STR),
    function("sign", "sign", (1, 1), NUM, INT),
    function("sin", "sin", (1, 1), NUM, FLOAT),
    function("size", "size", (1, 1), SIZED, INT),
    elements(function("split", "split", (2, 2), STR, LIST), STR),
    function("sqrt", "sqrt", (1, 1), NUM, FLOAT),
    function("startNode", "startnode", (1, 1), REL, NODE),
    function("substring", "substring", (2, 3), STR, STR),
    function("tail", "tail", (1, 1), LIST, LIST),
    function("tan", "tan", (1, 1), NUM, FLOAT),
    function("time", "time", (0, 1), ANY, TEMPORAL),
    volatile(function(
        "time.realtime",
        "time.realtime",
        (0, 1),
        ANY,
        TEMPORAL,
    )),
    function("time.statement", "time.statement", (0, 1), ANY, TEMPORAL),
    function(
        "time.transaction",
        "time.transaction",
        (0, 1),
        ANY,
        TEMPORAL,
    ),
    function("time.truncate", "time.truncate", (1, 3), STR, TEMPORAL),
    volatile(function("timestamp", "timestamp", (0, 0), ANY, INT)),
    function("toBoolean", "toboolean", (1, 1), ANY, BOOL),
    elements(
        function("toBooleanList", "tobooleanlist", (1, 1), LIST, LIST),
        BOOL,
    ),
    function("toBooleanOrNull", "tobooleanornull", (1, 1), ANY, BOOL),
    function("toFloat", "tofloat", (1, 1), ANY, FLOAT),
    elements(
        function("toFloatList", "tofloatlist", (1, 1), LIST, LIST),
        FLOAT,
    ),
    function("toFloatOrNull", "tofloatornull", (1, 1), ANY, FLOAT),
    function("toInteger", "tointeger", (1, 1), ANY, INT),
    elements(
        function("toIntegerList", "tointegerlist", (1, 1), LIST, LIST),
        INT,
    ),
    function("toIntegerOrNull", "tointegerornull", (1, 1), ANY, INT),
    function("toLower", "tolower", (1, 1), STR, STR),
    function(
        "toString",
        "tostring",
        (1, 1),
        SCALAR.or(TEMPORAL).or(DURATION).or(POINT),
        STR,
    ),
    elements(
        function("toStringList", "tostringlist", (1, 1), LIST, LIST),
        STR,
    ),
    function("toStringOrNull", "tostringornull", (1, 1), ANY, STR),
    function("toUpper", "toupper", (1, 1), STR, STR),
    function("trim", "trim", (1, 1), STR, STR),
    function("type", "type", (1, 1), REL, STR),
    function("upper", "upper", (1, 1), STR, STR),
    function("valueType", "valuetype", (1, 1), ANY, STR),
    function(
        "vector.similarity.cosine",
        "vector.similarity.cosine",
        (2, 2),
        LIST,
        FLOAT,
    ),
    function(
        "vector.similarity.euclidean",
        "vector.similarity.euclidean",
        (2, 2),
        LIST,
        FLOAT,
    ),
];

/// Names of the aggregates, as documented.
pub const AGGREGATES: &[&str] = &[
    "avg",
    "collect",
    "count",
    "max",
    "min",
    "percentileCont",
    "percentileDisc",
    "stDev",
    "stDevP",
    "sum",
];

/// The function of that name, in any case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Function> {
    let lower = name.to_ascii_lowercase();
    FUNCTIONS
        .binary_search_by(|f| f.name.cmp(lower.as_str()))
        .ok()
        .map(|idx| &FUNCTIONS[idx])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_lower_case() {
        for pair in FUNCTIONS.windows(2) {
            assert!(
                pair[0].name < pair[1].name,
                "CY-30: {} before {}",
                pair[0].name,
                pair[1].name
            );
        }
        for f in FUNCTIONS {
            assert_eq!(f.display.to_ascii_lowercase(), f.name, "CY-30");
            assert!(f.args_min <= f.args_max);
            assert_eq!(find(f.display).map(|g| g.name), Some(f.name));
        }
    }
}
