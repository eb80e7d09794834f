//! The rows of APOC in the table of functions.

use super::Function;
use super::argument::{Argument, Kind};
use super::table::{
    ANY, BOOL, DATETIME, DURATION, FLOAT, INT, LIST, MAP, NODE, PATH, REL, STR, function, volatile,
};

/// Rows: name, lower-case name, arguments with what they are if they are left out, what it returns;
/// `given`: null is no argument; `volatile`: equal arguments need not give equal results.
macro_rules! rows {
    ($($name:literal $lower:literal
        ($($arg:ident: $kind:ident $($given:ident)? $(= $default:literal)?),*)
        $returns:ident $($mark:ident)?;)*
    ) => {
        &[$(rows!(@ $($mark)? function($name, $lower, (0, 0), ANY, $returns).with_arguments(&[
            $(Argument {
                name: stringify!($arg),
                kind: Kind::$kind,
                takes_null: rows!(@null $($given)?),
                default: rows!(@default $($default)?),
            }),*
        ]))),*]
    };
    (@null) => { true };
    (@null given) => { false };
    (@default) => { None };
    (@default $value:literal) => { Some($value) };
    (@ volatile $row:expr) => { volatile($row) };
    (@ $row:expr) => { $row };
}

/// All functions of APOC, sorted by lower-case name.
#[rustfmt::skip]
pub(super) const APOC: &[Function] = rows! {
    "apoc.any.isDeleted" "apoc.any.isdeleted" (object: Any) BOOL;
    "apoc.any.properties" "apoc.any.properties" (object: Any, keys: Strings = "null") MAP;
    "apoc.any.property" "apoc.any.property" (object: Any, key: String) ANY;
    "apoc.bitwise.op" "apoc.bitwise.op" (a: Integer, operator: String, b: Integer) INT;
    "apoc.coll.avg" "apoc.coll.avg" (coll: Numbers) FLOAT;
    "apoc.coll.avgDuration" "apoc.coll.avgduration" (durations: List) DURATION;
    "apoc.coll.combinations" "apoc.coll.combinations"
        (coll: List, minSelect: Integer given, maxSelect: Integer given = "-1") LIST;
    "apoc.coll.contains" "apoc.coll.contains" (coll: List, value: Any) BOOL;
    "apoc.coll.containsAll" "apoc.coll.containsall" (coll1: List, coll2: List) BOOL;
    "apoc.coll.containsAllSorted" "apoc.coll.containsallsorted" (coll1: List, coll2: List) BOOL;
    "apoc.coll.containsDuplicates" "apoc.coll.containsduplicates" (coll: List) BOOL;
    "apoc.coll.containsSorted" "apoc.coll.containssorted" (coll: List, value: Any) BOOL;
    "apoc.coll.different" "apoc.coll.different" (coll: List) BOOL;
    "apoc.coll.disjunction" "apoc.coll.disjunction" (list1: List, list2: List) LIST;
    "apoc.coll.dropDuplicateNeighbors" "apoc.coll.dropduplicateneighbors" (list: List) LIST;
    "apoc.coll.duplicates" "apoc.coll.duplicates" (coll: List) LIST;
    "apoc.coll.duplicatesWithCount" "apoc.coll.duplicateswithcount" (coll: List) LIST;
    "apoc.coll.fill" "apoc.coll.fill" (item: String, count: Integer given) LIST;
    "apoc.coll.flatten" "apoc.coll.flatten" (coll: List, recursive: Boolean given = "false") LIST;
    "apoc.coll.frequencies" "apoc.coll.frequencies" (coll: List) LIST;
    "apoc.coll.frequenciesAsMap" "apoc.coll.frequenciesasmap" (coll: List) MAP;
    "apoc.coll.indexOf" "apoc.coll.indexof" (coll: List, value: Any) INT;
    "apoc.coll.insert" "apoc.coll.insert" (coll: List, index: Integer given, value: Any) LIST;
    "apoc.coll.insertAll" "apoc.coll.insertall"
        (coll: List, index: Integer given, values: List) LIST;
    "apoc.coll.intersection" "apoc.coll.intersection" (list1: List, list2: List) LIST;
    "apoc.coll.isEqualCollection" "apoc.coll.isequalcollection" (coll: List, values: List) BOOL;
    "apoc.coll.max" "apoc.coll.max" (values: List) ANY;
    "apoc.coll.min" "apoc.coll.min" (values: List) ANY;
    "apoc.coll.occurrences" "apoc.coll.occurrences" (coll: List, item: Any) INT;
    "apoc.coll.pairs" "apoc.coll.pairs" (list: List) LIST;
    "apoc.coll.pairsMin" "apoc.coll.pairsmin" (list: List) LIST;
    "apoc.coll.pairWithOffset" "apoc.coll.pairwithoffset" (coll: List, offset: Integer given) LIST;
    "apoc.coll.partition" "apoc.coll.partition" (coll: List, batchSize: Integer given) LIST;
    "apoc.coll.randomItem" "apoc.coll.randomitem" (coll: List) ANY volatile;
    "apoc.coll.randomItems" "apoc.coll.randomitems"
        (coll: List, itemCount: Integer given, allowRepick: Boolean given = "false") LIST volatile;
    "apoc.coll.remove" "apoc.coll.remove"
        (coll: List, index: Integer given, length: Integer given = "1") LIST;
    "apoc.coll.removeAll" "apoc.coll.removeall" (list1: List, list2: List) LIST;
    "apoc.coll.runningTotal" "apoc.coll.runningtotal" (list: Numbers) LIST;
    "apoc.coll.set" "apoc.coll.set" (coll: List, index: Integer given, value: Any) LIST;
    "apoc.coll.shuffle" "apoc.coll.shuffle" (coll: List) LIST volatile;
    "apoc.coll.sort" "apoc.coll.sort" (coll: List) LIST;
    "apoc.coll.sortMaps" "apoc.coll.sortmaps" (list: Maps, prop: String) LIST;
    "apoc.coll.sortMulti" "apoc.coll.sortmulti"
        (coll: Maps given, orderFields: Strings = "[]",
        limit: Integer given = "-1", skip: Integer given = "0") LIST;
    "apoc.coll.sortNodes" "apoc.coll.sortnodes" (coll: Nodes, prop: String) LIST;
    "apoc.coll.sortText" "apoc.coll.sorttext" (coll: Strings, conf: Map = "{}") LIST;
    "apoc.coll.stdev" "apoc.coll.stdev"
        (list: Numbers, isBiasCorrected: Boolean given = "true") FLOAT;
    "apoc.coll.subtract" "apoc.coll.subtract" (list1: List, list2: List) LIST;
    "apoc.coll.sum" "apoc.coll.sum" (coll: Numbers) FLOAT;
    "apoc.coll.sumLongs" "apoc.coll.sumlongs" (coll: Numbers) INT;
    "apoc.coll.toSet" "apoc.coll.toset" (coll: List) LIST;
    "apoc.coll.union" "apoc.coll.union" (list1: List, list2: List) LIST;
    "apoc.coll.unionAll" "apoc.coll.unionall" (list1: List, list2: List) LIST;
    "apoc.coll.zip" "apoc.coll.zip" (list1: List, list2: List) LIST;
    "apoc.convert.fromJsonList" "apoc.convert.fromjsonlist"
        (list: String, path: String = "", pathOptions: Strings = "null") LIST;
    "apoc.convert.fromJsonMap" "apoc.convert.fromjsonmap"
        (map: String, path: String = "", pathOptions: Strings = "null") MAP;
    "apoc.convert.getJsonProperty" "apoc.convert.getjsonproperty"
        (node: Node given, key: String given, path: String = "", pathOptions: Strings = "null") ANY;
    "apoc.convert.getJsonPropertyMap" "apoc.convert.getjsonpropertymap"
        (node: Node given, key: String given, path: String = "", pathOptions: Strings = "null") MAP;
    "apoc.convert.toJson" "apoc.convert.tojson" (value: Any) STR;
    "apoc.convert.toList" "apoc.convert.tolist" (value: Any) LIST;
    "apoc.convert.toMap" "apoc.convert.tomap" (map: Any) MAP;
    "apoc.convert.toNode" "apoc.convert.tonode" (node: Any) NODE;
    "apoc.convert.toNodeList" "apoc.convert.tonodelist" (list: Any) LIST;
    "apoc.convert.toRelationship" "apoc.convert.torelationship" (rel: Any) REL;
    "apoc.convert.toRelationshipList" "apoc.convert.torelationshiplist" (relList: Any) LIST;
    "apoc.convert.toSet" "apoc.convert.toset" (list: Any) LIST;
    "apoc.convert.toSortedJsonMap" "apoc.convert.tosortedjsonmap"
        (value: Any given, ignoreCase: Boolean given = "true") STR;
    "apoc.create.uuid" "apoc.create.uuid" () STR volatile;
    "apoc.create.uuidBase64" "apoc.create.uuidbase64" () STR volatile;
    "apoc.create.uuidBase64ToHex" "apoc.create.uuidbase64tohex" (base64Uuid: String given) STR;
    "apoc.create.uuidHexToBase64" "apoc.create.uuidhextobase64" (uuid: String given) STR;
    "apoc.create.virtual.fromNode" "apoc.create.virtual.fromnode"
        (node: Node given, propertyNames: Strings given) ANY volatile;
    "apoc.create.vNode" "apoc.create.vnode" (labels: Strings, props: Map given = "{}") ANY volatile;
    "apoc.create.vRelationship" "apoc.create.vrelationship"
        (from: Node given, relType: String given, props: Map given, to: Node given) ANY volatile;
    "apoc.data.url" "apoc.data.url" (url: String) MAP;
    "apoc.date.add" "apoc.date.add"
        (time: Integer given, unit: String, addValue: Integer given, addUnit: String) INT;
    "apoc.date.convert" "apoc.date.convert" (time: Integer given, unit: String, toUnit: String) INT;
    "apoc.date.convertFormat" "apoc.date.convertformat"
        (temporal: String, currentFormat: String given, convertTo: String given = "yyyy-MM-dd") STR;
    "apoc.date.currentTimestamp" "apoc.date.currenttimestamp" () INT volatile;
    "apoc.date.field" "apoc.date.field"
        (time: Integer, unit: String given = "d", timezone: String given = "UTC") INT;
    "apoc.date.fields" "apoc.date.fields"
        (date: String, pattern: String given = "yyyy-MM-dd HH:mm:ss") MAP;
    "apoc.date.format" "apoc.date.format"
        (time: Integer, unit: String = "ms",
        format: String = "yyyy-MM-dd HH:mm:ss", timezone: String = "") STR;
    "apoc.date.fromISO8601" "apoc.date.fromiso8601" (time: String) INT;
    "apoc.date.parse" "apoc.date.parse"
        (time: String, unit: String = "ms",
        format: String given = "yyyy-MM-dd HH:mm:ss", timezone: String = "") INT;
    "apoc.date.systemTimezone" "apoc.date.systemtimezone" () STR;
    "apoc.date.toISO8601" "apoc.date.toiso8601" (time: Integer, unit: String = "ms") STR;
    "apoc.date.toYears" "apoc.date.toyears"
        (value: Any given, format: String = "yyyy-MM-dd HH:mm:ss") FLOAT;
    "apoc.diff.nodes" "apoc.diff.nodes" (leftNode: Node given, rightNode: Node given) MAP;
    "apoc.hashing.fingerprint" "apoc.hashing.fingerprint"
        (object: Any, excludedPropertyKeys: Strings = "[]") STR;
    "apoc.hashing.fingerprinting" "apoc.hashing.fingerprinting"
        (object: Any, config: Map = "{}") STR;
    "apoc.json.path" "apoc.json.path"
        (json: String, path: String = "$", pathOptions: Strings = "null") ANY;
    "apoc.label.exists" "apoc.label.exists" (node: Any, label: String given) BOOL;
    "apoc.map.clean" "apoc.map.clean" (map: Map given, keys: Strings given, values: List given) MAP;
    "apoc.map.flatten" "apoc.map.flatten" (map: Map given, delimiter: String = ".") MAP;
    "apoc.map.fromLists" "apoc.map.fromlists" (keys: Strings given, values: List given) MAP;
    "apoc.map.fromPairs" "apoc.map.frompairs" (pairs: Lists given) MAP;
    "apoc.map.fromValues" "apoc.map.fromvalues" (values: List given) MAP;
    "apoc.map.get" "apoc.map.get"
        (map: Map given, key: String, value: Any = "null", fail: Boolean given = "true") ANY;
    "apoc.map.groupBy" "apoc.map.groupby" (values: List given, key: String) MAP;
    "apoc.map.groupByMulti" "apoc.map.groupbymulti" (values: List given, key: String) MAP;
    "apoc.map.merge" "apoc.map.merge" (map1: Map, map2: Map) MAP;
    "apoc.map.mergeList" "apoc.map.mergelist" (maps: Maps given) MAP;
    "apoc.map.mget" "apoc.map.mget"
        (map: Map, keys: Strings, values: List = "[]", fail: Boolean given = "true") LIST;
    "apoc.map.removeKey" "apoc.map.removekey" (map: Map given, key: String, config: Map = "{}") MAP;
    "apoc.map.removeKeys" "apoc.map.removekeys"
        (map: Map given, keys: Strings given, config: Map = "{}") MAP;
    "apoc.map.setEntry" "apoc.map.setentry" (map: Map, key: String, value: Any) MAP;
    "apoc.map.setKey" "apoc.map.setkey" (map: Map, key: String, value: Any) MAP;
    "apoc.map.setLists" "apoc.map.setlists" (map: Map, keys: Strings given, values: List given) MAP;
    "apoc.map.setPairs" "apoc.map.setpairs" (map: Map, pairs: Lists given) MAP;
    "apoc.map.setValues" "apoc.map.setvalues" (map: Map, pairs: List given) MAP;
    "apoc.map.sortedProperties" "apoc.map.sortedproperties"
        (map: Map given, ignoreCase: Boolean given = "true") LIST;
    "apoc.map.submap" "apoc.map.submap"
        (map: Map, keys: Strings, values: List = "[]", fail: Boolean given = "true") MAP;
    "apoc.map.unflatten" "apoc.map.unflatten" (map: Map given, delimiter: String = ".") MAP;
    "apoc.map.updateTree" "apoc.map.updatetree" (tree: Map, key: String, data: Lists given) MAP;
    "apoc.map.values" "apoc.map.values"
        (map: Map, keys: Strings = "[]", addNullsForMissing: Boolean given = "false") LIST;
    "apoc.math.cosh" "apoc.math.cosh" (value: Float) FLOAT;
    "apoc.math.coth" "apoc.math.coth" (value: Float) FLOAT;
    "apoc.math.csch" "apoc.math.csch" (value: Float) FLOAT;
    "apoc.math.maxByte" "apoc.math.maxbyte" () INT;
    "apoc.math.maxDouble" "apoc.math.maxdouble" () FLOAT;
    "apoc.math.maxInt" "apoc.math.maxint" () INT;
    "apoc.math.maxLong" "apoc.math.maxlong" () INT;
    "apoc.math.minByte" "apoc.math.minbyte" () INT;
    "apoc.math.minDouble" "apoc.math.mindouble" () FLOAT;
    "apoc.math.minInt" "apoc.math.minint" () INT;
    "apoc.math.minLong" "apoc.math.minlong" () INT;
    "apoc.math.sech" "apoc.math.sech" (value: Float) FLOAT;
    "apoc.math.sigmoid" "apoc.math.sigmoid" (value: Float) FLOAT;
    "apoc.math.sigmoidPrime" "apoc.math.sigmoidprime" (value: Float) FLOAT;
    "apoc.math.sinh" "apoc.math.sinh" (value: Float) FLOAT;
    "apoc.math.tanh" "apoc.math.tanh" (value: Float) FLOAT;
    "apoc.meta.cypher.isType" "apoc.meta.cypher.istype" (value: Any, type: String given) BOOL;
    "apoc.meta.cypher.type" "apoc.meta.cypher.type" (value: Any) STR;
    "apoc.meta.cypher.types" "apoc.meta.cypher.types" (props: Any) MAP;
    "apoc.node.degree" "apoc.node.degree" (node: Node given, relTypes: String = "") INT;
    "apoc.node.degree.in" "apoc.node.degree.in" (node: Node given, relTypes: String = "") INT;
    "apoc.node.degree.out" "apoc.node.degree.out" (node: Node given, relTypes: String = "") INT;
    "apoc.node.id" "apoc.node.id" (node: Node) INT;
    "apoc.node.labels" "apoc.node.labels" (node: Node) LIST;
    "apoc.node.relationship.exists" "apoc.node.relationship.exists"
        (node: Node given, relTypes: String = "") BOOL;
    "apoc.node.relationship.types" "apoc.node.relationship.types"
        (node: Node, relTypes: String = "") LIST;
    "apoc.node.relationships.exist" "apoc.node.relationships.exist"
        (node: Node, relTypes: String = "") MAP;
    "apoc.nodes.connected" "apoc.nodes.connected"
        (startNode: Node, endNode: Node, types: String = "") BOOL;
    "apoc.nodes.isDense" "apoc.nodes.isdense" (node: Node given) BOOL;
    "apoc.nodes.relationship.types" "apoc.nodes.relationship.types"
        (nodes: Any, types: String = "") LIST;
    "apoc.nodes.relationships.exist" "apoc.nodes.relationships.exist"
        (nodes: Any, types: String = "") LIST;
    "apoc.number.arabicToRoman" "apoc.number.arabictoroman" (number: Any) STR;
    "apoc.number.exact.add" "apoc.number.exact.add" (stringA: String, stringB: String) STR;
    "apoc.number.exact.div" "apoc.number.exact.div"
        (stringA: String, stringB: String,
        precision: Integer = "0", roundingMode: String = "HALF_UP") STR;
    "apoc.number.exact.mul" "apoc.number.exact.mul"
        (stringA: String, stringB: String,
        precision: Integer = "0", roundingMode: String = "HALF_UP") STR;
    "apoc.number.exact.sub" "apoc.number.exact.sub" (stringA: String, stringB: String) STR;
    "apoc.number.exact.toExact" "apoc.number.exact.toexact" (number: Integer) INT;
    "apoc.number.exact.toFloat" "apoc.number.exact.tofloat"
        (string: String, precision: Integer = "0", roundingMode: String = "HALF_UP") FLOAT;
    "apoc.number.exact.toInteger" "apoc.number.exact.tointeger"
        (string: String, precision: Integer = "0", roundingMode: String = "HALF_UP") INT;
    "apoc.number.format" "apoc.number.format"
        (number: Any, pattern: String = "", language: String = "") STR;
    "apoc.number.parseFloat" "apoc.number.parsefloat"
        (text: String, pattern: String = "", language: String = "") FLOAT;
    "apoc.number.parseInt" "apoc.number.parseint"
        (text: String, pattern: String = "", language: String = "") INT;
    "apoc.number.romanToArabic" "apoc.number.romantoarabic" (romanNumber: String) INT;
    "apoc.path.combine" "apoc.path.combine" (path1: Path, path2: Path) PATH;
    "apoc.path.create" "apoc.path.create" (startNode: Node, rels: Relationships = "[]") PATH;
    "apoc.path.elements" "apoc.path.elements" (path: Path) LIST;
    "apoc.path.slice" "apoc.path.slice"
        (path: Path, offset: Integer given = "0", length: Integer given = "-1") PATH;
    "apoc.rel.endNode" "apoc.rel.endnode" (rel: Relationship) NODE;
    "apoc.rel.id" "apoc.rel.id" (rel: Relationship) INT;
    "apoc.rel.startNode" "apoc.rel.startnode" (rel: Relationship) NODE;
    "apoc.rel.type" "apoc.rel.type" (rel: Relationship) STR;
    "apoc.schema.node.constraintExists" "apoc.schema.node.constraintexists"
        (labelName: String given, propertyName: Strings) BOOL;
    "apoc.schema.node.indexExists" "apoc.schema.node.indexexists"
        (labelName: String given, propertyName: Strings) BOOL;
    "apoc.schema.relationship.constraintExists" "apoc.schema.relationship.constraintexists"
        (type: String given, propertyName: Strings) BOOL;
    "apoc.schema.relationship.indexExists" "apoc.schema.relationship.indexexists"
        (type: String given, propertyName: Strings) BOOL;
    "apoc.scoring.existence" "apoc.scoring.existence"
        (score: Integer given, exists: Boolean given) FLOAT;
    "apoc.scoring.pareto" "apoc.scoring.pareto"
        (minimumThreshold: Integer given, eightyPercentValue: Integer given,
        maximumValue: Integer given, score: Integer given) FLOAT;
    "apoc.temporal.format" "apoc.temporal.format"
        (temporal: Any given, format: String given = "yyyy-MM-dd") STR;
    "apoc.temporal.formatDuration" "apoc.temporal.formatduration"
        (input: Any given, format: String given) STR;
    "apoc.temporal.toZonedTemporal" "apoc.temporal.tozonedtemporal"
        (time: String,
        format: String = "yyyy-MM-dd HH:mm:ss", timezone: String given = "UTC") DATETIME;
    "apoc.text.base64Decode" "apoc.text.base64decode" (text: String given) STR;
    "apoc.text.base64Encode" "apoc.text.base64encode" (text: String given) STR;
    "apoc.text.base64UrlDecode" "apoc.text.base64urldecode" (url: String given) STR;
    "apoc.text.base64UrlEncode" "apoc.text.base64urlencode" (url: String given) STR;
    "apoc.text.byteCount" "apoc.text.bytecount"
        (text: String given, charset: String given = "UTF-8") INT;
    "apoc.text.bytes" "apoc.text.bytes" (text: String given, charset: String given = "UTF-8") LIST;
    "apoc.text.camelCase" "apoc.text.camelcase" (text: String given) STR;
    "apoc.text.capitalize" "apoc.text.capitalize" (text: String given) STR;
    "apoc.text.capitalizeAll" "apoc.text.capitalizeall" (text: String given) STR;
    "apoc.text.charAt" "apoc.text.charat" (text: String, index: Integer) INT;
    "apoc.text.clean" "apoc.text.clean" (text: String) STR;
    "apoc.text.code" "apoc.text.code" (codepoint: Integer) STR;
    "apoc.text.compareCleaned" "apoc.text.comparecleaned" (text1: String, text2: String) BOOL;
    "apoc.text.decapitalize" "apoc.text.decapitalize" (text: String) STR;
    "apoc.text.decapitalizeAll" "apoc.text.decapitalizeall" (text: String given) STR;
    "apoc.text.distance" "apoc.text.distance" (text1: String, text2: String) INT;
    "apoc.text.doubleMetaphone" "apoc.text.doublemetaphone" (value: String) STR;
    "apoc.text.format" "apoc.text.format"
        (text: String, params: List, language: String given = "en") STR;
    "apoc.text.fuzzyMatch" "apoc.text.fuzzymatch" (text1: String, text2: String) BOOL;
    "apoc.text.hammingDistance" "apoc.text.hammingdistance" (text1: String, text2: String) INT;
    "apoc.text.hexCharAt" "apoc.text.hexcharat" (text: String, index: Integer) STR;
    "apoc.text.hexValue" "apoc.text.hexvalue" (value: Integer) STR;
    "apoc.text.indexesOf" "apoc.text.indexesof"
        (text: String, lookup: String, from: Integer given = "0", to: Integer given = "-1") LIST;
    "apoc.text.indexOf" "apoc.text.indexof"
        (text: String, lookup: String, from: Integer given = "0", to: Integer given = "-1") INT;
    "apoc.text.jaroWinklerDistance" "apoc.text.jarowinklerdistance"
        (text1: String, text2: String) FLOAT;
    "apoc.text.join" "apoc.text.join" (texts: Strings, delimiter: String) STR;
    "apoc.text.levenshteinDistance" "apoc.text.levenshteindistance"
        (text1: String, text2: String) INT;
    "apoc.text.levenshteinSimilarity" "apoc.text.levenshteinsimilarity"
        (text1: String, text2: String) FLOAT;
    "apoc.text.lpad" "apoc.text.lpad"
        (text: String given, count: Integer given, delimiter: String = " ") STR;
    "apoc.text.phonetic" "apoc.text.phonetic" (text: String) STR;
    "apoc.text.random" "apoc.text.random"
        (length: Integer given, valid: String given = "A-Za-z0-9") STR volatile;
    "apoc.text.regexGroups" "apoc.text.regexgroups" (text: String, regex: String) LIST;
    "apoc.text.regexGroupsByName" "apoc.text.regexgroupsbyname" (text: String, regex: String) LIST;
    "apoc.text.regreplace" "apoc.text.regreplace"
        (text: String, regex: String, replacement: String) STR;
    "apoc.text.repeat" "apoc.text.repeat" (item: String given, count: Integer given) STR;
    "apoc.text.replace" "apoc.text.replace" (text: String, regex: String, replacement: String) STR;
    "apoc.text.rpad" "apoc.text.rpad"
        (text: String given, count: Integer given, delimiter: String = " ") STR;
    "apoc.text.slug" "apoc.text.slug" (text: String, delimiter: String = "-") STR;
    "apoc.text.snakeCase" "apoc.text.snakecase" (text: String given) STR;
    "apoc.text.sorensenDiceSimilarity" "apoc.text.sorensendicesimilarity"
        (text1: String, text2: String, languageTag: String = "en") FLOAT;
    "apoc.text.split" "apoc.text.split" (text: String, regex: String, limit: Integer = "0") LIST;
    "apoc.text.swapCase" "apoc.text.swapcase" (text: String) STR;
    "apoc.text.toCypher" "apoc.text.tocypher" (value: Any, config: Map given = "{}") STR;
    "apoc.text.toUpperCase" "apoc.text.touppercase" (text: String given) STR;
    "apoc.text.upperCamelCase" "apoc.text.uppercamelcase" (text: String given) STR;
    "apoc.text.urldecode" "apoc.text.urldecode" (text: String given) STR;
    "apoc.text.urlencode" "apoc.text.urlencode" (text: String given) STR;
    "apoc.util.compress" "apoc.util.compress" (data: String given, config: Map = "{}") ANY;
    "apoc.util.decompress" "apoc.util.decompress" (data: Bytes given, config: Map = "{}") STR;
    "apoc.util.md5" "apoc.util.md5" (values: List given) STR;
    "apoc.util.sha1" "apoc.util.sha1" (values: List given) STR;
    "apoc.util.sha256" "apoc.util.sha256" (values: List given) STR;
    "apoc.util.sha384" "apoc.util.sha384" (values: List given) STR;
    "apoc.util.sha512" "apoc.util.sha512" (values: List given) STR;
    "apoc.util.validatePredicate" "apoc.util.validatepredicate"
        (predicate: Boolean given, message: String, params: List) BOOL;
    "apoc.version" "apoc.version" () STR;
    "apoc.xml.parse" "apoc.xml.parse"
        (data: String, path: String = "/", config: Map = "{}", simple: Boolean given = "false") MAP;
};
