//! Goal: paths lead where Jayway's do; what is no path is refused.

use super::*;

const STORE: &str = r#"{"store": {"book": [
    {"title": "A", "price": 8.95, "tags": ["x", "y"]},
    {"title": "B", "price": 12.99, "isbn": "1"},
    {"title": "C", "price": 8, "isbn": "2"}], "open": true}, "limit": 10}"#;

fn found(path: &str) -> String {
    let whole: Json = serde_json::from_str(STORE).expect("JSON");
    let Some(path) = JsonPath::read(path) else {
        return "no path".to_owned();
    };
    match path.find(&whole, &whole).expect("found") {
        Found::One(one) => one.map_or("nothing".to_owned(), ToString::to_string),
        Found::Many(all) => all.into_iter().cloned().collect::<Json>().to_string(),
        Found::Made(made) => made.to_string(),
    }
}

#[test]
fn paths_lead_to_values() {
    for (path, wanted) in [
        ("$.limit", "10"),
        ("limit", "10"),
        ("", STORE_TEXT),
        ("$.store.book[0].title", r#""A""#),
        ("$['store']['book'][-1]['title']", r#""C""#),
        ("$.store.book[7].title", "nothing"),
        ("$.store.book.title", "nothing"),
        ("$.store.book[*].title", r#"["A","B","C"]"#),
        ("$.store.book[0,2].title", r#"["A","C"]"#),
        ("$.store.book[:2].title", r#"["A","B"]"#),
        ("$.store.book[1:].title", r#"["B","C"]"#),
        ("$.store.book[-1:].title", r#"["C"]"#),
        ("$.store.book[0]['title', 'price']", r#"["A",8.95]"#),
        ("$..title", r#"["A","B","C"]"#),
        ("$..tags[0]", r#"["x"]"#),
        ("$.store.book[?(@.isbn)].title", r#"["B","C"]"#),
        ("$.store.book[?(!@.isbn)].title", r#"["A"]"#),
        ("$.store.book[?(@.price < $.limit)].title", r#"["A","C"]"#),
        (
            "$.store.book[?(@.price < 10 && @.isbn == '2')].title",
            r#"["C"]"#,
        ),
        (
            "$.store.book[?(@.title in ['A', 'B'] || @.price == 8)].title",
            r#"["A","B","C"]"#,
        ),
        ("$.store.book[?(@.title nin ['A'])].title", r#"["B","C"]"#),
        ("$.store.book.length()", "3"),
        ("$..price.max()", "12.99"),
        ("$.store.keys()", r#"["book","open"]"#),
        ("$.x", "nothing"),
    ] {
        let wanted = match wanted {
            STORE_TEXT => serde_json::from_str::<Json>(STORE)
                .expect("JSON")
                .to_string(),
            other => other.to_owned(),
        };
        assert_eq!(found(path), wanted, "{path}");
    }
}

const STORE_TEXT: &str = "the whole";

#[test]
fn what_is_no_path_is_refused() {
    let deep = format!("$[?({}@.a{})]", "(".repeat(200), ")".repeat(200));
    for path in [
        "$.",
        "$[",
        "$['a'",
        "$[?(",
        "$[?(@.a ==)]",
        "$[1",
        "$[x]",
        "$..",
        &deep,
    ] {
        assert_eq!(found(path), "no path", "{path}");
    }
}
