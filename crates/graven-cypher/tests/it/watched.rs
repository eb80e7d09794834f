//! Goal: a rule that breaks a plan is named, and what fires is recorded with what lies around it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use graven_cypher::plan::mutant::{self, Mutant};
use graven_cypher::plan::trace::{self, Context, Rule};
use graven_cypher::{IndexView, LabelIndex, Named, ParameterNames, SchemaView, parse_and_plan};

use crate::schema::Social;

const OPTIONAL_COUNTED: &str = "MATCH (a:Person) OPTIONAL MATCH (a)-[:KNOWS]->(b:Person) \
     MATCH (b)-[:KNOWS]->(c:Person) RETURN count(*)";

fn planned(text: &str) -> graven_cypher::Plan {
    let plan = parse_and_plan(text, &Social, &ParameterNames::Any);
    plan.unwrap_or_else(|d| panic!("{text}: {}", d.render()))
}

#[test]
fn the_rule_that_breaks_a_plan_is_named() {
    planned(OPTIONAL_COUNTED);
    mutant::activate(Some(Mutant::AggregatePushDownAcrossOptional));
    let broken = catch_unwind(AssertUnwindSafe(|| planned(OPTIONAL_COUNTED)));
    mutant::activate(None);
    let panic = broken.expect_err("the plan is broken");
    let message = panic.downcast_ref::<String>().expect("a text");
    assert!(
        message.contains(
            "aggregate_push_down made a plan that is not executable: CountMatches reads `b`"
        ),
        "{message}"
    );
}

#[test]
fn what_fires_is_recorded_with_its_surroundings() {
    let fired = |text: &str| {
        trace::start();
        planned(text);
        trace::take()
    };
    let on_optional = fired(OPTIONAL_COUNTED);
    assert!(on_optional.contains_key(&(Rule::AggregatePushDown, Context::OnOptional)));
    assert!(!on_optional.contains_key(&(Rule::AggregatePushDown, Context::BesideWrite)));
    let subquery =
        fired("MATCH (p:Person) CALL (p) { MATCH (q:Person {id: p.age}) RETURN q } RETURN q");
    for context in [Context::Anywhere, Context::InSubquery, Context::Correlated] {
        assert!(
            subquery.contains_key(&(Rule::IndexSeek, context)),
            "{context:?}: {subquery:?}"
        );
    }
    let optional = fired("MATCH (p:Person) OPTIONAL MATCH (p)-[:KNOWS]->(q:Person) RETURN p, q");
    assert!(optional.contains_key(&(Rule::PushFiltersIntoExpand, Context::InOptional)));
    let write = fired("MATCH (p:Person) CREATE (:Person {id: p.id})");
    assert!(!write.contains_key(&(Rule::Eager, Context::BesideWrite)));
    let eager = fired("MATCH (p:Person), (q:Person) CREATE (:Person {id: p.id})");
    assert!(eager.contains_key(&(Rule::Eager, Context::BesideWrite)));
    // Nothing is recorded before the start and after the end.
    planned(OPTIONAL_COUNTED);
    assert!(trace::take().is_empty());
}

#[test]
fn plans_that_can_be_run_pass() {
    for text in [
        // What an inner tree finds is handed to a tree inside of it.
        "OPTIONAL MATCH (v) WHERE EXISTS { MATCH (v) } OPTIONAL MATCH (v)<--(w) RETURN w",
        "OPTIONAL MATCH (v) WHERE (v)<-[:KNOWS]-(v)<-[:KNOWS]-() RETURN v.id",
        "MATCH (p:Person) CALL (p) { RETURN p.id AS x UNION MATCH (q {id: p.id}) RETURN q.id AS x \
            } RETURN p, x",
        "MATCH (p:Person) MERGE (p)-[r:KNOWS {since: p.id}]->(q:Person) ON MATCH SET r.n = q.id \
            RETURN r, q",
    ] {
        planned(text);
    }
}

#[test]
fn every_mutant_belongs_to_a_rule_and_is_listed_once() {
    let mut mutants: Vec<Mutant> = Mutant::ALL.iter().map(|(mutant, _)| *mutant).collect();
    mutants.sort();
    mutants.dedup();
    assert_eq!(mutants.len(), Mutant::ALL.len());
    for (_, rule) in Mutant::ALL {
        assert!(Rule::ALL.contains(&rule));
    }
}

/// The social network for two threads, with an index over two properties and counts of ends.
struct Divided;

