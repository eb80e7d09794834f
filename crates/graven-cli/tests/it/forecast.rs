//! Goal: a forecast for the graph that was measured is the measurement, one for a larger graph
//! grows, and what cannot be forecast is named.

use crate::program::{graven, network};

fn forecast(more: &[&str]) -> serde_json::Value {
    let db = &network().db;
    let common = ["lab", "forecast", db, "--starts", "20", "--time", "1ms"];
    let said = graven([&common[..], &["--json"], more].concat()).ok();
    serde_json::from_str(&said.out).expect("JSON")
}

fn numbers(answers: &serde_json::Value, key: &str) -> Vec<f64> {
    let answers = answers["answers"].as_array().expect("answers");
    assert_eq!(answers.len(), 3);
    let number = |answer: &serde_json::Value| answer[key].as_f64().expect("a number");
    answers.iter().map(number).collect()
}

#[test]
fn the_same_graph_is_forecast_as_it_is_measured() {
    let result = forecast(&["--memory", "8MiB", "--against", &network().db]);
    assert_eq!(result["growth"]["nodes"], 1.0);
    let there = numbers(&result["there"], "reached");
    let measured = numbers(&result["measured"], "reached");
    assert!(
        measured[0] > 1.0 && measured[2] > measured[0],
        "{measured:?}"
    );
    for (there, measured) in there.iter().zip(&measured) {
        assert!(
            (there - measured).abs() < 1e-6 * measured,
            "{there} {measured}"
        );
    }
}

#[test]
fn a_larger_graph_is_forecast_with_its_share_of_the_memory() {
    let result = forecast(&["--memory", "1GiB", "--scale", "100"]);
    assert_eq!(result["here"]["memory"], (1_u64 << 30) / 100);
    assert!(result["measured"].is_null());
    let here = numbers(&result["here"], "reached");
    let there = numbers(&result["there"], "reached");
    assert!((there[0] / here[0] - 1.0).abs() < 0.2, "{here:?} {there:?}");
    assert!(there[2] > here[2], "{here:?} {there:?}");
}

#[test]
fn what_cannot_be_forecast_is_named() {
    let db = &network().db;
    let failed = |more: &[&str]| {
        let said = graven([&["lab", "forecast", db][..], more].concat());
        assert_eq!(said.code, 1, "{}", said.err);
        said.err
    };
    let little = failed(&["--memory", "8MiB", "--scale", "100"]);
    assert!(little.contains("83886 bytes for this one"), "{little}");
    let none = failed(&["--memory", "8MiB", "--scale", "2", "--label", "Persn"]);
    assert!(none.contains("no nodes with the label `Persn`"), "{none}");
    let none = failed(&["--memory", "8MiB", "--scale", "2", "--type", "LIKES"]);
    assert!(
        none.contains("no relationships of the type `LIKES`"),
        "{none}"
    );
    let below = failed(&["--memory", "8MiB", "--scale=-1"]);
    assert!(below.contains("above 0"), "{below}");
}
