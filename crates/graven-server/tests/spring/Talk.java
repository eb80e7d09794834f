// What a program with Spring Data Neo4j sees; GRAVEN_BOLT is the address of the server.
package talk;

import java.time.Duration;
import java.time.LocalDate;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Driver;
import org.neo4j.driver.GraphDatabase;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.data.domain.Example;
import org.springframework.data.domain.ExampleMatcher;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import org.springframework.data.geo.Distance;
import org.springframework.data.geo.Metrics;
import org.springframework.data.neo4j.config.AbstractNeo4jConfig;
import org.springframework.data.neo4j.core.Neo4jClient;
import org.springframework.data.neo4j.core.Neo4jTemplate;
import org.springframework.data.neo4j.core.schema.CompositeProperty;
import org.springframework.data.neo4j.core.schema.DynamicLabels;
import org.springframework.data.neo4j.core.schema.GeneratedValue;
import org.springframework.data.neo4j.core.schema.Id;
import org.springframework.data.neo4j.core.schema.Node;
import org.springframework.data.neo4j.core.schema.Property;
import org.springframework.data.neo4j.core.schema.Relationship;
import org.springframework.data.neo4j.core.schema.RelationshipId;
import org.springframework.data.neo4j.core.schema.RelationshipProperties;
import org.springframework.data.neo4j.core.schema.TargetNode;
import org.springframework.data.neo4j.core.support.UUIDStringGenerator;
import org.springframework.data.neo4j.repository.Neo4jRepository;
import org.springframework.data.neo4j.repository.config.EnableNeo4jRepositories;
import org.springframework.data.neo4j.repository.query.Query;
import org.springframework.data.repository.query.Param;
import org.springframework.data.annotation.Version;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

public class Talk {
    @Node("Movie")
    public static class Movie {
        @Id @GeneratedValue(UUIDStringGenerator.class) String id;
        @Version Long version;
        String title;
        @Property("tagline") String description;
        Integer released;
        LocalDate shown;
        ZonedDateTime seen;
        Duration length;
        List<String> tags = new ArrayList<>();
        @CompositeProperty Map<String, String> notes;
        @Relationship(type = "ACTED_IN", direction = Relationship.Direction.INCOMING)
        List<Role> roles = new ArrayList<>();
        @Relationship(type = "DIRECTED", direction = Relationship.Direction.INCOMING)
        List<Person> directors = new ArrayList<>();

        Movie() {
        }

        Movie(String title, int released) {
            this.title = title;
            this.released = released;
        }
    }

    @Node("Person")
    public static class Person {
        @Id String name;
        Integer born;
        @DynamicLabels Set<String> kinds = new java.util.HashSet<>();

        Person() {
        }

        Person(String name, int born) {
            this.name = name;
            this.born = born;
        }
    }

    @RelationshipProperties
    public static class Role {
        @RelationshipId Long id;
        List<String> names;
        @TargetNode Person person;

        Role() {
        }

        Role(Person person, String... names) {
            this.person = person;
            this.names = List.of(names);
        }
    }

    /** A node whose key the database gives, and that hangs on others of its kind. */
    @Node
    public static class Place {
        @Id @GeneratedValue String id;
        String name;
        org.neo4j.driver.types.Point at;
        @Relationship("PART_OF") Place within;

        Place() {
        }

        Place(String name, double latitude, double longitude) {
            this.name = name;
            this.at = org.neo4j.driver.Values.point(4326, longitude, latitude).asPoint();
        }
    }

    /** A node with the key of older programs. */
    @Node
    public static class Counter {
        @Id @GeneratedValue Long id;
        long count;
    }

    public interface TitleOnly {
        String getTitle();
    }

    public record TitleAndYear(String title, Integer released) {
    }

    public interface Movies extends Neo4jRepository<Movie, String> {
        Optional<Movie> findByTitle(String title);

        List<Movie> findByTitleContainingIgnoreCaseOrderByReleasedDesc(String part);

        List<Movie> findByReleasedBetween(int from, int to, Sort sort);

        Page<Movie> findByReleasedGreaterThanEqual(int year, Pageable page);

        Slice<Movie> findByReleasedLessThan(int year, Pageable page);

        List<Movie> findByTagsContains(String tag);

        List<Movie> findByTitleIn(Collection<String> titles);

        List<Movie> findByTitleStartingWithAndReleasedNot(String start, int year);

        List<Movie> findByTitleMatches(String regex);

        List<Movie> findByDescriptionIsNull();

