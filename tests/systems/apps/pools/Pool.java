import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * A web service with a reader, a pool of workers, and optionally a writer, each a separate thread.
 *
 * The reader takes requests from all connections and gives them to a ThreadPoolExecutor. A worker
 * calls the stock service, for some requests also the price service, and responds, or leaves the
 * response to the writer.
 *
 * usage: java Pool.java PORT STOCK PRICE WORKERS worker|writer
 */
public class Pool {
    /** An answer for the writer to send. */
    record Answer(SocketChannel connection, String text) {}

    /** A connection to a service; each worker has its own. */
    static class Service {
        private final Socket socket;

        Service(int port) {
            try {
                socket = new Socket(InetAddress.getLoopbackAddress(), port);
                socket.setTcpNoDelay(true);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        String ask(String path) throws IOException {
            String request = "GET " + path + " HTTP/1.1\r\nHost: service\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            byte[] buffer = new byte[2000];
            int size = socket.getInputStream().read(buffer);
            String answer = new String(buffer, 0, size, StandardCharsets.US_ASCII);
            return answer.substring(answer.indexOf("\r\n\r\n") + 4);
        }
    }

    static final LinkedBlockingQueue<Answer> ANSWERS = new LinkedBlockingQueue<>();

    public static void main(String[] words) throws Exception {
        int[] numbers = new int[4];
        for (int at = 0; at < 4; at++) numbers[at] = Integer.parseInt(words[at]);
        boolean hasWriter = words[4].equals("writer");
        ThreadLocal<Service> stock = ThreadLocal.withInitial(() -> new Service(numbers[1]));
        ThreadLocal<Service> price = ThreadLocal.withInitial(() -> new Service(numbers[2]));
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                numbers[3], numbers[3], 1, TimeUnit.HOURS, new LinkedBlockingQueue<>(1000));
        pool.prestartAllCoreThreads();
        if (hasWriter) new Thread(Pool::write, "writer").start();

        Selector selector = Selector.open();
        ServerSocketChannel listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), numbers[0]), 200);
        listener.configureBlocking(false);
        listener.register(selector, SelectionKey.OP_ACCEPT);
        ByteBuffer buffer = ByteBuffer.allocate(4000);
        while (true) {
            selector.select();
            for (SelectionKey key : selector.selectedKeys()) {
                if (key.isAcceptable()) {
                    SocketChannel connection = listener.accept();
                    connection.configureBlocking(false);
                    connection.register(selector, SelectionKey.OP_READ);
                    continue;
                }
                SocketChannel connection = (SocketChannel) key.channel();
                buffer.clear();
                if (connection.read(buffer) < 0) {
                    connection.close();
                    continue;
                }
                String path = StandardCharsets.US_ASCII.decode(buffer.flip()).toString().split(" ")[1];
                pool.execute(() -> work(connection, path, stock.get(), price.get(), hasWriter));
            }
            selector.selectedKeys().clear();
        }
    }

    static void work(SocketChannel connection, String path, Service stock, Service price,
            boolean hasWriter) {
        try {
            String name = path.substring(path.lastIndexOf('/') + 1);
            String body = stock.ask("/stock/" + name);
            if (Integer.parseInt(name.substring(4, 11)) % 3 != 0) body += price.ask("/price/" + name);
            String text = "HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
            Answer answer = new Answer(connection, text);
            if (hasWriter) ANSWERS.add(answer); else send(answer);
        } catch (IOException error) {
            System.err.println(error);
        }
    }

    static void send(Answer answer) throws IOException {
        answer.connection().write(ByteBuffer.wrap(answer.text().getBytes(StandardCharsets.US_ASCII)));
    }

    static void write() {
        while (true) {
            try {
                send(ANSWERS.take());
            } catch (IOException | InterruptedException error) {
                System.err.println(error);
            }
        }
    }
}
