//! Goal: rows of files are rows of statements, and results become files; a failed copy leaves
//! nothing.

use std::path::Path;

use graven::{Access, Config, Connection, Database, Params, Role};

struct Place {
    folder: tempfile::TempDir,
    db: Database,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = Config::default();
        config.create = true;
        let db = Database::open(folder.path().join("files.graven"), config).expect("opened");
        Place { folder, db }
    }

    fn file(&self, name: &str, content: &str) {
        std::fs::write(self.folder.path().join(name), content).expect("written");
    }

    fn connection(&self) -> Connection {
        self.db.connect()
    }

    /// Rows of a statement in which `@` stands for the folder.
    fn rows(&self, text: &str) -> Result<Vec<String>, String> {
        self.rows_with(text, &Params::new())
    }

    fn rows_with(&self, text: &str, params: &Params) -> Result<Vec<String>, String> {
        let folder = self.folder.path().to_str().expect("text");
        let text = text.replace('@', folder);
        let result = self.connection().query(&text, params);
        let rows = result.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
        let rows = rows.map_err(|error| error.to_string().replace(folder, "@"))?;
        let row = |row: &graven::Row| {
            let values = row.values().iter();
            values
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("|")
                .replace('"', "")
        };
        Ok(rows.iter().map(row).collect())
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("listed");
        let names = entries.map(|entry| entry.expect("listed").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.into_string().expect("text"))
            .collect();
        names.retain(|name| !name.starts_with("files.graven"));
        names.sort();
        names
    }
}

fn ok(rows: &[&str]) -> Result<Vec<String>, String> {
    Ok(rows.iter().map(|row| (*row).to_owned()).collect())
}

#[test]
fn rows_of_files_are_rows_of_statements() {
    let place = Place::new();
    place.file(
        "a.csv",
        "name,age,since\nAda,36,2024-01-01\nBo,,2023-05-06\n",
    );
    place.file("b1.csv", "x\n1\n2\n");
    place.file("c.csv", "Ada,1\nBo,2\n");
    place.file("m.csv", "n,m\nAda,\"{k=1, j=2}\"\n");
    place.file("b2.csv", "x\n3\n");
    place.file("a.json", "[{\"k\": 1, \"m\": {\"y\": [1, 2]}}, {\"k\": 2}]");
    let params = Params::new().with("f", "@/a.csv");
    for (text, wanted) in [
        (
            "LOAD FROM '@/a.csv' RETURN name, age + 1, since",
            ok(&["Ada|37|2024-01-01", "Bo|null|2023-05-06"]),
        ),
        (
            "LOAD FROM '@/a.csv' RETURN *",
            ok(&["Ada|36|2024-01-01", "Bo|null|2023-05-06"]),
        ),
        (
            "LOAD FROM '@/a.csv' WHERE age > 5 RETURN name",
            ok(&["Ada"]),
        ),
        (
            "LOAD FROM '@/a.csv' WITH HEADERS (n STRING, a DOUBLE, d STRING) RETURN n, a, d",
            ok(&["Ada|36.0|2024-01-01", "Bo|null|2023-05-06"]),
        ),
        (
            "LOAD WITH HEADERS (n STRING, a INT64, d DATE) FROM '@/a.csv' RETURN n LIMIT 1",
            ok(&["Ada"]),
        ),
        // Without names, and with the option, as Kuzu reads them.
        (
            "LOAD WITH HEADERS (n STRING, x INT64) FROM '@/c.csv' RETURN n, x",
            ok(&["Ada|1", "Bo|2"]),
        ),
        (
            "LOAD WITH HEADERS (n STRING, x STRING) FROM '@/c.csv' (HEADER = 1) RETURN n, x",
            ok(&["Bo|2"]),
        ),
        (
            "LOAD WITH HEADERS (n STRING, m MAP(STRING, INT64)) FROM '@/m.csv' RETURN n, m.k",
            ok(&["Ada|1"]),
        ),
        ("LOAD FROM '@/a.csv' RETURN count(*)", ok(&["2"])),
        ("LOAD FROM '@/b*.csv' RETURN sum(x)", ok(&["6"])),
        (
            "LOAD FROM ['@/b2.csv', '@/b1.csv'] RETURN collect(x)",
            ok(&["[3, 1, 2]"]),
        ),
        (
            "UNWIND [10, 20] AS y LOAD FROM '@/b1.csv' RETURN x + y",
            ok(&["11", "12", "21", "22"]),
        ),
        (
            "LOAD FROM '@/a.json' RETURN k, m.y",
            ok(&["1|[1, 2]", "2|null"]),
        ),
        (
            "LOAD FROM '@/b1.csv' WITH x ORDER BY x DESC RETURN x",
            ok(&["2", "1"]),
        ),
        (
            "LOAD FROM (UNWIND [1, 2] AS i RETURN i) RETURN i",
            ok(&["1", "2"]),
        ),
        (
            "CALL { LOAD FROM '@/b2.csv' RETURN x } RETURN x",
            ok(&["3"]),
        ),
        ("LOAD FROM 'file://@/b2.csv' RETURN x", ok(&["3"])),
    ] {
        assert_eq!(place.rows(text), wanted, "{text}");
    }
    // What a parameter names is looked at anew each time.
    let folder = place.folder.path().to_str().expect("text");
    for (file, wanted) in [("b1.csv", "1"), ("b2.csv", "3")] {
        let params = Params::new().with("f", format!("{folder}/{file}"));
        let rows = place.rows_with("LOAD FROM $f RETURN min(x)", &params);
        assert_eq!(rows, ok(&[wanted]));
    }
    place.file("b2.csv", "z,x\n1,2\n");
    assert_eq!(place.rows("LOAD FROM '@/b2.csv' RETURN z"), ok(&["1"]));
    let missing = place
        .rows_with("LOAD FROM $f RETURN 1", &params)
        .expect_err("no such file");
    assert!(missing.contains("a.csv"), "{missing}");
}

