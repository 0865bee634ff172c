import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import javax.sql.DataSource;
import org.apache.shardingsphere.driver.api.yaml.YamlShardingSphereDataSourceFactory;

/**
 * DriverHost through ShardingSphere-JDBC: one data source for each url, with the pool that it makes
 * by itself, kept as an application keeps its own.
 */
final class ShardingHost extends DriverHost {
    private final Map<String, DataSource> sources = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        run(new ShardingHost());
    }

    @Override
    Connection connect(String url, Properties login) throws Exception {
        if (!sources.containsKey(url)) {
            byte[] yaml = configuration(url, login).getBytes(StandardCharsets.UTF_8);
            sources.put(url, YamlShardingSphereDataSourceFactory.createDataSource(yaml));
        }
        return sources.get(url).getConnection();
    }

    /** One storage unit, no sharding: what is not written is ShardingSphere's default. */
    private static String configuration(String url, Properties login) {
        return "schemaName: mysqlprof\n"
            + "mode:\n  type: Memory\n"
            + "dataSources:\n  storage:\n"
            + "    dataSourceClassName: com.zaxxer.hikari.HikariDataSource\n"
            + "    jdbcUrl: " + quoted(url) + "\n"
            + "    username: " + quoted(login.getProperty("user")) + "\n"
            + "    password: " + quoted(login.getProperty("password")) + "\n"
            + "    minPoolSize: 1\n    maxPoolSize: 2\n"
            + "rules: []\n";
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
