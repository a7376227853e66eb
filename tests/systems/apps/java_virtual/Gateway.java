// An HTTP server with a virtual thread for each request, which calls other services with
// HttpURLConnection: one after the other, or with `fork` in a virtual thread for each call. Its
// pool keeps connections open.
//
// usage: Gateway in-turn|fork PORT CALLED-PORT...
//
// It is compiled for Java 17, which has no virtual threads, so they are found by name.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Gateway {
    public static void main(String[] arguments) throws Exception {
        boolean forks = arguments[0].equals("fork");
        List<Integer> called = new ArrayList<>();
        for (int n = 2; n < arguments.length; n++) called.add(Integer.valueOf(arguments[n]));
        var executor = Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
        ExecutorService virtual = (ExecutorService) executor.invoke(null);
        int port = Integer.parseInt(arguments[1]);
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        HttpServer server = HttpServer.create(address, 1000);
        server.setExecutor(virtual);
        server.createContext("/", exchange -> {
            String path = exchange.getRequestURI().getPath();
            if (forks) {
                List<Future<byte[]>> answers = new ArrayList<>();
                for (int service : called) answers.add(virtual.submit(() -> get(service, path)));
                for (Future<byte[]> answer : answers) await(answer);
            } else {
                for (int service : called) get(service, path);
            }
            answer(exchange, path.getBytes());
        });
        server.start();
    }

    static byte[] get(int port, String path) throws IOException {
        URL address = new URL("http", "127.0.0.1", port, path);
        HttpURLConnection connection = (HttpURLConnection) address.openConnection();
        try (var body = connection.getInputStream()) {
            return body.readAllBytes();
        }
    }

    static void await(Future<byte[]> answer) throws IOException {
        try {
            answer.get();
        } catch (Exception error) {
            throw new IOException(error);
        }
    }

    static void answer(HttpExchange exchange, byte[] body) throws IOException {
        exchange.sendResponseHeaders(200, body.length);
        try (var out = exchange.getResponseBody()) {
            out.write(body);
        }
    }
}