/// Goal: `*` has the columns of a source in its order, before what has no order; a copy takes what
/// a subquery returns by places, with or without names.
#[test]
fn columns_stand_in_the_order_of_the_source() {
    let place = Place::new();
    place.file("p.csv", "name,age\nAda,36\nBo,25\n");
    let all = place.rows("WITH 1 AS z, 2 AS b LOAD FROM '@/p.csv' WHERE age > 30 RETURN *");
    assert_eq!(all, ok(&["Ada|36|2|1"]));
    let made = place.rows("CREATE NODE TABLE P(name STRING, age INT64, PRIMARY KEY(name))");
    assert_eq!(made, ok(&[]));
    let copied = place.rows("COPY P FROM (LOAD FROM '@/p.csv' WHERE age < 30 RETURN *)");
    assert_eq!(copied, ok(&[]));
    let copied = place.rows("COPY P FROM (UNWIND [7] AS i RETURN 'Cy' + i, i + 1)");
    assert_eq!(copied, ok(&[]));
    let all = place.rows("MATCH (p:P) RETURN p.name, p.age ORDER BY p.name");
    assert_eq!(all, ok(&["Bo|25", "Cy7|8"]));
    let named = place.rows("CALL { RETURN 1 + 1 } RETURN 2");
    assert!(named.is_err_and(|error| error.contains("needs a name")));
}