        List<Movie> findByRolesPersonName(String name);

        List<Movie> findByDirectorsBornLessThan(int year);

        List<Movie> findByShownAfter(LocalDate day);

        Movie findFirstByOrderByReleasedDesc();

        long countByReleasedGreaterThan(int year);

        boolean existsByTitle(String title);

        long deleteByTitle(String title);

        List<TitleOnly> findByReleased(int year);

        List<TitleAndYear> findAllByReleasedLessThanOrderByTitle(int year);

        Stream<Movie> readAllByReleasedGreaterThan(int year);

        @Query("MATCH (m:Movie) WHERE m.released > $year RETURN m ORDER BY m.title")
        List<Movie> newer(@Param("year") int year);

        @Query("MATCH (p:Person)-[r:ACTED_IN]->(m:Movie {title: $title}) "
            + "RETURN m, collect(r), collect(p)")
        Movie withRoles(@Param("title") String title);

        @Query(value = "MATCH (m:Movie) RETURN m ORDER BY m.title SKIP $skip LIMIT $limit",
            countQuery = "MATCH (m:Movie) RETURN count(m)")
        Page<Movie> paged(Pageable page);

        @Query("MATCH (m:Movie {title: $0}) SET m.tagline = $1 RETURN m.tagline")
        String describe(String title, String text);

        @Query("MATCH (n:`:#{literal(#label)}`) RETURN count(n)")
        long countOf(@Param("label") String label);
    }

    public interface People extends Neo4jRepository<Person, String> {
        @Query("MATCH (p:Person {name: $person.__id__}) RETURN p.born")
        Integer bornOf(@Param("person") Person person);
    }

    public interface Places extends Neo4jRepository<Place, String> {
        List<Place> findByAtNear(org.neo4j.driver.types.Point point, Distance most);

        Place findByName(String name);
    }

    public interface Counters extends Neo4jRepository<Counter, Long> {
    }

    @Configuration
    @EnableTransactionManagement
    @EnableNeo4jRepositories(considerNestedRepositories = true)
    static class Settings extends AbstractNeo4jConfig {
        @Bean
        @Override
        public Driver driver() {
            String address = "bolt://" + System.getenv("GRAVEN_BOLT");
            return GraphDatabase.driver(address, AuthTokens.none());
        }

        /** With it, keys that the database gives are element ids. */
        @Bean
        @Override
        public org.neo4j.cypherdsl.core.renderer.Configuration cypherDslConfiguration() {
            return org.neo4j.cypherdsl.core.renderer.Configuration.newConfig()
                .withDialect(org.neo4j.cypherdsl.core.renderer.Dialect.NEO4J_5).build();
        }

        @Override
        protected Collection<String> getMappingBasePackages() {
            return List.of("talk");
        }
    }

    static void same(Object wanted, Object got) {
        if (!Objects.equals(wanted, got)) {
            throw new AssertionError("wanted " + wanted + ", got " + got);
        }
    }

    static <T extends Exception> void fails(Class<T> wanted, Runnable act) {
        try {
            act.run();
        } catch (RuntimeException error) {
            if (wanted.isInstance(error)) {
                return;
            }
            throw error;
        }
        throw new AssertionError("no " + wanted.getSimpleName());
    }

    static List<String> titles(Collection<Movie> movies) {
        return movies.stream().map(movie -> movie.title).collect(Collectors.toList());
    }

    public static void main(String[] arguments) {
        try (var context = new AnnotationConfigApplicationContext(Settings.class)) {
            var movies = context.getBean(Movies.class);
            var people = context.getBean(People.class);
            var client = context.getBean(Neo4jClient.class);
            client.query("MATCH (n) DETACH DELETE n").run();
            client.query("CREATE CONSTRAINT IF NOT EXISTS FOR (p:Person) "
                + "REQUIRE p.name IS UNIQUE").run();
            save(movies, people);
            find(movies);
            page(movies);
            project(movies, context.getBean(Neo4jTemplate.class));
            ask(movies, people, client);
            change(movies, people);
            transact(movies, people, context.getBean(PlatformTransactionManager.class));
            keys(context.getBean(Places.class), context.getBean(Counters.class));
            remove(movies, people, client);
        }
        System.out.println("done");
    }

