// What a program with neo4j-ogm sees; GRAVEN_BOLT is the address of the server.
package talk;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.neo4j.driver.exceptions.ClientException;
import org.neo4j.ogm.annotation.EndNode;
import org.neo4j.ogm.annotation.GeneratedValue;
import org.neo4j.ogm.annotation.Id;
import org.neo4j.ogm.annotation.NodeEntity;
import org.neo4j.ogm.annotation.Property;
import org.neo4j.ogm.annotation.Relationship;
import org.neo4j.ogm.annotation.RelationshipEntity;
import org.neo4j.ogm.annotation.StartNode;
import org.neo4j.ogm.config.Configuration;
import org.neo4j.ogm.cypher.ComparisonOperator;
import org.neo4j.ogm.cypher.Filter;
import org.neo4j.ogm.cypher.query.Pagination;
import org.neo4j.ogm.cypher.query.SortOrder;
import org.neo4j.ogm.session.Session;
import org.neo4j.ogm.session.SessionFactory;
import org.neo4j.ogm.transaction.Transaction;

public class Talk {
    @NodeEntity(label = "Person")
    public static class Person {
        @Id @GeneratedValue Long id;
        @Property("name") String name;
        long age;
        double score;
        boolean active;
        LocalDate born;
        LocalDateTime seen;
        List<String> tags = new ArrayList<>();
        @Relationship(type = "WORKS_AT") Firm firm;
        @Relationship(type = "KNOWS") List<Knows> friends = new ArrayList<>();

        public Person() {
        }

        Person(String name, long age) {
            this.name = name;
            this.age = age;
        }
    }

    @NodeEntity
    public static class Firm {
        @Id String code;

        public Firm() {
        }

        Firm(String code) {
            this.code = code;
        }
    }

    @RelationshipEntity(type = "KNOWS")
    public static class Knows {
        @Id @GeneratedValue Long id;
        @StartNode Person from;
        @EndNode Person to;
        long since;

        public Knows() {
        }

        Knows(Person from, Person to, long since) {
            this.from = from;
            this.to = to;
            this.since = since;
        }
    }

    static void same(Object expected, Object got) {
        if (!Objects.equals(expected, got)) {
            throw new AssertionError("expected " + expected + ", got " + got);
        }
    }

    static void objects(SessionFactory factory) {
        Person ada = new Person("Ada", 36);
        ada.score = 1.5;
        ada.active = true;
        ada.born = LocalDate.of(1815, 12, 10);
        ada.seen = LocalDateTime.of(2024, 2, 29, 12, 30);
        ada.tags = List.of("x", "Gr\u00fc\u00dfe");
        ada.firm = new Firm("A-1");
        Person bob = new Person("Bob", 20);
        ada.friends.add(new Knows(ada, bob, 1999));
        factory.openSession().save(ada);
        Person found = factory.openSession().load(Person.class, ada.id);
        same("Ada", found.name);
        same(36L, found.age);
        same(1.5, found.score);
        same(true, found.active);
        same(ada.born, found.born);
        same(ada.seen, found.seen);
        same(ada.tags, found.tags);
        same("A-1", found.firm.code);
        same(1, found.friends.size());
        same(1999L, found.friends.get(0).since);
        same("Bob", found.friends.get(0).to.name);
        // What is saved again is changed, and what is taken out is gone.
        Session session = factory.openSession();
        Person again = session.load(Person.class, ada.id, 2);
        again.age = 37;
        again.friends.clear();
        session.save(again);
        session.clear();
        Person changed = session.load(Person.class, ada.id);
        same(37L, changed.age);
        same(0, changed.friends.size());
        // A second object of the same key is the same node.
        session.save(new Firm("A-1"));
        same(1L, session.countEntitiesOfType(Firm.class));
    }

    static void questions(SessionFactory factory) {
        Session session = factory.openSession();
        for (int i = 0; i < 10; i++) {
            session.save(new Person("P" + i, 100 + i));
        }
        Filter old = new Filter("age", ComparisonOperator.GREATER_THAN_EQUAL, 100L);
        Collection<Person> found = session.loadAll(Person.class, old, new SortOrder().desc("age"), new Pagination(0, 3));
        same(List.of("P9", "P8", "P7"), found.stream().map(person -> person.name).toList());
        same(10L, session.count(Person.class, List.of(old)));
        Person one = session.queryForObject(Person.class, "MATCH (p:Person {name: $name}) RETURN p", Map.of("name", "P4"));
        same(104L, one.age);
        long sum = session.queryForObject(Long.class, "MATCH (p:Person) WHERE p.age >= 100 RETURN sum(p.age)", Map.of());
        same(1045L, sum);
        var changed = session.query("MATCH (p:Person {name: 'P4'}) SET p.age = 1 RETURN p.age AS age", Map.of());
        same(1L, changed.queryResults().iterator().next().get("age"));
        same(1, changed.queryStatistics().getPropertiesSet());
        session.delete(one);
        same(9L, session.count(Person.class, List.of(new Filter("name", ComparisonOperator.STARTING_WITH, "P"))));
    }

    static void transactions(SessionFactory factory) {
        Session session = factory.openSession();
        long before = session.countEntitiesOfType(Person.class);
        try (Transaction undone = session.beginTransaction()) {
            session.save(new Person("undone", 1));
            undone.rollback();
        }
        same(before, session.countEntitiesOfType(Person.class));
        try (Transaction done = session.beginTransaction()) {
            session.save(new Person("done", 1));
            done.commit();
        }
        same(before + 1, session.countEntitiesOfType(Person.class));
        try {
            session.query("RETURN", Map.of());
            throw new AssertionError("nothing failed");
        } catch (RuntimeException failed) {
            Throwable cause = failed;
            while (cause != null && !(cause instanceof ClientException)) {
                cause = cause.getCause();
            }
            String code = cause == null ? String.valueOf(failed) : ((ClientException) cause).code();
            same("Neo.ClientError.Statement.SyntaxError", code);
        }
        session.deleteAll(Person.class);
        same(0L, session.countEntitiesOfType(Person.class));
    }

    public static void main(String[] arguments) {
        String address = "bolt://" + System.getenv("GRAVEN_BOLT");
        Configuration where = new Configuration.Builder().uri(address).credentials("any", "at all").build();
        SessionFactory factory = new SessionFactory(where, "talk");
        objects(factory);
        questions(factory);
        transactions(factory);
        factory.close();
    }
}