#[test]
fn what_is_wrong_is_named() {
    let place = Place::new();
    place.file("a.csv", "name,age\nAda,36\nBo,ten\nCy\nDi,40\n");
    for (text, parts) in [
        (
            "LOAD FROM '@/none.csv' RETURN 1",
            &["@/none.csv", "No such file"][..],
        ),
        (
            "LOAD FROM '@/a.csv' (n STRING, a INTEGER) (HEADER = true) RETURN a",
            &["@/a.csv, line 3, column a: 'ten' is no INTEGER"],
        ),
        (
            "LOAD FROM '@/a.csv' RETURN ages",
            &["ages", "is not defined"],
        ),
        (
            "LOAD FROM '@/a.csv' (n STRING, a NUMBER) RETURN a",
            &["column a: there is no type NUMBER"],
        ),
        (
            "LOAD FROM '@/a.csv' (COLOUR = 'red') RETURN 1",
            &["there is no option COLOUR"],
        ),
        ("LOAD FROM '@/*.xyz' RETURN 1", &["no file has such a name"]),
        ("LOAD FROM $x RETURN 1", &["$x", "was not given"]),
        ("LOAD FROM 'ftp://x/a.csv' RETURN 1", &["no store has this"]),
        (
            "COPY (RETURN 1 AS a) TO '@/x.what'",
            &["x.what", "does not say what to write"],
        ),
        (
            "COPY (RETURN 1 AS a) TO '@/none/x.csv'",
            &["@/none/x.csv", "No such file"],
        ),
        (
            "COPY KNOWS FROM '@/a.csv' (from = 'P', to = 'P')",
            &["P has no unique property", "CREATE CONSTRAINT"],
        ),
        ("COPY KNOWS FROM '@/a.csv' (from = 'P')", &["two ends"]),
    ] {
        let said = place.rows(text).expect_err(text);
        assert!(
            parts.iter().all(|part| said.contains(part)),
            "{text}: {said}"
        );
    }
    // Rows with errors are left out where that is wanted, and can be asked for.
    let load = "LOAD FROM '@/a.csv' (n STRING, a INTEGER) (HEADER = true, IGNORE_ERRORS = true) \
        RETURN n, a";
    assert_eq!(place.rows(load), ok(&["Ada|36", "Di|40"]));
    let errors = place.rows("CALL graven.loadErrors() YIELD line, column, value");
    assert_eq!(errors, ok(&["3|a|ten", "4|null|null"]));
}

/// Goal: with `IGNORE_ERRORS` rows that cannot be read, have no key or one that exists are left
/// out, and all but those without a key are listed; without it the copy fails, changes nothing.
#[test]
fn copies_leave_out_rows_whose_key_exists() {
    let place = Place::new();
    let run = |text: &str| place.rows(text).expect(text);
    run(
        "CREATE NODE TABLE P(id INT64, name STRING, born DATE DEFAULT date('2000-01-01'), PRIMARY KEY(id))",
    );
    run("CREATE (:P {id: 1, name: 'Ada'})");
    place.file(
        "p.csv",
        "2,Bo,1990-01-01\n1,Again,\nx,Bad,\n3,Cy,\n2,Twice,\n,None,\n",
    );
    assert!(place.rows("COPY P FROM '@/p.csv'").is_err());
    run("COPY P FROM '@/p.csv' (IGNORE_ERRORS = true)");
    let all = "MATCH (p:P) RETURN p.id, p.name, p.born ORDER BY p.id";
    let born = ["1|Ada|2000-01-01", "2|Bo|1990-01-01", "3|Cy|null"];
    assert_eq!(place.rows(all), ok(&born));
    assert_eq!(
        place.rows("CALL graven.loadErrors() YIELD column, value, row RETURN * ORDER BY value"),
        ok(&["id|null|1", "id|null|2", "id|3|x"])
    );
    assert_eq!(
        place.rows("CALL show_warnings() WHERE message CONTAINS 'value 2' RETURN message"),
        ok(&["Found duplicated primary key value 2: a node of P has it"])
    );
    // The next statement that leaves out rows begins a new list; one that does not leaves it.
    place.file("q.csv", "3,Cy,\n4,Di,\n");
    run("COPY P FROM '@/q.csv' (IGNORE_ERRORS = true) IN TRANSACTIONS OF 1 ROWS");
    place.file("r.csv", "5,Ed\n");
    run("COPY P (id, name) FROM '@/r.csv' (IGNORE_ERRORS = true)");
    assert_eq!(
        place.rows("CALL show_warnings() RETURN count(*)"),
        ok(&["1"])
    );
    assert_eq!(place.rows("MATCH (p:P) RETURN count(*)"), ok(&["5"]));
}

