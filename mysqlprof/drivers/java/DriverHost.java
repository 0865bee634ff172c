import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.zip.CRC32;

/** Runs SQL through JDBC on request. The protocol is described in hosted.py. */
public class DriverHost {
    private static final class Session {
        Connection connection;
        PreparedStatement statement;
        Loop loop;
    }

    /** One statement, once for each row. */
    private static final class Loop {
        String sql;
        int rows;
        String way;
    }

    private final Map<String, Session> sessions = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        run(new DriverHost());
    }

    static void run(DriverHost host) throws Exception {
        // Drivers print warnings to System.out's place: keep the protocol's stream apart.
        PrintStream replies = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        BufferedReader requests =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        host.serve(requests, replies);
    }

    private void serve(BufferedReader requests, PrintStream replies) throws Exception {
        String line;
        while ((line = requests.readLine()) != null) {
            String[] fields = line.split("\t", -1);
            String reply;
            try {
                reply = answer(fields);
            } catch (Exception | OutOfMemoryError error) {
                reply = "ERR\t" + error.getClass().getName() + "\t" + oneLine(error) + cause(error);
            }
            replies.println(reply);
            if (fields[0].equals("QUIT")) {
                return;
            }
        }
    }

    private String answer(String[] fields) throws Exception {
        switch (fields[0]) {
            case "OPEN":
                return open(fields[1], fields[2], fields[3]);
            case "PREPARE":
                return prepare(sessions.get(fields[1]), fields[2], fields[3]);
            case "LOOP":
                return loop(sessions.get(fields[1]), fields[2], fields[3], fields[4]);
            case "EXECUTE":
                return execute(sessions.get(fields[1]));
            case "CLOSE":
                close(sessions.remove(fields[1]));
                return "OK";
            case "QUIT":
                for (Session session : sessions.values()) {
                    close(session);
                }
                return "OK";
            default:
                throw new IllegalArgumentException("unknown request " + fields[0]);
        }
    }

    private String open(String id, String url, String loginFile) throws Exception {
        Properties properties = new Properties();
        List<String> login = Files.readAllLines(Paths.get(loginFile), StandardCharsets.UTF_8);
        properties.setProperty("user", login.get(0));
        properties.setProperty("password", login.get(1));
        Session session = new Session();
        session.connection = connect(url, properties);
        sessions.put(id, session);
        return "OK\t" + session.connection.getMetaData().getDriverName()
            + "\t" + session.connection.getMetaData().getDriverVersion();
    }

    Connection connect(String url, Properties login) throws Exception {
        return DriverManager.getConnection(url, login);
    }

    private String prepare(Session session, String sqlFile, String valuesFile) throws Exception {
        String sql = read(sqlFile);
        List<String> lines = Files.readAllLines(Paths.get(valuesFile), StandardCharsets.UTF_8);
        long start = System.nanoTime();
        session.statement = session.connection.prepareStatement(sql);
        long elapsed = System.nanoTime() - start;
        String[] kinds = lines.get(0).split("\t", -1);
        int parameter = 0;
        for (String line : lines.subList(1, lines.size())) {
            String[] values = line.split("\t", -1);
            for (int column = 0; column < kinds.length; column++) {
                bind(session.statement, ++parameter, kinds[column], values[column]);
            }
        }
        return "OK\t" + elapsed;
    }

    private String loop(Session session, String sqlFile, String rows, String way)
            throws Exception {
        session.loop = new Loop();
        session.loop.sql = read(sqlFile);
        session.loop.rows = Integer.parseInt(rows);
        session.loop.way = way;
        return "OK\t" + status(session.connection, "Ssl_version")
            + "\t" + status(session.connection, "Ssl_cipher");
    }

    private String execute(Session session) throws SQLException {
        if (session.loop != null) {
            long start = System.nanoTime();
            int affected = run(session.connection, session.loop);
            return "OK\t" + (System.nanoTime() - start) + "\t" + affected;
        }
        long start = System.nanoTime();
        boolean query = session.statement.execute();
        String rows = query ? fetch(session.statement.getResultSet()) : "";
        long elapsed = System.nanoTime() - start;
        return "OK\t" + elapsed + "\t" + session.statement.getUpdateCount() + rows;
    }

    /** The number of the rows, and the sum of their checksums. */
    private static String fetch(ResultSet rows) throws SQLException {
        int columns = rows.getMetaData().getColumnCount();
        long count = 0;
        long checksum = 0;
        while (rows.next()) {
            StringBuilder row = new StringBuilder();
            for (int column = 1; column <= columns; column++) {
                row.append(column > 1 ? "|" : "").append(rows.getString(column));
            }
            CRC32 crc = new CRC32();
            crc.update(row.toString().getBytes(StandardCharsets.UTF_8));
            checksum += crc.getValue();
            count++;
        }
        return "\t" + count + "\t" + checksum;
    }

    private static int run(Connection connection, Loop loop) throws SQLException {
        boolean once = loop.way.equals("transaction") || loop.way.equals("batch");
        if (once) {
            connection.setAutoCommit(false);
        }
        int affected = loop.way.equals("batch")
            ? batch(connection, loop)
            : oneByOne(connection, loop, loop.way.equals("checkout"));
        if (once) {
            connection.commit();
        }
        return affected;
    }

    private static int oneByOne(Connection connection, Loop loop, boolean checkout)
            throws SQLException {
        int affected = 0;
        try (Statement statement = connection.createStatement()) {
            for (int row = 0; row < loop.rows; row++) {
                if (checkout) {
                    connection.getTransactionIsolation();
                    connection.setAutoCommit(true);
                }
                affected += statement.executeUpdate(loop.sql);
            }
        }
        return affected;
    }

    /** Prepared, for drivers rewrite nothing else. */
    private static int batch(Connection connection, Loop loop) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(loop.sql)) {
            for (int row = 0; row < loop.rows; row++) {
                statement.addBatch();
            }
            statement.executeBatch();
            return loop.rows; // a rewritten batch does not know how many; the table is counted
        }
    }

    private static String status(Connection connection, String name) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SHOW STATUS LIKE '" + name + "'")) {
            return row.next() ? row.getString(2) : "";
        }
    }

    private static void bind(PreparedStatement statement, int index, String kind, String value)
            throws SQLException {
        switch (kind) {
            case "long":
                statement.setLong(index, Long.parseLong(value));
                break;
            case "decimal":
                statement.setBigDecimal(index, new BigDecimal(value));
                break;
            case "datetime":
                statement.setTimestamp(index, Timestamp.valueOf(value));
                break;
            case "date":
                statement.setDate(index, Date.valueOf(value));
                break;
            case "text":
                statement.setString(index, value);
                break;
            default:
                throw new IllegalArgumentException("unknown kind " + kind);
        }
    }

    private static void close(Session session) throws SQLException {
        if (session == null) {
            return;
        }
        try {
            if (session.statement != null) {
                session.statement.close();
            }
        } finally {
            session.connection.close();
        }
    }

    private static String read(String file) throws Exception {
        return new String(Files.readAllBytes(Paths.get(file)), StandardCharsets.UTF_8);
    }

    /** What a "Communications link failure" hides. */
    private static String cause(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        return root == error ? "" : " [" + root.getClass().getName() + ": " + oneLine(root) + "]";
    }

    private static String oneLine(Throwable error) {
        return String.valueOf(error.getMessage()).replaceAll("\\s+", " ").trim();
    }
}