impl SchemaView for Divided {
    fn node_count(&self) -> u64 {
        Social.node_count()
    }
    fn label_count(&self, label: &str) -> Option<u64> {
        Social.label_count(label)
    }
    fn type_count(&self, rel_type: &str) -> Option<u64> {
        Social.type_count(rel_type)
    }
    fn nodes_with(&self, rel_type: &str, _: bool) -> Option<u64> {
        Social.type_count(rel_type)
    }
    fn endpoint_degree(&self, rel_type: &str, _: bool) -> Option<f64> {
        Some(Social.type_count(rel_type)? as f64)
    }
    fn relationship_count(&self) -> u64 {
        Social.relationship_count()
    }
    fn pattern_count(&self, start: Option<&str>, rel_type: Option<&str>, end: Option<&str>) -> u64 {
        Social.pattern_count(start, rel_type, end)
    }
    fn knows_key(&self, key: &str) -> bool {
        Social.knows_key(key)
    }
    fn index(&self, label: &str, key: &str) -> Option<IndexView> {
        Social.index(label, key)
    }
    fn indexes(&self, label: &str) -> Vec<LabelIndex> {
        let keys = vec![Arc::from("lastName"), Arc::from("age")];
        let index = LabelIndex {
            keys,
            unique: false,
            distinct: 10_000,
        };
        (label == "Person").then_some(index).into_iter().collect()
    }
    fn names(&self, of: Named) -> Vec<String> {
        Social.names(of)
    }
    fn threads(&self) -> usize {
        2
    }
    fn divides_always(&self) -> bool {
        true
    }
}

