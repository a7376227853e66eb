// The JDK's HTTP server, whose one thread reads all requests and hands each to a pool of eight
// workers. A worker asks the database while java.net.http asks a service; whoever ends last has the
// pool store the result, ask the service again, and respond.
//
// usage: Shop PORT DATABASE STOCK
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class Shop {
    static final int WORKERS = 8;
    static final int CONNECTIONS = 4;
    static final ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
    static final BlockingQueue<Connection> database = new ArrayBlockingQueue<>(CONNECTIONS);
    static final HttpClient services =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    public static void main(String[] arguments) throws Exception {
        String address = "jdbc:postgresql://127.0.0.1:" + arguments[1] + "/postgres?user=postgres";
        for (int n = 0; n < CONNECTIONS; n++) database.add(DriverManager.getConnection(address));
        String stock = "http://127.0.0.1:" + arguments[2];
        var port = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
        HttpServer server = HttpServer.create(port, 1000);
        // Without an executor the thread that waits for requests reads them, too.
        server.createContext("/order/", exchange -> {
            String name = exchange.getRequestURI().getPath().substring("/order/".length());
            CompletableFuture.supplyAsync(() -> priceOf(name), workers)
                    .thenCombine(get(stock + "/left/" + name), (price, left) -> price)
                    .thenAcceptAsync(price -> store(name, price), workers)
                    .thenCompose(stored -> get(stock + "/send/" + name))
                    .whenCompleteAsync((sent, error) -> answer(exchange, sent, error), workers);
        });
        server.start();
    }

    static CompletableFuture<String> get(String address) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address)).build();
        return services.sendAsync(request, BodyHandlers.ofString()).thenApply(answer -> answer.body());
    }

    interface Query<T> {
        T run(Connection connection) throws SQLException;
    }

    static <T> T query(Query<T> query) {
        try {
            Connection connection = database.take();
            try {
                return query.run(connection);
            } finally {
                database.add(connection);
            }
        } catch (SQLException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    static int priceOf(String name) {
        return query(connection -> {
            String text = "SELECT price FROM orders WHERE number = 7 AND ? <> ''";
            try (var statement = connection.prepareStatement(text)) {
                statement.setString(1, name);
                var rows = statement.executeQuery();
                rows.next();
                return rows.getInt(1);
            }
        });
    }

    static void store(String name, int price) {
        query(connection -> {
            String text = "INSERT INTO payments (name, price) VALUES (?, ?)";
            try (var statement = connection.prepareStatement(text)) {
                statement.setString(1, name);
                statement.setInt(2, price);
                return statement.executeUpdate();
            }
        });
    }

    static void answer(HttpExchange exchange, String sent, Throwable error) {
        if (error != null) error.printStackTrace();
        byte[] body = (error == null ? sent : error.toString()).getBytes();
        try (exchange) {
            exchange.sendResponseHeaders(error == null ? 200 : 500, body.length);
            exchange.getResponseBody().write(body);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