#[test]
fn files_are_copied_into_the_database() {
    let place = Place::new();
    place.file("p.csv", "id,name\n1,Ada\n2,Bo\n3,Cy\n");
    place.file("k.csv", "a,b,since\n1,2,2024-01-01\n2,3,\n");
    let run = |text: &str| place.rows(text).expect(text);
    run("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE");
    run("COPY Person FROM '@/p.csv'");
    run("COPY KNOWS FROM '@/k.csv' (from = 'Person', to = 'Person(id)')");
    let all = "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.name, k.since, b.name ORDER BY a.name";
    assert_eq!(place.rows(all), ok(&["Ada|2024-01-01|Bo", "Bo|null|Cy"]));
    // Names in the order of the columns; a query as the source; transactions of their own.
    run("COPY City (nr, title) FROM '@/p.csv'");
    assert_eq!(
        place.rows("MATCH (c:City) RETURN sum(c.nr), min(c.title)"),
        ok(&["6|Ada"])
    );
    run("COPY Town FROM (MATCH (c:City) WHERE c.nr > 1 RETURN c.title AS name)");
    assert_eq!(
        place.rows("MATCH (t:Town) RETURN collect(t.name)"),
        ok(&["[Bo, Cy]"])
    );
    run("COPY Part FROM '@/p.csv' IN TRANSACTIONS OF 2 ROWS");
    assert_eq!(place.rows("MATCH (p:Part) RETURN count(*)"), ok(&["3"]));
    // What fails leaves nothing: a bad value late, a key twice, an end that is not there.
    place.file("bad.csv", &format!("{}x,y\n", "7,z\n".repeat(5000)));
    place.file("twice.csv", "id,name\n8,H\n1,Again\n");
    place.file("lost.csv", "a,b\n1,2\n1,99\n");
    let before = place.rows("MATCH (n) RETURN count(*)");
    for (text, part) in [
        (
            "COPY Bad (id, name) FROM '@/bad.csv' (id INTEGER, name STRING)",
            "line 5001, column id: 'x'",
        ),
        ("COPY Person FROM '@/twice.csv'", "already"),
        (
            "COPY KNOWS FROM '@/lost.csv' (from = 'Person', to = 'Person')",
            "lost.csv, column b: no node with the label Person has the id 99",
        ),
    ] {
        let said = place.rows(text).expect_err(text);
        assert!(said.contains(part), "{text}: {said}");
        assert_eq!(place.rows("MATCH (n) RETURN count(*)"), before, "{text}");
        assert_eq!(
            place.rows("MATCH ()-[k:KNOWS]->() RETURN count(*)"),
            ok(&["2"])
        );
    }
}

/// Goal: with `IGNORE_ERRORS` relationships without a node at an end are left out and listed, one
/// row once.
#[test]
fn copies_leave_out_relationships_without_ends() {
    let place = Place::new();
    let run = |text: &str| place.rows(text).expect(text);
    run("CREATE NODE TABLE P(id INT64, PRIMARY KEY(id))");
    run("CREATE REL TABLE T(FROM P TO P, since INT64)");
    run("UNWIND [1, 2] AS i CREATE (:P {id: i})");
    place.file(
        "t.csv",
        "from,to,since\n1,2,7\n1,8,8\n9,8,9\n,1,10\n2,1,x\n2,2,11\n",
    );
    assert!(place.rows("COPY T FROM '@/t.csv'").is_err());
    run("COPY T FROM '@/t.csv' (IGNORE_ERRORS = true)");
    assert_eq!(
        place.rows("MATCH (a)-[t:T]->(b) RETURN a.id, b.id, t.since ORDER BY t.since"),
        ok(&["1|2|7", "2|2|11"])
    );
    assert_eq!(
        place.rows(
            "CALL graven.loadErrors() YIELD column, value RETURN column, value ORDER BY value"
        ),
        ok(&["to|8", "from|9", "from|null", "since|x"])
    );
}

