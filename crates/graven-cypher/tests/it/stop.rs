//! Planning that the caller gives up.

use std::cell::Cell;
use std::rc::Rc;

use graven_cypher::{ParameterNames, parse_and_plan_until};

use crate::schema::Social;

/// Goal: planning can be given up at every question that it asks, in the parser, the binder, the
/// planner and its rules, and asks no more after that.
/// Input: a statement whose terms the lexer, the binder and the planner each walk over many times.
#[test]
fn planning_is_given_up_at_any_question() {
    let terms =
        |term: fn(usize) -> String, by: &str| (0..250).map(term).collect::<Vec<_>>().join(by);
    let text = format!(
        "MATCH (p:Person)-[:KNOWS]->(f:Person) WHERE {} OPTIONAL MATCH (f)-[:IS_LOCATED_IN]->(c) \
            WITH DISTINCT f, c ORDER BY f.id LIMIT 10 RETURN count(*), {}",
        terms(|i| format!("p.id = {i} OR f.age + 1 < {i}"), " OR "),
        terms(|i| format!("max(c.name + '{i}') AS c{i}"), ", "),
    );
    let until = |last: usize| {
        let asked = Rc::new(Cell::new(0));
        let count = Rc::clone(&asked);
        let stop = Rc::new(move || {
            count.set(count.get() + 1);
            count.get() == last
        });
        let plan = parse_and_plan_until(&text, &Social, &ParameterNames::Any, stop);
        (plan.map(drop), asked.get())
    };
    let (plan, questions) = until(usize::MAX);
    plan.expect("it is planned");
    // Tokens, names and expressions of the text alone make 16 questions.
    assert!(questions > 60, "{questions} questions");
    for last in 1..=questions {
        let (plan, asked) = until(last);
        let error = plan.expect_err("given up");
        assert!(error.message.contains("stopped"), "{}", error.message);
        assert_eq!(asked, last);
    }
}
