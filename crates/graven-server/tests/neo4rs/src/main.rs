//! What a program with neo4rs sees; GRAVEN_BOLT is the address of the server.

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime};
use neo4rs::{query, BoltType, Error, Graph, Node, Path, Point2D, Relation, Row};

async fn rows(graph: &Graph, text: &str) -> Result<Vec<Row>, Error> {
    let mut stream = graph.execute(query(text)).await?;
    let mut rows = Vec::new();
    while let Some(row) = stream.next().await? {
        rows.push(row);
    }
    Ok(rows)
}

async fn count(graph: &Graph) -> i64 {
    let found = rows(graph, "MATCH (n:Talk) RETURN count(n) AS n").await;
    found.expect("counted")[0].get("n").expect("a number")
}

/// Values that go there and come back.
async fn values(graph: &Graph) {
    let text = "RETURN $b AS b, $i AS i, $f AS f, $s AS s, $l AS l, $y AS y, $d AS d, $n AS n";
    let date = NaiveDate::from_ymd_opt(2024, 2, 29).expect("a date");
    let asked = query(text)
        .param("b", true)
        .param("i", i64::MAX)
        .param("f", 1.5)
        .param("s", "Gr\u{fc}\u{df}e")
        .param("l", vec![1_i64, 2])
        .param("y", vec![0_u8, 255])
        .param("d", date)
        .param("n", BoltType::Null(neo4rs::BoltNull));
    let mut stream = graph.execute(asked).await.expect("asked");
    let row = stream.next().await.expect("read").expect("a row");
    assert!(row.get::<bool>("b").expect("b"));
    assert_eq!(row.get::<i64>("i").expect("i"), i64::MAX);
    assert_eq!(row.get::<f64>("f").expect("f"), 1.5);
    assert_eq!(row.get::<String>("s").expect("s"), "Gr\u{fc}\u{df}e");
    assert_eq!(row.get::<Vec<i64>>("l").expect("l"), [1, 2]);
    assert_eq!(row.get::<NaiveDate>("d").expect("d"), date);
    assert_eq!(row.get::<Option<i64>>("n").expect("n"), None);
    let text = "RETURN time('12:30:15.5+01:00') AS t, localtime('12:30') AS lt, \
                datetime('2024-07-01T12:00:00.000000005+02:00') AS dt, \
                localdatetime('2024-07-01T12:00') AS ldt, point({x: 1.0, y: 2.0}) AS p";
    let row = &rows(graph, text).await.expect("asked")[0];
    let half = NaiveTime::from_hms_opt(12, 30, 0).expect("a time");
    assert_eq!(row.get::<NaiveTime>("lt").expect("lt"), half);
    let moment: DateTime<FixedOffset> = row.get("dt").expect("dt");
    assert_eq!(moment.timestamp(), 1_719_828_000);
    let local: NaiveDateTime = row.get("ldt").expect("ldt");
    assert_eq!(local.to_string(), "2024-07-01 12:00:00");
    let point: Point2D = row.get("p").expect("p");
    assert_eq!((point.x(), point.y()), (1.0, 2.0));
}

/// Nodes, relationships and paths.
async fn graphs(graph: &Graph) {
    let text = "CREATE p = (a:Talk {i: 1})-[r:KNOWS {since: 7}]->(:Talk) RETURN a, r, p";
    let row = &rows(graph, text).await.expect("made")[0];
    let node: Node = row.get("a").expect("a node");
    assert_eq!(node.labels(), ["Talk"]);
    assert_eq!(node.get::<i64>("i").expect("a property"), 1);
    let relation: Relation = row.get("r").expect("a relationship");
    assert_eq!((relation.typ(), relation.start_node_id()), ("KNOWS", node.id()));
    assert_eq!(relation.get::<i64>("since").expect("a property"), 7);
    let path: Path = row.get("p").expect("a path");
    assert_eq!((path.nodes().len(), path.rels().len()), (2, 1));
}

async fn transactions(graph: &Graph) {
    let before = count(graph).await;
    let mut undone = graph.start_txn().await.expect("begun");
    undone.run(query("CREATE (:Talk)")).await.expect("made");
    undone.rollback().await.expect("rolled back");
    assert_eq!(count(graph).await, before);
    let mut done = graph.start_txn().await.expect("begun");
    done.run(query("CREATE (:Talk)")).await.expect("made");
    let mut stream = done
        .execute(query("MATCH (n:Talk) RETURN count(n) AS n"))
        .await
        .expect("asked");
    let row = stream.next(done.handle()).await.expect("read");
    let seen: i64 = row.expect("a row").get("n").expect("a number");
    assert_eq!(seen, before + 1);
    done.commit().await.expect("committed");
    assert_eq!(count(graph).await, before + 1);
}

async fn errors(graph: &Graph) {
    for (text, code) in [
        ("RETURN", "Neo.ClientError.Statement.SyntaxError"),
        ("RETURN 1 / 0", "Neo.ClientError.Statement.ArithmeticError"),
    ] {
        let failed = rows(graph, text).await.err().expect(text);
        let said = format!("{failed:?}");
        assert!(said.contains(code), "{text}: {said}");
    }
    // The connection is of use after that.
    assert_eq!(rows(graph, "RETURN 1 AS x").await.expect("asked").len(), 1);
}

#[tokio::main]
async fn main() {
    let address = std::env::var("GRAVEN_BOLT").expect("GRAVEN_BOLT");
    let graph = Graph::new(&address, "any", "at all").await.expect("connected");
    values(&graph).await;
    graphs(&graph).await;
    transactions(&graph).await;
    errors(&graph).await;
    let many = rows(&graph, "UNWIND range(1, 20000) AS x RETURN x").await;
    let many = many.expect("asked");
    assert_eq!(many.len(), 20_000);
    assert_eq!(many[19_999].get::<i64>("x").expect("x"), 20_000);
}