/// Goal: what a copy of many rows made is in the data file when the statement ends, so that the
/// next one finds it in packed pages; what a small one made is not.
#[test]
fn large_copies_end_with_a_checkpoint() {
    let place = Place::new();
    let rows = |rows: u32, row: &dyn Fn(u32) -> String| (1..=rows).map(row).collect::<String>();
    place.file("p.csv", &rows(12_000, &|row| format!("{row}\n")));
    place.file(
        "k.csv",
        &rows(20_000, &|row| {
            format!("{},{}\n", row % 12_000 + 1, row % 7 + 1)
        }),
    );
    let merged = |text: &str| {
        place.rows(text).expect(text);
        place.db.checkpoint().expect("made").is_none()
    };
    assert!(!merged("CREATE NODE TABLE P(id INT64, PRIMARY KEY(id))"));
    assert!(!merged("CREATE REL TABLE K(FROM P TO P)"));
    assert!(merged("COPY P FROM '@/p.csv'"));
    assert!(merged("COPY K FROM '@/k.csv'"));
    place.file("few.csv", "1,2\n");
    assert!(!merged("COPY K FROM '@/few.csv'"));
    let count = "MATCH (:P)-[k:K]->(p:P) RETURN count(*), sum(p.id)";
    let sum: u32 = (1..=20_000).map(|row| row % 7 + 1).sum::<u32>() + 2;
    assert_eq!(place.rows(count), ok(&[&format!("20001|{sum}")]));
}

#[test]
fn results_become_files() {
    let place = Place::new();
    let query = "UNWIND range(1, 5000) AS i RETURN i, 'text ' + i AS t, date('2024-01-01') + \
        duration({days: i}) AS d, [i, null] AS l, \
        CASE i % 2 WHEN 0 THEN i END AS e";
    let sums = "RETURN count(*), sum(i), min(t), max(d), sum(l[0]), count(e)";
    for ending in ["parquet", "csv", "json", "arrow"] {
        assert_eq!(
            place.rows(&format!("COPY ({query}) TO '@/out.{ending}'")),
            ok(&[]),
            "{ending}"
        );
        let read = place.rows(&format!(
            "LOAD FROM '@/out.{ending}' WHERE i >= 1 WITH * {sums}"
        ));
        assert_eq!(
            read,
            ok(&["5000|12502500|text 1|2037-09-09|12502500|2500"]),
            "{ending}"
        );
    }
    let read =
        "LOAD FROM '@/out.csv' (i INT64, t STRING, d DATE, l INT64[], e INT64) (HEADER = true) ";
    let read = place.rows(&format!("{read}{sums}"));
    assert_eq!(read, ok(&["5000|12502500|text 1|2037-09-09|12502500|2500"]));
    // It is written although no rows are asked for, of which there are none.
    let text = format!(
        "COPY (RETURN 1 AS x) TO '{}/now.csv'",
        place.folder.path().display()
    );
    drop(
        place
            .connection()
            .query(&text, &Params::new())
            .expect("written"),
    );
    assert_eq!(place.rows("LOAD FROM '@/now.csv' RETURN x"), ok(&["1"]));
    std::fs::remove_file(place.folder.path().join("now.csv")).expect("there");
    // A statement that fails leaves no file, and the one of before as it was.
    let failed = place.rows("COPY (UNWIND [1, 0] AS i RETURN 1 / i AS x) TO '@/out.csv'");
    assert!(failed.is_err());
    assert_eq!(
        place.names(),
        ["out.arrow", "out.csv", "out.json", "out.parquet"]
    );
    assert_eq!(
        place.rows("LOAD FROM '@/out.csv' RETURN count(*)"),
        ok(&["5000"])
    );
    // Only what is read is wanted of the file, and conditions go there.
    let folder = place.folder.path().display();
    let text = format!("EXPLAIN LOAD FROM '{folder}/out.parquet' WHERE i > 4990 RETURN t");
    let plan = place.connection().query(&text, &Params::new());
    let plan = plan.expect("explained").plan().expect("a plan");
    assert!(plan.contains("columns i, t where i > 4990"), "{plan}");
}