/// For each side condition a statement whose plan it decides.
const DECIDED: &[(Mutant, &str)] = &[
    (
        Mutant::InterestingOrdersWithoutSkip,
        "MATCH (p:Person) RETURN p ORDER BY p.birthday SKIP 5 LIMIT 10",
    ),
    (
        Mutant::ColumnPruningInside,
        "MATCH (p:Person) MERGE (p)-[r:KNOWS]->(q:Person {id: 1}) ON MATCH SET r.n = q.id",
    ),
    (
        Mutant::UniquenessByEndpointsAnyPattern,
        "MATCH (a:Person {id: 1})-[:KNOWS|HAS_INTEREST]->(b)-[:KNOWS]->(c) RETURN c",
    ),
    (
        Mutant::UniquenessByEndpointsRead,
        "MATCH (a:Person {id: 1})-[r:KNOWS]-(b)-[:KNOWS]-(c) RETURN r, c",
    ),
    (
        Mutant::ReachabilityBelowLimit,
        "MATCH (:Person {id: 1})-[:KNOWS*1..3]-(f) WITH f LIMIT 10 RETURN DISTINCT f",
    ),
    (
        Mutant::ReachabilityDuplicates,
        "MATCH (:Person {id: 1})-[:KNOWS*1..3]-(f) RETURN count(f)",
    ),
    (
        Mutant::ReachabilityAlwaysProven,
        "MATCH (:Person {id: 1})-[:KNOWS*2..3]-(f) RETURN count(DISTINCT f)",
    ),
    (
        Mutant::AggregatePushDownOtherVariables,
        "UNWIND $ids AS i MATCH (p:Person {id: 1})-[:KNOWS*1..3]-(f) WITH DISTINCT p, f, i \
            RETURN p, count(f)",
    ),
    (
        Mutant::AggregatePushDownAnyKeys,
        "MATCH (p:Person {firstName: 'a'})-[:KNOWS*1..2]-(f) RETURN count(DISTINCT f)",
    ),
    (
        Mutant::AggregatePushDownEmptyGroups,
        "UNWIND $ids AS i MATCH (:Person {id: i})-[:KNOWS*1..3]-(f) RETURN i, count(DISTINCT f)",
    ),
    (
        Mutant::EagerIgnoresReads,
        "MATCH (a:Person)-[:KNOWS]->(b) CREATE (a)-[:KNOWS]->(:Thing)",
    ),
    (
        Mutant::EagerIgnoresWrites,
        "MATCH (a:Person)-[:KNOWS]->(b) SET b.age = 1 SET a.age = 2",
    ),
    (
        Mutant::EagerAllUnique,
        "MATCH (a:Person)-[:KNOWS]->(b) SET b.age = 1 RETURN b.age",
    ),
    (
        Mutant::PushFiltersIntoExpandJoinShared,
        "MATCH (a:Person {id: 1})-[:KNOWS]->(b)-[:HAS_INTEREST]->(c)-[:KNOWS]-(a) RETURN b, c",
    ),
    (
        Mutant::PushFiltersIntoExpandOnNamed,
        "MATCH (a:Person {id: 1})-[r:KNOWS]->(b) WHERE a <> b RETURN r",
    ),
    (
        Mutant::SemiJoinReductionHalfAnOr,
        "MATCH (x:Tag {id: 1}) MATCH (f:Person {id: 2}) WITH x, f MATCH \
            (f)<-[:HAS_CREATOR]-(m)-[:HAS_TAG]->(t) \
         WHERE t = x OR m.id > 5 RETURN m",
    ),
    (
        Mutant::AggregatePushDownSharedRelationships,
        "MATCH (a:Person {id: 1})-[:KNOWS|HAS_INTEREST]->(b)-[:KNOWS|IS_LOCATED_IN]->(c) RETURN \
            count(*)",
    ),
    (
        Mutant::AggregatePushDownLosesRow,
        "MATCH (a:Person)-[:KNOWS]-(b:Person)-[:KNOWS]-(c:Person) RETURN count(*)",
    ),
    (
        Mutant::AggregatePushDownNullable,
        "MATCH (a:Person) OPTIONAL MATCH (a)-[:KNOWS]->(b) RETURN count(b)",
    ),
    (
        Mutant::AggregatePushDownExtremeOfBranch,
        "MATCH (a:Person)-[k:KNOWS]->(b)-[:HAS_INTEREST]->(t) RETURN a, max(k.since)",
    ),
    (
        Mutant::AggregatePushDownDuplicates,
        "MATCH (a:Person)-[:KNOWS]->(b) RETURN count(*), sum(a.age)",
    ),
    (Mutant::AggregatePushDownAcrossOptional, OPTIONAL_COUNTED),
    (
        Mutant::IndexRangeAnyKey,
        "MATCH (p:Person) WHERE p.id > 1 AND p.firstName < 'b' AND p.age > 3 RETURN p",
    ),
    (
        Mutant::ComputedLabelsCover,
        "MATCH (n:$($names) {age: 3}) RETURN n",
    ),
    (
        Mutant::IdSeekAnyComparison,
        "MATCH (n) WHERE id(n) > 3 RETURN n",
    ),
    (
        Mutant::RelationshipSeekAnyComparison,
        "MATCH ()-[r]->() WHERE id(r) > 3 RETURN r",
    ),
    (
        Mutant::InterestingOrdersWithoutNulls,
        "MATCH (p:Person) RETURN p.id ORDER BY p.firstName LIMIT 5",
    ),
    (
        Mutant::InterestingOrdersDistinctAnywhere,
        "MATCH (p:Person) RETURN DISTINCT p.firstName",
    ),
    (
        Mutant::ColumnPruningEndsLists,
        "MATCH (p:Person) WITH p.age AS g, collect(p) AS ps UNWIND ps AS x RETURN x, size(ps)",
    ),
    (
        Mutant::ParallelAnyAggregate,
        "MATCH (p:Person) RETURN avg(p.age)",
    ),
    (
        Mutant::HashJoinSharedRelationships,
        "MATCH (a:Person {id: 1})-[:KNOWS]->(b:Person), (c:Person)-[:KNOWS]->(d:Person) WHERE \
            b.age = d.age RETURN a, c",
    ),
    (
        Mutant::HashJoinUnjudged,
        "MATCH (a:Person), (b:Tag) WHERE a.age = b.age RETURN a, b",
    ),
    (
        Mutant::IndexScanMissingKeys,
        "MATCH (p:Person {lastName: 'a'}) RETURN p",
    ),
    (
        Mutant::SeekCoversOthers,
        "MATCH (p:Person {id: 1, age: 3}) RETURN p",
    ),
    (
        Mutant::ConditionsDifferEarly,
        "MATCH (p:Person) WHERE rand() < 0.5 RETURN p",
    ),
    (
        Mutant::ReachabilityRandom,
        "MATCH (a:Person)-[:KNOWS*1..2]->(b) RETURN DISTINCT rand() AS r",
    ),
    (
        Mutant::AggregatePushDownRandomKeys,
        "MATCH (a:Person)-[:KNOWS]->(b) RETURN rand() AS r, count(*) AS c",
    ),
    (
        Mutant::ConditionsBeforeShortest,
        "MATCH SHORTEST 1 (a:Person {id: 1})-[r:KNOWS*]->(b:Person {id: 2}) WHERE all(x IN r WHERE \
            x.age > 1) RETURN r",
    ),
];

#[test]
fn every_side_condition_decides_a_plan() {
    let plan = |text: &str| {
        let plan = parse_and_plan(text, &Divided, &ParameterNames::Any);
        let plan = plan.unwrap_or_else(|d| panic!("{text}: {}", d.render()));
        format!("{:?}", plan.root)
    };
    let mut without: Vec<Mutant> = Vec::new();
    for (mutant, _) in Mutant::ALL {
        let mut decided = DECIDED.iter().filter(|(own, _)| *own == mutant);
        let changes = decided.any(|(_, text)| {
            let right = plan(text);
            mutant::activate(Some(mutant));
            // A plan that the check refuses is another one, too.
            let wrong = catch_unwind(AssertUnwindSafe(|| plan(text)));
            mutant::activate(None);
            wrong.ok() != Some(right)
        });
        if !changes {
            without.push(mutant);
        }
    }
    assert!(without.is_empty(), "no plan changes without {without:?}");
}
