//! Goal: a logical plan has none of what only this executor can use, and its JSON is whole.

use std::rc::Rc;

use graven_cypher::{ParameterNames, parse_and_plan, parse_and_plan_logical};
use serde_json::Value;

use crate::schema::Social;

fn logical(text: &str) -> Value {
    let go_on = Rc::new(|| false);
    let plan = parse_and_plan_logical(text, &Social, &ParameterNames::Any, go_on);
    let plan = plan.unwrap_or_else(|d| panic!("{text}: {}", d.render()));
    serde_json::from_str(&plan.to_json()).expect("JSON")
}

/// Names of all operators, each before its inputs.
fn operators(node: &Value) -> Vec<String> {
    let mut names = vec![node["op"].as_str().expect("a name").to_owned()];
    let more = ["input", "inner"].into_iter().map(|key| &node[key]);
    let inputs = node["inputs"].as_array().into_iter().flatten();
    for child in more.filter(|child| child.is_object()).chain(inputs) {
        names.extend(operators(child));
    }
    names
}

#[test]
fn it_ends_when_it_is_not_wanted_any_more() {
    let names = ParameterNames::Any;
    let text = "MATCH (p:Person) RETURN p.id";
    let stopped = parse_and_plan_logical(text, &Social, &names, Rc::new(|| true));
    let error = stopped.expect_err("stopped").render().clone();
    assert!(error.contains("was stopped"), "{error}");
    assert!(parse_and_plan_logical(text, &Social, &names, Rc::new(|| false)).is_ok());
}

#[test]
fn there_are_no_indexes_and_no_fused_counts() {
    let text = "MATCH (p:Person {id: $id})-[:KNOWS]-(:Person)-[:KNOWS]-(f:Person) \
         WHERE NOT (p)-[:KNOWS]-(f) RETURN count(*) AS n";
    let plan = parse_and_plan(text, &Social, &ParameterNames::Any).expect("valid");
    let explained = graven_cypher::explain::explain(&plan);
    assert!(explained.contains("IndexSeek"), "{explained}");
    let plan = logical(text);
    let names = operators(&plan["root"]);
    for needed in ["LabelScan", "Filter", "Expand", "SemiApply", "Aggregate"] {
        let there = names.iter().any(|name| name.ends_with(needed));
        assert!(there, "SK-1: {needed} in {names:?}");
    }
    let others = ["Index", "CountMatches", "Parallel", "TopN"];
    let found = names
        .iter()
        .find(|name| others.iter().any(|other| name.starts_with(other)));
    assert_eq!(found, None, "SK-1: {names:?}");
    assert_eq!(plan["columns"][0]["name"], "n");
    let var = plan["columns"][0]["var"].as_u64().expect("a number");
    assert_eq!(plan["variables"][var as usize]["kind"], "value");
    // The second friendship differs from the first one by its relationship.
    let text = plan.to_string();
    assert!(text.contains(r#""distinct_from":["#), "{text}");
}

#[test]
fn searches_whose_repetitions_do_not_matter_are_told_from_trails() {
    let mode = |text: &str| {
        let mut node = logical(text)["root"].clone();
        while node["op"] != "VarExpand" {
            node = node["input"].clone();
        }
        node["mode"]["is"].as_str().expect("a mode").to_owned()
    };
    let pattern = "MATCH (p:Person)-[:KNOWS*1..3]->(f) RETURN";
    assert_eq!(mode(&format!("{pattern} count(DISTINCT f)")), "reachable");
    assert_eq!(mode(&format!("{pattern} count(f)")), "trails");
}

#[test]
fn expressions_are_written_whole() {
    let plan = logical(
        "UNWIND [1, 2.5, null, 'x', true] AS x WITH x, {k: [y IN [x] WHERE y = 1 | -y]} AS m \
         RETURN CASE WHEN x IS NULL THEN m.k[0] ELSE reduce(s = 0, z IN m.k | s + z) END AS c, \
         any(q IN m.k WHERE 0 < q <= $p) AS a, [1, 2][1..] AS s, toUpper('a') AS t",
    );
    let text = plan.to_string();
    let wanted = [
        r#""type":"float","value":"2.5""#,
        r#""is":"list_comprehension""#,
        r#""is":"reduce""#,
        r#""is":"quantifier""#,
        r#""is":"chain""#,
        r#""is":"slice""#,
        r#""name":"toupper""#,
        r#""is":"parameter","name":"p""#,
    ];
    for part in wanted {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn what_writes_is_only_named() {
    let plan = logical("MATCH (p:Person) SET p.age = 1");
    let written = &plan["root"]["input"];
    assert_eq!(plan["root"]["op"], "EmptyResult");
    assert!(written.is_null(), "SK-2: {plan}");
    assert!(plan["root"]["details"].is_string(), "SK-2: {plan}");
}