#[test]
fn files_of_a_server_are_closed_to_clients() {
    let place = Place::new();
    place.file("a.csv", "x\n1\n");
    std::fs::create_dir(place.folder.path().join("open")).expect("made");
    place.file("open/b.csv", "x\n2\n");
    let run = |access: Access, text: &str| {
        let result = place
            .connection()
            .with_access(access)
            .query(text, &Params::new());
        let rows = result.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
        rows.map(|rows| rows.len())
            .map_err(|error| error.code().to_owned())
    };
    let closed = || Access::without_files(Role::Admin);
    let below = |role| {
        let open: &Path = &place.folder.path().join("open");
        Access::without_files(role).with_files_below(open)
    };
    let forbidden = Err("Security.Forbidden".to_owned());
    let outside = format!("{}/a.csv", place.folder.path().display());
    assert_eq!(
        run(closed(), &format!("LOAD FROM '{outside}' RETURN x")),
        forbidden
    );
    assert_eq!(run(closed(), "COPY (RETURN 1 AS x) TO 'x.csv'"), forbidden);
    assert_eq!(
        run(
            below(Role::Reader),
            &format!("LOAD FROM '{outside}' RETURN x")
        ),
        // The name counts from the folder, and there is no such file.
        Err("ArgumentError.InvalidSource".to_owned())
    );
    assert_eq!(
        run(below(Role::Reader), "LOAD FROM '../*.csv' RETURN x"),
        forbidden
    );
    assert_eq!(
        run(below(Role::Reader), "LOAD FROM '*.csv' RETURN x"),
        Ok(1)
    );
    assert_eq!(
        run(below(Role::Writer), "COPY (RETURN 1 AS x) TO 'c.csv'"),
        forbidden
    );
    assert_eq!(
        run(below(Role::Admin), "COPY (RETURN 1 AS x) TO '../c.csv'"),
        forbidden
    );
    assert_eq!(run(below(Role::Reader), "COPY X FROM 'b.csv'"), forbidden);
    assert_eq!(
        run(below(Role::Admin), "COPY (RETURN 1 AS x) TO 'c.csv'"),
        Ok(0)
    );
    assert_eq!(
        run(below(Role::Reader), "LOAD FROM 'c.csv' RETURN x"),
        Ok(1)
    );
}

#[test]
fn memory_stays_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    config.memory = 8 << 20;
    let db = Database::open(folder.path().join("small.graven"), config).expect("opened");
    let run = |text: String| {
        let rows = db.connect().query(&text, &Params::new());
        let rows = rows.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
        rows.unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    let at = folder.path().display();
    // About 40 MB of rows.
    let rows = "UNWIND range(1, 400000) AS i RETURN i, 'a text that is so long that it takes some \
        room, number ' + i AS t";
    for ending in ["csv", "parquet", "json"] {
        run(format!("COPY ({rows}) TO '{at}/x.{ending}'"));
        let read = run(format!(
            "LOAD FROM '{at}/x.{ending}' RETURN count(t), sum(i)"
        ));
        assert_eq!(
            read[0].values()[1].as_integer(),
            Some(80_000_200_000),
            "{ending}"
        );
    }
    run(format!("COPY T FROM '{at}/x.parquet'"));
    let read = run("MATCH (t:T) RETURN count(t.t)".to_owned());
    assert_eq!(read[0].values()[0].as_integer(), Some(400_000));
    // Of what many values share, each is written out.
    let shared =
        "UNWIND range(1, 40) AS i WITH i, reduce(t = 'ab', j IN range(1, 16) | t + t) AS s";
    let refused = format!("COPY ({shared} RETURN [j IN range(1, 1000) | s] AS v) TO '{at}/y");
    for ending in ["csv", "parquet", "json", "arrow"] {
        run(format!("COPY ({shared} RETURN i, s) TO '{at}/x.{ending}'"));
        let read = run(format!("LOAD FROM '{at}/x.{ending}' RETURN sum(size(s))"));
        assert_eq!(read[0].values()[0].as_integer(), Some(40 << 17), "{ending}");
        let ran = db
            .connect()
            .query(&format!("{refused}.{ending}'"), &Params::new());
        let error = ran.expect_err("131 MB a row");
        assert!(error.code().contains("Memory"), "{error}");
        assert!(!folder.path().join(format!("y.{ending}")).exists());
    }
}

