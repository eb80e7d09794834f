// What a reactive program with Spring Data Neo4j sees; GRAVEN_BOLT is the address of the server.
package flow;

import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Driver;
import org.neo4j.driver.GraphDatabase;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.data.annotation.Version;
import org.springframework.data.neo4j.config.AbstractReactiveNeo4jConfig;
import org.springframework.data.neo4j.core.schema.Id;
import org.springframework.data.neo4j.core.schema.Node;
import org.springframework.data.neo4j.core.schema.Relationship;
import org.springframework.data.neo4j.repository.ReactiveNeo4jRepository;
import org.springframework.data.neo4j.repository.config.EnableReactiveNeo4jRepositories;
import org.springframework.data.neo4j.repository.query.Query;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.reactive.TransactionalOperator;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

public class Flow {
    @Node("Guest")
    public static class Guest {
        @Id String name;
        @Version Long version;
        int age;
        @Relationship("KNOWS") List<Guest> friends;

        Guest() {
        }

        Guest(String name, int age, Guest... friends) {
            this.name = name;
            this.age = age;
            this.friends = List.of(friends);
        }
    }

    public interface Guests extends ReactiveNeo4jRepository<Guest, String> {
        Flux<Guest> findByAgeLessThanOrderByName(int age);

        @Query("MATCH (g:Guest)-[:KNOWS]->(f:Guest) RETURN f.name ORDER BY f.name")
        Flux<String> friends();

        Mono<Long> countByAge(int age);
    }

    @Configuration
    @EnableTransactionManagement
    @EnableReactiveNeo4jRepositories(considerNestedRepositories = true)
    static class Settings extends AbstractReactiveNeo4jConfig {
        @Bean
        @Override
        public Driver driver() {
            String address = "bolt://" + System.getenv("GRAVEN_BOLT");
            return GraphDatabase.driver(address, AuthTokens.none());
        }

        @Override
        protected Collection<String> getMappingBasePackages() {
            return List.of("flow");
        }
    }

    static void same(Object wanted, Object got) {
        if (!Objects.equals(wanted, got)) {
            throw new AssertionError("wanted " + wanted + ", got " + got);
        }
    }

    public static void main(String[] arguments) {
        try (var context = new AnnotationConfigApplicationContext(Settings.class)) {
            var guests = context.getBean(Guests.class);
            var bo = new Guest("Bo", 30);
            guests.saveAll(List.of(new Guest("Ada", 40, bo), new Guest("Cy", 20))).blockLast();
            same(3L, guests.count().block());
            var young = guests.findByAgeLessThanOrderByName(35).map(guest -> guest.name);
            same(List.of("Bo", "Cy"), young.collectList().block());
            same(List.of("Bo"), guests.friends().collectList().block());
            same(1L, guests.countByAge(20).block());
            same("Bo", guests.findById("Ada").block().friends.get(0).name);
            var one = guests.findById("Cy").block();
            var other = guests.findById("Cy").block();
            one.age = 21;
            guests.save(one).block();
            other.age = 22;
            var lost = guests.save(other).map(guest -> false)
                .onErrorResume(OptimisticLockingFailureException.class, e -> Mono.just(true));
            same(true, lost.block());
            var within = TransactionalOperator.create(
                context.getBean(ReactiveTransactionManager.class));
            var undone = within.execute(status -> {
                status.setRollbackOnly();
                return guests.save(new Guest("Di", 50));
            });
            undone.blockLast();
            same(false, guests.existsById("Di").block());
            within.transactional(guests.save(new Guest("Di", 50))).block();
            same(true, guests.existsById("Di").block());
            guests.deleteAll().block();
            same(0L, guests.count().block());
        }
        System.out.println("done");
    }
}