    static void save(Movies movies, People people) {
        var keanu = new Person("Keanu Reeves", 1964);
        keanu.kinds = Set.of("Actor", "Musician");
        var lana = new Person("Lana Wachowski", 1965);
        var matrix = new Movie("The Matrix", 1999);
        matrix.description = "Welcome to the Real World";
        matrix.shown = LocalDate.of(1999, 3, 31);
        matrix.seen = ZonedDateTime.parse("1999-06-17T20:15:00+02:00[Europe/Berlin]");
        matrix.length = Duration.ofMinutes(136);
        matrix.tags = List.of("science", "fiction");
        matrix.notes = Map.of("de", "Matrix", "fr", "La Matrice");
        matrix.roles.add(new Role(keanu, "Neo", "Thomas"));
        matrix.directors.add(lana);
        var saved = movies.save(matrix);
        same(0L, saved.version);
        var speed = new Movie("Speed", 1994);
        speed.roles.add(new Role(keanu, "Jack"));
        var cloud = new Movie("Cloud Atlas", 2012);
        cloud.directors.add(lana);
        movies.saveAll(List.of(speed, cloud, new Movie("Matrix Reloaded", 2003)));
        same(4L, movies.count());
        same(2L, people.count());
        var read = movies.findById(saved.id).orElseThrow();
        same("The Matrix", read.title);
        same(matrix.shown, read.shown);
        same(matrix.seen, read.seen);
        same(matrix.length, read.length);
        same(matrix.tags, read.tags);
        same(matrix.notes, read.notes);
        same(List.of("Neo", "Thomas"), read.roles.get(0).names);
        same("Keanu Reeves", read.roles.get(0).person.name);
        same(Set.of("Actor", "Musician"), read.roles.get(0).person.kinds);
        same("Lana Wachowski", read.directors.get(0).name);
    }

    static void find(Movies movies) {
        same(1999, movies.findByTitle("The Matrix").orElseThrow().released);
        same(Optional.empty(), movies.findByTitle("Nothing"));
        same(List.of("Matrix Reloaded", "The Matrix"),
            titles(movies.findByTitleContainingIgnoreCaseOrderByReleasedDesc("mATRIX")));
        same(List.of("Speed", "The Matrix"),
            titles(movies.findByReleasedBetween(1990, 2000, Sort.by("released"))));
        same(List.of("The Matrix"), titles(movies.findByTagsContains("science")));
        same(2, movies.findByTitleIn(List.of("Speed", "Cloud Atlas", "x")).size());
        same(0, movies.findByTitleStartingWithAndReleasedNot("The", 1999).size());
        same(2, movies.findByTitleMatches(".*Matrix.*").size());
        same(3, movies.findByDescriptionIsNull().size());
        same(2, movies.findByRolesPersonName("Keanu Reeves").size());
        same(2, movies.findByDirectorsBornLessThan(1970).size());
        same(1, movies.findByShownAfter(LocalDate.of(1999, 1, 1)).size());
        same("Cloud Atlas", movies.findFirstByOrderByReleasedDesc().title);
        same(2L, movies.countByReleasedGreaterThan(1999));
        same(true, movies.existsByTitle("Speed"));
        var example = new Movie();
        example.title = "speed";
        example.tags = null;
        example.roles = null;
        example.directors = null;
        var matcher = ExampleMatcher.matching().withIgnoreCase().withIgnoreNullValues();
        same(List.of("Speed"), titles(movies.findAll(Example.of(example, matcher))));
    }

    static void page(Movies movies) {
        var byTitle = PageRequest.of(0, 2, Sort.by("title"));
        var first = movies.findByReleasedGreaterThanEqual(1999, byTitle);
        same(3L, first.getTotalElements());
        same(2, first.getTotalPages());
        same(List.of("Cloud Atlas", "Matrix Reloaded"), titles(first.getContent()));
        var second = movies.findByReleasedGreaterThanEqual(1999, byTitle.next());
        same(List.of("The Matrix"), titles(second.getContent()));
        same(true, movies.findByReleasedLessThan(2020, byTitle).hasNext());
        same(4L, movies.findAll(byTitle).getTotalElements());
        var sorted = movies.findAll(Sort.by(Sort.Direction.DESC, "released"));
        same("Cloud Atlas", sorted.get(0).title);
        var own = movies.paged(PageRequest.of(1, 3));
        same(4L, own.getTotalElements());
        same(List.of("The Matrix"), titles(own.getContent()));
    }