#[test]
fn nodes_relationships_and_paths_become_maps_of_files() {
    let place = Place::new();
    let graph = "CREATE (:A {x: 1, d: date('2024-01-02')})-[:R {w: [1, 2]}]->\
        (:B {x: 2, d: date('2024-01-03')})";
    place.rows(graph).expect("created");
    let query = "MATCH p = (a:A)-[r]->(b) RETURN a, r, p, [b] AS l, {b: b} AS m, a.x AS x";
    let read = "RETURN a.id, a.labels, a.properties.x, a.properties.d, r.type, r.start, r.end, \
        r.properties.w, size(p.nodes), p.relationships[0].id, l[0].properties.x, m.b.labels, x";
    for ending in ["parquet", "json", "arrow", "csv"] {
        let copied = place.rows(&format!("COPY ({query}) TO '@/out.{ending}'"));
        assert_eq!(copied, ok(&[]), "{ending}");
        // Delimited text does not tell maps from texts.
        let columns = match ending {
            "csv" => "(a MAP, r MAP, p MAP, l LIST<MAP>, m MAP, x INTEGER)",
            _ => "",
        };
        assert_eq!(
            place.rows(&format!("LOAD FROM '@/out.{ending}' {columns} {read}")),
            ok(&["0|[A]|1|2024-01-02|R|0|1|[1, 2]|2|0|2|[B]|1"]),
            "{ending}"
        );
    }
    // Nodes with other properties are still one column.
    place.rows("CREATE (:A {y: 'z'})").expect("created");
    for ending in ["parquet", "json"] {
        let copied = place.rows(&format!("COPY (MATCH (a:A) RETURN a) TO '@/n.{ending}'"));
        assert_eq!(copied, ok(&[]), "{ending}");
        let read = format!(
            "LOAD FROM '@/n.{ending}' (a CYPHER) RETURN a.properties.x, a.properties.y ORDER BY a.id"
        );
        assert_eq!(place.rows(&read), ok(&["1|null", "null|z"]), "{ending}");
    }
}

#[test]
fn lists_in_delimited_text_are_seen() {
    let place = Place::new();
    place.file(
        "l.csv",
        "i,n,t,d,e,z,m,o\n1,\"[1, 2]\",\"[a, b]\",[2024-01-02],[],[007],{a: 1},[x\n\
            2,\"[3, 4.5]\",\"['1']\",,\"[7, 'x']\",[8],{a: 2},[y]\n",
    );
    let types = "RETURN valueType(n), valueType(t), valueType(d), valueType(z), valueType(m), o";
    assert_eq!(
        place.rows(&format!("LOAD FROM '@/l.csv' WHERE i = 1 {types}")),
        ok(&[
            "LIST<FLOAT NOT NULL> NOT NULL|LIST<STRING NOT NULL> NOT NULL|\
            LIST<DATE NOT NULL> NOT NULL|LIST<STRING NOT NULL> NOT NULL|MAP NOT NULL|[x"
        ])
    );
    assert_eq!(
        place.rows("LOAD FROM '@/l.csv' RETURN n, t, d, e, z"),
        ok(&[
            "[1.0, 2.0]|[a, b]|[2024-01-02]|[]|[007]",
            "[3.0, 4.5]|[1]|null|[7, x]|[8]"
        ])
    );
    place.rows("COPY P FROM '@/l.csv'").expect("copied");
    assert_eq!(
        place.rows("MATCH (p:P) RETURN p.n[1], p.t[0]"),
        ok(&["2.0|a", "4.5|1"])
    );
}

