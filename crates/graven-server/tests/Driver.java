// What a program with the official driver for Java sees; GRAVEN_BOLT is the address of the server.
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Driver;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.QueryConfig;
import org.neo4j.driver.SessionConfig;
import org.neo4j.driver.TransactionConfig;
import org.neo4j.driver.exceptions.ClientException;
import org.neo4j.driver.exceptions.Neo4jException;

class Talk {
    static final String ADDRESS = System.getenv("GRAVEN_BOLT");

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void same(Object expected, Object got) {
        check(Objects.equals(expected, got), "expected " + expected + ", got " + got);
    }

    static Driver connected(String scheme) {
        return GraphDatabase.driver(scheme + "://" + ADDRESS, AuthTokens.basic("any", "at all"));
    }

    static String code(Runnable work) {
        try {
            work.run();
        } catch (Neo4jException error) {
            return error.code();
        }
        throw new AssertionError("nothing failed");
    }

    static void schemes() {
        for (String scheme : List.of("bolt", "neo4j", "bolt+ssc", "neo4j+ssc")) {
            try (Driver driver = connected(scheme)) {
                driver.verifyConnectivity();
                check(driver.verifyAuthentication(AuthTokens.basic("any", "at all")), scheme);
                check(driver.supportsMultiDb(), scheme);
            }
        }
    }

    static void values(Driver driver) {
        List<Object> values = List.of(true, 1.5, "Gr\u00fc\u00dfe", Long.MAX_VALUE, List.of(1L, "a"), Map.of("a", 1L),
            LocalDate.of(2024, 2, 29), ZonedDateTime.parse("2024-07-01T12:00:00.000000005+02:00"));
        for (Object value : values) {
            var result = driver.executableQuery("RETURN $value AS value").withParameters(Map.of("value", value)).execute();
            same(value, result.records().get(0).get("value").asObject());
        }
        var path = driver.executableQuery("CREATE p = (:P {x: 1})-[:R]->(:Q) RETURN p").execute().records().get(0).get("p").asPath();
        same("R", path.relationships().iterator().next().type());
        var drawn = driver.executableQuery("CALL db.schema.visualization() YIELD nodes RETURN nodes[0] AS n").execute();
        check(drawn.records().get(0).get("n").asNode().labels().iterator().hasNext(), "a virtual node");
    }

    static void transactions(Driver driver) {
        try (var session = driver.session()) {
            var counters = session.executeWrite(tx -> tx.run("CREATE (:Counted {x: 1})").consume().counters());
            same(1, counters.nodesCreated());
            try (var tx = session.beginTransaction()) {
                tx.run("CREATE (:Undone)");
                tx.rollback();
            }
            same(0, session.run("MATCH (n:Undone) RETURN count(n)").single().get(0).asInt());
            var rows = session.executeRead(tx -> {
                var result = tx.run("UNWIND range(1, 1000000000) AS x RETURN x");
                return List.of(result.next().get(0).asInt(), result.next().get(0).asInt());
            });
            same(List.of(1, 2), rows);
            check(!session.lastBookmarks().isEmpty(), "a bookmark");
        }
        try (var session = driver.session(SessionConfig.forDatabase("system"))) {
            check(session.run("SHOW DATABASES").hasNext(), "databases");
        }
    }

    static void failures(Driver driver) {
        same("Neo.ClientError.Statement.SyntaxError", code(() -> driver.executableQuery("RETUR 1").execute()));
        driver.executableQuery("CREATE CONSTRAINT one FOR (n:One) REQUIRE n.id IS UNIQUE").execute();
        driver.executableQuery("CREATE (:One {id: 1})").execute();
        try {
            driver.executableQuery("CREATE (:One {id: 1})").execute();
            throw new AssertionError("two");
        } catch (ClientException error) {
            same("Neo.ClientError.Schema.ConstraintValidationFailed", error.code());
            check(error.getMessage().contains("already exists with label"), error.getMessage());
        }
        try (var session = driver.session()) {
            var config = TransactionConfig.builder().withTimeout(Duration.ofMillis(50)).build();
            String long_one = "UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x";
            same("Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
                code(() -> session.run(long_one, config).consume()));
        }
        try (var session = driver.session(SessionConfig.forDatabase("nowhere"))) {
            same("Neo.ClientError.Database.DatabaseNotFound", code(() -> session.run("RETURN 1").consume()));
        }
    }

    static void summaries(Driver driver) {
        var summary = driver.executableQuery("PROFILE MATCH (n) RETURN count(n)").execute().summary();
        check(summary.hasProfile() && summary.profile().operatorType() != null, "a profile");
        var notices = driver.executableQuery("MATCH (n:Nowhere) RETURN n").execute().summary().notifications();
        check(notices.stream().anyMatch(it -> it.code().endsWith("UnknownLabelWarning")), notices.toString());
    }

    static void pool(Driver driver) throws InterruptedException {
        int threads = 50;
        var done = new AtomicInteger();
        var all = new CountDownLatch(threads);
        var service = Executors.newFixedThreadPool(threads);
        for (int at = 0; at < threads; at++) {
            service.submit(() -> {
                try {
                    for (int round = 0; round < 5; round++) {
                        driver.executableQuery("UNWIND range(1, 100) AS x RETURN sum(x)").withConfig(QueryConfig.defaultConfig()).execute();
                    }
                    done.incrementAndGet();
                } finally {
                    all.countDown();
                }
            });
        }
        all.await();
        service.shutdown();
        same(threads, done.get());
    }

    public static void main(String[] args) throws InterruptedException {
        schemes();
        try (Driver driver = connected("neo4j")) {
            values(driver);
            transactions(driver);
            failures(driver);
            summaries(driver);
            pool(driver);
        }
        System.out.println("content");
    }
}