    static void project(Movies movies, Neo4jTemplate template) {
        same("Speed", movies.findByReleased(1994).get(0).getTitle());
        var records = movies.findAllByReleasedLessThanOrderByTitle(2000);
        same(List.of(new TitleAndYear("Speed", 1994), new TitleAndYear("The Matrix", 1999)),
            records);
        try (var stream = movies.readAllByReleasedGreaterThan(2000)) {
            same(2L, stream.count());
        }
        var read = template.findOne("MATCH (m:Movie {title: $title}) RETURN m",
            Map.of("title", "Speed"), Movie.class);
        same(1994, read.orElseThrow().released);
        same(4L, template.count(Movie.class));
    }

    static void ask(Movies movies, People people, Neo4jClient client) {
        same(List.of("Cloud Atlas", "Matrix Reloaded"), titles(movies.newer(2000)));
        same("Neo", movies.withRoles("The Matrix").roles.get(0).names.get(0));
        same("Hold on", movies.describe("Speed", "Hold on"));
        same(1964, people.bornOf(new Person("Keanu Reeves", 0)));
        same(4L, movies.countOf("Movie"));
        var names = client.query("MATCH (p:Person) WHERE p.born = $born RETURN p.name AS name")
            .bind(1964).to("born").fetchAs(String.class).all();
        same(List.of("Keanu Reeves"), List.copyOf(names));
        var summary = client.query("CREATE (x:Extra {a: 1})").run();
        same(1, summary.counters().nodesCreated());
        client.query("MATCH (x:Extra) DELETE x").run();
    }

    static void change(Movies movies, People people) {
        var one = movies.findByTitle("Speed").orElseThrow();
        var other = movies.findByTitle("Speed").orElseThrow();
        one.released = 1995;
        same(1L, movies.save(one).version - other.version);
        other.released = 1996;
        fails(OptimisticLockingFailureException.class, () -> movies.save(other));
        same(1995, movies.findByTitle("Speed").orElseThrow().released);
        var matrix = movies.findByTitle("The Matrix").orElseThrow();
        matrix.roles.add(new Role(new Person("Carrie-Anne Moss", 1967), "Trinity"));
        matrix.directors.clear();
        matrix.description = null;
        movies.save(matrix);
        var read = movies.findByTitle("The Matrix").orElseThrow();
        same(2, read.roles.size());
        same(0, read.directors.size());
        same(null, read.description);
        same(3L, people.count());
    }

    static void transact(Movies movies, People people, PlatformTransactionManager manager) {
        var within = new TransactionTemplate(manager);
        within.executeWithoutResult(status -> {
            people.save(new Person("Nobody", 1900));
            same(true, people.existsById("Nobody"));
            status.setRollbackOnly();
        });
        same(false, people.existsById("Nobody"));
        fails(IllegalStateException.class, () -> within.executeWithoutResult(status -> {
            people.save(new Person("Nobody", 1900));
            throw new IllegalStateException("on purpose");
        }));
        same(false, people.existsById("Nobody"));
        within.executeWithoutResult(status -> people.save(new Person("Somebody", 1901)));
        same(true, people.existsById("Somebody"));
        var reading = new TransactionTemplate(manager);
        reading.setReadOnly(true);
        same(4L, reading.execute(status -> movies.count()));
    }

    static void keys(Places places, Counters counters) {
        var europe = new Place("Europe", 50, 10);
        var berlin = new Place("Berlin", 52.52, 13.405);
        berlin.within = europe;
        var saved = places.save(berlin);
        var read = places.findById(saved.id).orElseThrow();
        same("Europe", read.within.name);
        same(13.405, read.at.x());
        var near = places.findByAtNear(org.neo4j.driver.Values.point(4326, 13.4, 52.5).asPoint(),
            new Distance(50, Metrics.KILOMETERS));
        same(1, near.size());
        same("Berlin", near.get(0).name);
        places.deleteById(saved.id);
        same(1L, places.count());
        var counter = new Counter();
        counter.count = 7;
        var kept = counters.save(counter);
        kept.count = 8;
        counters.save(kept);
        same(8L, counters.findById(kept.id).orElseThrow().count);
        same(1L, counters.count());
    }

    static void remove(Movies movies, People people, Neo4jClient client) {
        fails(DataIntegrityViolationException.class, () ->
            client.query("CREATE (:Person {name: 'Somebody'})").run());
        same(1L, movies.deleteByTitle("Cloud Atlas"));
        movies.delete(movies.findByTitle("Speed").orElseThrow());
        movies.deleteAllById(List.of(movies.findByTitle("Matrix Reloaded").orElseThrow().id));
        same(1L, movies.count());
        movies.deleteAll();
        people.deleteAll();
        same(0L, movies.count());
        same(0L, people.count());
    }
}
