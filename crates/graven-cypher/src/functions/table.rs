//! The rows of the table of functions.

use super::{
    Availability, CONCATENATE, Function, HAS_ALL_LABELS, HAS_ANY_LABEL, IS_LABELED, IS_NORMALIZED,
    IS_TYPED, MERGE_MAPS, OPENED, TRIMMED, TYPE_OF, UNION_OF,
};
use crate::types::TypeSet;

pub(super) const ANY: TypeSet = TypeSet::ANY;
const NUM: TypeSet = TypeSet::NUMBER;
pub(super) const INT: TypeSet = TypeSet::INTEGER;
pub(super) const FLOAT: TypeSet = TypeSet::FLOAT;
pub(super) const STR: TypeSet = TypeSet::STRING;
pub(super) const BOOL: TypeSet = TypeSet::BOOLEAN;
pub(super) const LIST: TypeSet = TypeSet::LIST;
pub(super) const MAP: TypeSet = TypeSet::MAP;
pub(super) const NODE: TypeSet = TypeSet::NODE;
pub(super) const REL: TypeSet = TypeSet::RELATIONSHIP;
pub(super) const PATH: TypeSet = TypeSet::PATH;
const ENTITY: TypeSet = TypeSet::ENTITY;
pub(super) const DATE: TypeSet = TypeSet::DATE;
pub(super) const LOCAL_TIME: TypeSet = TypeSet::LOCAL_TIME;
pub(super) const TIME: TypeSet = TypeSet::TIME;
pub(super) const LOCAL_DATETIME: TypeSet = TypeSet::LOCAL_DATETIME;
pub(super) const DATETIME: TypeSet = TypeSet::DATETIME;
pub(super) const TEMPORAL: TypeSet = TypeSet::TEMPORAL;
pub(super) const DURATION: TypeSet = TypeSet::DURATION;
const POINT: TypeSet = TypeSet::POINT;
const SIZED: TypeSet = STR.or(LIST);
const VECTOR: TypeSet = TypeSet::VECTOR;
const VECTORLIKE: TypeSet = LIST.or(VECTOR);
const SCALAR: TypeSet = STR.or(NUM).or(BOOL);
/// Behind the unit: the value, and fields.
const TRUNCATED: &[TypeSet] = &[ANY, MAP.or(ENTITY)];

pub(super) const fn function(
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
        others: &[],
        arguments: &[],
        returns,
        element: TypeSet::ANY,
        availability: Availability::Available,
        deterministic: true,
    }
}