#[test]
fn maps_in_delimited_text_are_seen() {
    let place = Place::new();
    place.file(
        "m.csv",
        "i,s,m,j,l\n\
            1,\"{a: 1, b: x y, d: 2024-01-02}\",\"{k=1, 2=v}\",\"{\"\"a\"\": {\"\"b\"\": [1, 2]}}\",\"[{a: 1}, {a: 2}]\"\n\
            2,{a: 2},{},,[]\n3,\"{b: 7, a: 1.5}\",\"{k=[1]}\",\"{\"\"a\"\": null}\",[{a: 3}]\n",
    );
    assert_eq!(
        place.rows("LOAD FROM '@/m.csv' RETURN s.a, s.b, s.d + duration('P1D'), m.k, m['2'], j.a.b[1], l[0].a"),
        ok(&[
            "1.0|x y|2024-01-03|1|v|2|1",
            "2.0|null|null|null|null|null|null",
            "1.5|7|null|[1]|null|null|3",
        ])
    );
    place.file(
        "n.csv",
        "s,m\n{a: 1},{k=1}\n{a: 2},{}\n\"{b: 7, a: 1}\",[k]\n",
    );
    place.file("o.csv", "s\n{a: 1}\n{a: 2}\n{a: x}\n");
    for (file, column, told) in [
        (
            "n",
            "s",
            "line 4, column s: '{b: 7, a: 1}' has the field b, which neither the type of the \
                column nor a row before has",
        ),
        ("n", "m", "line 4, column m: '[k]' is no MAP"),
        (
            "o",
            "s",
            "line 4, column s: '{a: x}' has the field a, which is no INTEGER",
        ),
    ] {
        let load = format!("LOAD FROM '@/{file}.csv' (SAMPLE_SIZE = 2) RETURN {column}");
        let error = place.rows(&load).expect_err("a row that does not fit");
        assert!(error.contains(&format!("{file}.csv, {told}")), "{error}");
    }
    // A property holds no map: `COPY` takes the text.
    place.rows("COPY P FROM '@/m.csv'").expect("copied");
    assert_eq!(
        place.rows("MATCH (p:P {i: 3}) RETURN p.s, p.m, p.l"),
        ok(&["{b: 7, a: 1.5}|{k=[1]}|[{a: 3}]"])
    );
    assert_eq!(
        place.rows("LOAD FROM '@/m.csv' (MAPS_AS_TEXT = true) WHERE i = 2 RETURN s + m"),
        ok(&["{a: 2}{}"])
    );
}

#[test]
fn fields_of_declared_structs_are_of_their_types() {
    let place = Place::new();
    let columns = "(id INT64, s STRUCT(a INT64, b STRING), l LIST<STRUCT(`x, y` DECIMAL(5, 2))>, \
        n STRUCT(c INT64[2], d MAP(STRING, INT64))[], v DECIMAL(5, 2))";
    place.file(
        "d.csv",
        "id,s,l,n,v\n1,\"{a: 1, b: 2}\",\"[{`x, y`: 1}]\",\"[{c: [1, 2], d: {k=1}}]\",2.5\n",
    );
    let read = "RETURN s.a, s.b + s.b, l[0]['x, y'], n[0].c[1], n[0].d.k, v";
    assert_eq!(
        place.rows(&format!("LOAD FROM '@/d.csv' {columns} {read}")),
        ok(&["1|22|1.0|2|1|2.5"])
    );
    for (row, told) in [
        (
            "\"{a: zz, b: x}\"",
            "'{a: zz, b: x}' has the field a, which is no INTEGER",
        ),
        ("{c: 1}", "'{c: 1}' has the field c, which neither the type"),
        ("{a: 1e400}", "has the field a, which is no INTEGER"),
    ] {
        place.file("e.csv", &format!("1,{row}\n"));
        let load = "LOAD FROM '@/e.csv' (id INT64, s STRUCT(a INT64, b STRING)) RETURN s";
        let error = place.rows(load).expect_err("a row that does not fit");
        assert!(error.contains(told), "{error}");
    }
    for of in ["STRUCT(a)", "STRUCT(a NUMBER)"] {
        let load = format!("LOAD FROM '@/d.csv' (id {of}) RETURN id");
        let error = place.rows(&load).expect_err("no type");
        assert!(
            error.contains(&format!("there is no type {of};")),
            "{error}"
        );
    }
}

#[test]
fn numbers_beyond_all_floats_stay_texts() {
    let place = Place::new();
    place.file("h.csv", "x,m,l\n1e400,{x: 1e400},[-1e400]\n");
    assert_eq!(
        place.rows("LOAD FROM '@/h.csv' RETURN x + '', m.x + '', l[0] + ''"),
        ok(&["1e400|1e400|-1e400"])
    );
    for (columns, column) in [
        ("(x FLOAT, m MAP, l STRING[])", "x"),
        ("(x STRING, m STRUCT(x DOUBLE), l STRING[])", "m"),
        ("(x STRING, m MAP, l FLOAT[])", "l"),
    ] {
        let load = format!("LOAD FROM '@/h.csv' {columns} RETURN x, m, l");
        let error = place.rows(&load).expect_err("no float");
        assert!(error.contains(&format!("column {column}: ")), "{error}");
    }
}
