//! Goal: vectors come back from files, also as columns of tables, and nulls among them take no
//! memory beside the budget.

use graven::{Config, Database, Error, Params};

fn database(memory: Option<u64>) -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    if let Some(memory) = memory {
        config.memory = memory;
    }
    let db = Database::open(folder.path().join("it.graven"), config).expect("opened");
    (folder, db)
}

fn query(db: &Database, text: &str) -> Result<Vec<String>, Error> {
    let rows = db.connect().query(text, &Params::new())?;
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let row = |row: &graven::Row| {
        let values: Vec<String> = row.values().iter().map(ToString::to_string).collect();
        values.join("|")
    };
    Ok(rows.iter().map(row).collect())
}

fn run(db: &Database, text: &str) -> Vec<String> {
    query(db, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Method: the columns of each label hold vectors of one type, lists of such, and nulls.
#[test]
fn exported_vectors_are_imported() {
    let (folder, db) = database(None);
    for text in [
        "CREATE NODE TABLE T(id INT64, v VECTOR<FLOAT32>(2), w VECTOR, l VECTOR<INTEGER8>(1)[], \
            PRIMARY KEY(id))",
        "CREATE (:T {id: 1, v: [0.5, -1], w: vector([7], 1, INT), l: [[1], [2]]}), (:T {id: 2})",
        "CREATE (:V {id: 1, v: vector([0.1, -2.5], 2, FLOAT32), \
            l: [vector([1], 1, INT8), vector([-2], 1, INT8)]}), (:V {id: 2}), \
            (:V {id: 3, v: vector([1e-45, 3e38], 2, FLOAT32), l: []})",
        "MATCH (a:V {id: 1}), (b:V {id: 2}) CREATE (a)-[:R {v: vector([1, 2, 3], 3, INT64)}]->(b)",
    ] {
        run(&db, text);
    }
    let all = [
        "MATCH (n:V) RETURN n.id, n.v, n.l ORDER BY n.id",
        "MATCH (n:T) RETURN n.id, n.v, n.w, n.l ORDER BY n.id",
        "MATCH (a)-[r:R]->(b) RETURN a.id, r.v, b.id",
        "SHOW CONSTRAINTS YIELD name, propertyType RETURN * ORDER BY name",
    ];
    for format in ["parquet", "csv", "json"] {
        let place = folder.path().join(format);
        let place = place.display();
        run(&db, &format!("EXPORT DATABASE '{place}' (FORMAT {format})"));
        let (_other, back) = database(None);
        run(&back, &format!("IMPORT DATABASE '{place}'"));
        for text in all {
            assert_eq!(run(&back, text), run(&db, text), "{format}: {text}");
        }
    }
}

#[test]
fn declared_vectors_are_read() {
    let (folder, db) = database(None);
    let file = folder.path().join("v.csv");
    let rows = "id,v,l\n1,\"[1.5, -2]\",\"[[1], [2]]\"\n2,\"vector([3, 4], 2, FLOAT32)\",[]\n3,,\n";
    std::fs::write(&file, rows).expect("written");
    let file = file.display();
    let wanted = [
        "1|vector([1.5, -2.0], 2, FLOAT32)|[vector([1], 1, INTEGER8), vector([2], 1, INTEGER8)]",
        "2|vector([3.0, 4.0], 2, FLOAT32)|[]",
        "3|null|null",
    ];
    let types = "(id INT64, v VECTOR<FLOAT32>(2), l VECTOR<INT8>(1)[])";
    let load = format!("LOAD FROM '{file}' {types} (HEADER = true)");
    assert_eq!(run(&db, &format!("{load} RETURN id, v, l")), wanted);
    run(
        &db,
        "CREATE NODE TABLE T(id INT64, v VECTOR<FLOAT32>(2), l VECTOR<INT8>(1)[], PRIMARY KEY(id))",
    );
    run(&db, &format!("COPY T FROM '{file}' (HEADER = true)"));
    let read = "RETURN t.id, t.v, t.l ORDER BY t.id";
    assert_eq!(run(&db, &format!("MATCH (t:T) {read}")), wanted);

    // Of any type and dimension: as literals.
    let file = folder.path().join("w.csv");
    let rows = "1,\"vector([1, 2], 2, INT8)\",\"[vector([1], 1, FLOAT)]\"\n2,,\n";
    std::fs::write(&file, rows).expect("written");
    let file = file.display();
    run(
        &db,
        "CREATE NODE TABLE W(id INT64, v VECTOR(2), l VECTOR[], PRIMARY KEY(id))",
    );
    run(&db, &format!("COPY W FROM '{file}' (HEADER = false)"));
    let wanted = [
        "1|vector([1, 2], 2, INTEGER8)|[vector([1.0], 1, FLOAT)]",
        "2|null|null",
    ];
    assert_eq!(run(&db, &format!("MATCH (t:W) {read}")), wanted);
}

#[test]
fn nulls_among_vectors_are_charged() {
    let (folder, db) = database(Some(16 << 20));
    let vector = "CASE i WHEN 1 THEN vector(range(1, 4096), 4096, FLOAT) END";
    let at = folder.path().display();
    for ending in ["parquet", "arrow", "csv"] {
        // 16 MB of coordinates.
        let rows = format!("UNWIND range(1, 500) AS i RETURN i, {vector} AS v");
        run(&db, &format!("COPY ({rows}) TO '{at}/rows.{ending}'"));
        let maps = format!("UNWIND range(1, 500) AS i RETURN {{k: {vector}}} AS m");
        run(&db, &format!("COPY ({maps}) TO '{at}/maps.{ending}'"));
        // All of them in one row.
        let list = format!("RETURN [i IN range(1, 500) | {vector}] AS l");
        let copied = query(&db, &format!("COPY ({list}) TO '{at}/list.{ending}'"));
        let is_there = folder.path().join(format!("list.{ending}")).exists();
        assert_eq!(is_there, ending == "csv");
        match copied {
            Ok(_) => assert_eq!(ending, "csv"),
            Err(error) => assert_eq!(error.code(), "Memory.Limit", "{error}"),
        }
    }
    let (_other, large) = database(None);
    for ending in ["parquet", "csv"] {
        let load = format!("LOAD FROM '{at}/rows.{ending}'");
        let types = match ending {
            "csv" => "(i INT64, v VECTOR<FLOAT>(4096)) (HEADER = true)",
            _ => "",
        };
        let read = format!("{load} {types} RETURN count(*), count(v), sum(size(v))");
        assert_eq!(run(&large, &read), ["500|1|4096"], "{ending}");
    }
}
