import java.nio.file.Path;
import java.util.List;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Neo4j with Bolt on a port of this machine, without login: `Server HOME PORT MEGABYTES`. */
public class Server {
    public static void main(String[] args) throws Exception {
        var address = new SocketAddress("127.0.0.1", Integer.parseInt(args[1]));
        new DatabaseManagementServiceBuilder(Path.of(args[0]))
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, address)
            .setConfig(BoltConnector.thread_pool_max_size, 2000)
            .setConfig(HttpConnector.enabled, false)
            .setConfig(GraphDatabaseSettings.auth_enabled, false)
            .setConfig(GraphDatabaseSettings.procedure_unrestricted, List.of("apoc.*"))
            .setConfig(GraphDatabaseSettings.pagecache_memory, Long.parseLong(args[2]) << 20)
            .build();
        System.out.println("up");
        Thread.currentThread().join();
    }
}