/// The function, with these kinds for the arguments after the first.
const fn then(others: &'static [TypeSet], function: Function) -> Function {
    Function { others, ..function }
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

pub(super) const fn volatile(function: Function) -> Function {
    Function {
        deterministic: false,
        ..function
    }
}

/// The functions of the language, sorted by lower-case name.
pub(super) const LANGUAGE: &[Function] = &[
    function("abs", "abs", (1, 1), NUM, NUM),
    function("acos", "acos", (1, 1), NUM, FLOAT),
    function("asin", "asin", (1, 1), NUM, FLOAT),
    function("atan", "atan", (1, 1), NUM, FLOAT),
    then(&[NUM], function("atan2", "atan2", (2, 2), NUM, FLOAT)),
    then(&[STR], function("bTrim", "btrim", (1, 2), STR, STR)),
    function("cast", "cast", (2, 2), ANY, ANY),
    function("ceil", "ceil", (1, 1), NUM, FLOAT),
    function("char_length", "char_length", (1, 1), STR, INT),
    function("character_length", "character_length", (1, 1), STR, INT),
    function("coalesce", "coalesce", (1, 255), ANY, ANY),
    function("cos", "cos", (1, 1), NUM, FLOAT),
    function("cot", "cot", (1, 1), NUM, FLOAT),
    function("date", "date", (0, 1), ANY, DATE),
    volatile(function(
        "date.realtime",
        "date.realtime",
        (0, 1),
        ANY,
        DATE,
    )),
    function("date.statement", "date.statement", (0, 1), ANY, DATE),
    function("date.transaction", "date.transaction", (0, 1), ANY, DATE),
    then(
        TRUNCATED,
        function("date.truncate", "date.truncate", (1, 3), STR, DATE),
    ),
    function("datetime", "datetime", (0, 1), ANY, DATETIME),
    then(
        &[NUM],
        function(
            "datetime.fromEpoch",
            "datetime.fromepoch",
            (2, 2),
            NUM,
            DATETIME,
        ),
    ),
    function(
        "datetime.fromEpochMillis",
        "datetime.fromepochmillis",
        (1, 1),
        NUM,
        DATETIME,
    ),
    volatile(function(
        "datetime.realtime",
        "datetime.realtime",
        (0, 1),
        ANY,
        DATETIME,
    )),
    function(
        "datetime.statement",
        "datetime.statement",
        (0, 1),
        ANY,
        DATETIME,
    ),
    function(
        "datetime.transaction",
        "datetime.transaction",
        (0, 1),
        ANY,
        DATETIME,
    ),
    then(
        TRUNCATED,
        function(
            "datetime.truncate",
            "datetime.truncate",
            (1, 3),
            STR,
            DATETIME,
        ),
    ),
    function("degrees", "degrees", (1, 1), NUM, FLOAT),
    function("duration", "duration", (1, 1), ANY, DURATION),
    function(
        "duration.between",
        "duration.between",
        (2, 2),
        ANY,
        DURATION,
    ),
    function("duration.inDays", "duration.indays", (2, 2), ANY, DURATION),
    function(
        "duration.inMonths",
        "duration.inmonths",
        (2, 2),
        ANY,
        DURATION,
    ),
    function(
        "duration.inSeconds",
        "duration.inseconds",
        (2, 2),
        ANY,
        DURATION,
    ),
    function("e", "e", (0, 0), ANY, FLOAT),
    function("elementId", "elementid", (1, 1), ENTITY, STR),
    function("endNode", "endnode", (1, 1), REL, NODE),
    function("exists", "exists", (1, 1), ANY, BOOL),
    function("exp", "exp", (1, 1), NUM, FLOAT),
    function("floor", "floor", (1, 1), NUM, FLOAT),
    function("graven.agg.first", "graven.agg.first", (1, 1), LIST, ANY),
    function("graven.agg.graph", "graven.agg.graph", (1, 1), LIST, MAP),
    function("graven.agg.last", "graven.agg.last", (1, 1), LIST, ANY),
    function(
        "graven.agg.maxItems",
        "graven.agg.maxitems",
        (1, 2),
        LIST,
        MAP,
    ),
    function(
        "graven.agg.median",
        "graven.agg.median",
        (1, 1),
        LIST,
        FLOAT,
    ),
    function(
        "graven.agg.minItems",
        "graven.agg.minitems",
        (1, 2),
        LIST,
        MAP,
    ),
    function("graven.agg.nth", "graven.agg.nth", (2, 2), LIST, ANY),
    function(
        "graven.agg.percentiles",
        "graven.agg.percentiles",
        (1, 2),
        LIST,
        LIST,
    ),
    function(
        "graven.agg.product",
        "graven.agg.product",
        (1, 1),
        LIST,
        NUM,
    ),
    function("graven.agg.slice", "graven.agg.slice", (1, 3), LIST, LIST),
    function(
        "graven.agg.statistics",
        "graven.agg.statistics",
        (1, 2),
        LIST,
        MAP,
    ),
    function("graven.beside", "graven.beside", (2, 2), ANY, ANY),
    internal(function(
        "graven.concatenate",
        CONCATENATE,
        (2, 2),
        SIZED,
        SIZED,
    )),
    volatile(function(
        "graven.currentValue",
        "graven.currentvalue",
        (1, 1),
        STR,
        INT,
    )),
    function("graven.decode", "graven.decode", (1, 1), ANY, STR),
    function("graven.element", "graven.element", (3, 3), SIZED, ANY),
    function("graven.encode", "graven.encode", (1, 1), STR, ANY),
    function("graven.gamma", "graven.gamma", (1, 1), NUM, FLOAT),
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
    function("graven.hash", "graven.hash", (1, 1), ANY, INT),
    internal(function(
        "graven.is_labeled",
        IS_LABELED,
        (1, 1),
        ENTITY,
        BOOL,
    )),
    function("graven.is_normalized", IS_NORMALIZED, (2, 2), ANY, BOOL),
    function("graven.is_typed", IS_TYPED, (2, 2), ANY, BOOL),
    function("graven.json", "graven.json", (1, 1), ANY, STR),
    function("graven.json.array", "graven.json.array", (0, 255), ANY, STR),
    function(
        "graven.json.arrayLength",
        "graven.json.arraylength",
        (1, 1),
        ANY,
        INT,
    ),
    function(
        "graven.json.contains",
        "graven.json.contains",
        (2, 2),
        ANY,
        BOOL,
    ),
    function(
        "graven.json.extract",
        "graven.json.extract",
        (2, 2),
        ANY,
        SIZED,
    ),
    elements(
        function("graven.json.keys", "graven.json.keys", (1, 1), ANY, LIST),
        STR,
    ),
    function(
        "graven.json.mergePatch",
        "graven.json.mergepatch",
        (2, 2),
        ANY,
        STR,
    ),
    function(
        "graven.json.object",
        "graven.json.object",
        (0, 255),
        ANY,
        STR,
    ),
    function("graven.json.of", "graven.json.of", (1, 1), ANY, STR),
    internal(function(
        "graven.json.of_type",
        "graven.json.of_type",
        (2, 2),
        ANY,
        STR,
    )),
    function(
        "graven.json.structure",
        "graven.json.structure",
        (1, 1),
        ANY,
        STR,
    ),
    function("graven.json.valid", "graven.json.valid", (1, 1), ANY, BOOL),
    function("graven.label", "graven.label", (1, 1), ENTITY, STR),
    volatile(function(
        super::LEFT_OUT,
        "graven.leftout",
        (4, 4),
        STR,
        MAP,
    )),
    function("graven.lgamma", "graven.lgamma", (1, 1), NUM, FLOAT),
    internal(function(
        "graven.merge_maps",
        MERGE_MAPS,
        (1, 255),
        MAP,
        MAP,
    )),
    volatile(function(
        super::MISSING_END,
        "graven.missingend",
        (6, 6),
        STR,
        BOOL,
    )),
    volatile(function(
        "graven.nextSerial",
        "graven.nextserial",
        (2, 2),
        STR,
        INT,
    )),
    volatile(function(
        "graven.nextValue",
        super::NEXT_VALUE,
        (1, 1),
        STR,
        INT,
    )),
    function("graven.octetLength", "graven.octetlength", (1, 1), ANY, INT),
    function("graven.opened", OPENED, (1, 1), ANY, ANY),
    function(
        "graven.regexpReplace",
        "graven.regexpreplace",
        (4, 4),
        ANY,
        STR,
    ),
    function("graven.slice", "graven.slice", (3, 3), SIZED, SIZED),
    function("graven.sort", "graven.sort", (3, 3), LIST, LIST),
    then(
        &[STR, STR],
        function("graven.trimmed", TRIMMED, (3, 3), STR, STR),
    ),
    function("graven.typeOf", TYPE_OF, (1, 1), ANY, STR),
    function("graven.unionOf", UNION_OF, (1, 3), ANY, ANY),
    volatile(function(
        "graven.virtualPath",
        "graven.virtualpath",
        (2, 2),
        LIST,
        ANY,
    )),
    function("graven.wide", "graven.wide", (3, 3), STR, ANY),
    function("graven.wideOf", "graven.wideof", (2, 2), LIST, ANY),
    function("graven.xml", "graven.xml", (3, 3), ANY, LIST),
    function("haversin", "haversin", (1, 1), NUM, FLOAT),
    function("head", "head", (1, 1), LIST, ANY),
    function("id", "id", (1, 1), ENTITY, INT),
    function("isEmpty", "isempty", (1, 1), SIZED.or(MAP).or(ENTITY), BOOL),
    function("isNaN", "isnan", (1, 1), NUM, BOOL),
    elements(function("keys", "keys", (1, 1), ENTITY.or(MAP), LIST), STR),
    elements(function("labels", "labels", (1, 1), NODE, LIST), STR),
    function("last", "last", (1, 1), LIST, ANY),
    then(&[INT], function("left", "left", (2, 2), STR, STR)),
    function("length", "length", (1, 1), PATH, INT),
    function(
        "localdatetime",
        "localdatetime",
        (0, 1),
        ANY,
        LOCAL_DATETIME,
    ),
    volatile(function(
        "localdatetime.realtime",
        "localdatetime.realtime",
        (0, 1),
        ANY,
        LOCAL_DATETIME,
    )),
    function(
        "localdatetime.statement",
        "localdatetime.statement",
        (0, 1),
        ANY,
        LOCAL_DATETIME,
    ),
    function(
        "localdatetime.transaction",
        "localdatetime.transaction",
        (0, 1),
        ANY,
        LOCAL_DATETIME,
    ),
    then(
        TRUNCATED,
        function(
            "localdatetime.truncate",
            "localdatetime.truncate",
            (1, 3),
            STR,
            LOCAL_DATETIME,
        ),
    ),
    function("localtime", "localtime", (0, 1), ANY, LOCAL_TIME),
    volatile(function(
        "localtime.realtime",
        "localtime.realtime",
        (0, 1),
        ANY,
        LOCAL_TIME,
    )),
    function(
        "localtime.statement",
        "localtime.statement",
        (0, 1),
        ANY,
        LOCAL_TIME,
    ),
    function(
        "localtime.transaction",
        "localtime.transaction",
        (0, 1),
        ANY,
        LOCAL_TIME,
    ),
    then(
        TRUNCATED,
        function(
            "localtime.truncate",
            "localtime.truncate",
            (1, 3),
            STR,
            LOCAL_TIME,
        ),
    ),
    function("log", "log", (1, 1), NUM, FLOAT),
    function("log10", "log10", (1, 1), NUM, FLOAT),
    function("lower", "lower", (1, 1), STR, STR),
    then(&[STR], function("lTrim", "ltrim", (1, 2), STR, STR)),
    elements(function("nodes", "nodes", (1, 1), PATH, LIST), NODE),
    function("normalize", "normalize", (1, 2), STR, STR),
    function("nullIf", "nullif", (2, 2), ANY, ANY),
    function("pi", "pi", (0, 0), ANY, FLOAT),
    function("point", "point", (1, 1), MAP.or(ENTITY), POINT),
    function("point.distance", "point.distance", (2, 2), ANY, FLOAT),
    function("point.withinBBox", "point.withinbbox", (3, 3), ANY, BOOL),
    function("properties", "properties", (1, 1), ENTITY.or(MAP), MAP),
    function("radians", "radians", (1, 1), NUM, FLOAT),
    volatile(function("rand", "rand", (0, 0), ANY, FLOAT)),
    volatile(function("randomUUID", "randomuuid", (0, 0), ANY, STR)),
    elements(
        then(&[INT, INT], function("range", "range", (2, 3), INT, LIST)),
        INT,
    ),
    elements(
        function("relationships", "relationships", (1, 1), PATH, LIST),
        REL,
    ),
    then(
        &[STR, STR],
        function("replace", "replace", (3, 3), STR, STR),
    ),
    function("reverse", "reverse", (1, 1), SIZED, SIZED),
    then(&[INT], function("right", "right", (2, 2), STR, STR)),
    then(&[NUM, STR], function("round", "round", (1, 3), NUM, FLOAT)),
    then(&[STR], function("rTrim", "rtrim", (1, 2), STR, STR)),
    function("sign", "sign", (1, 1), NUM, INT),
    function("sin", "sin", (1, 1), NUM, FLOAT),
    function("size", "size", (1, 1), SIZED.or(MAP).or(VECTOR), INT),
    elements(
        then(
            &[STR.or(LIST)],
            function("split", "split", (2, 2), STR, LIST),
        ),
        STR,
    ),
    function("sqrt", "sqrt", (1, 1), NUM, FLOAT),
    function("startNode", "startnode", (1, 1), REL, NODE),
    then(
        &[INT, INT],
        function("substring", "substring", (2, 3), STR, STR),
    ),
    function("tail", "tail", (1, 1), LIST, LIST),
    function("tan", "tan", (1, 1), NUM, FLOAT),
    function("time", "time", (0, 1), ANY, TIME),
    volatile(function(
        "time.realtime",
        "time.realtime",
        (0, 1),
        ANY,
        TIME,
    )),
    function("time.statement", "time.statement", (0, 1), ANY, TIME),
    function("time.transaction", "time.transaction", (0, 1), ANY, TIME),
    then(
        TRUNCATED,
        function("time.truncate", "time.truncate", (1, 3), STR, TIME),
    ),
    volatile(function("timestamp", "timestamp", (0, 0), ANY, INT)),
    function("toBoolean", "toboolean", (1, 1), STR.or(BOOL).or(INT), BOOL),
    elements(
        function("toBooleanList", "tobooleanlist", (1, 1), LIST, LIST),
        BOOL,
    ),
    function("toBooleanOrNull", "tobooleanornull", (1, 1), ANY, BOOL),
    function("toFloat", "tofloat", (1, 1), STR.or(NUM), FLOAT),
    elements(
        function("toFloatList", "tofloatlist", (1, 1), VECTORLIKE, LIST),
        FLOAT,
    ),
    function("toFloatOrNull", "tofloatornull", (1, 1), ANY, FLOAT),
    function("toInteger", "tointeger", (1, 1), SCALAR.or(LIST), INT),
    elements(
        function("toIntegerList", "tointegerlist", (1, 1), VECTORLIKE, LIST),
        INT,
    ),
    function("toIntegerOrNull", "tointegerornull", (1, 1), ANY, INT),
    function("toLower", "tolower", (1, 1), STR, STR),
    function(
        "toString",
        "tostring",
        (1, 1),
        SCALAR.or(TEMPORAL).or(DURATION).or(POINT).or(VECTOR),
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
    then(
        &[INT, STR],
        function("vector", "vector", (3, 3), SIZED, VECTOR),
    ),
    then(
        &[VECTORLIKE],
        function(
            "vector.similarity.cosine",
            "vector.similarity.cosine",
            (2, 2),
            VECTORLIKE,
            FLOAT,
        ),
    ),
    then(
        &[VECTORLIKE],
        function(
            "vector.similarity.euclidean",
            "vector.similarity.euclidean",
            (2, 2),
            VECTORLIKE,
            FLOAT,
        ),
    ),
    function(
        "vector_dimension_count",
        "vector_dimension_count",
        (1, 1),
        VECTOR,
        INT,
    ),
    then(
        &[VECTOR, STR],
        function("vector_distance", "vector_distance", (3, 3), VECTOR, FLOAT),
    ),
    then(
        &[STR],
        function("vector_norm", "vector_norm", (2, 2), VECTOR, FLOAT),
    ),
];
