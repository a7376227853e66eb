// A service that hands its requests from thread to thread: from readers of connections to workers,
// and from workers to finishers; with a store and a log as backends, and clients that send many
// concurrent requests. Request n of a client is 100 + n bytes long, the worker's call for it 1000 +
// n, the finisher's 2000 + n, so that sizes show which call was made for which request.
import java.io.*;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;

public class Pool {
    static final int REQUESTS = 800, CLIENTS = 4;
    static final InetAddress HERE = InetAddress.getLoopbackAddress();

    public static void main(String[] arguments) throws Exception {
        switch (arguments.length == 0 ? "" : arguments[0]) {
            case "store" -> store();
            case "front" -> front(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
            default -> clients(arguments[1]);
        }
    }

    // Starts the other processes, and sends requests.
    static void clients(String source) throws Exception {
        Process store = start(source, "store"), log = start(source, "store");
        Process front = start(source, "front", port(store), port(log));
        int port = Integer.parseInt(port(front));
        Thread[] clients = new Thread[CLIENTS];
        for (int client = 0; client < CLIENTS; client++) {
            int first = client;
            clients[client] = new Thread(() -> quietly(() -> {
                try (Socket socket = new Socket(HERE, port)) {
                    Random random = new Random(first);
                    for (int n = first; n < REQUESTS; n += CLIENTS) {
                        ask(socket, 100 + n);
                        Thread.sleep(random.nextInt(10));
                    }
                }
            }));
            clients[client].start();
        }
        for (Thread client : clients) client.join();
        for (Process process : List.of(front, store, log)) {
            process.getOutputStream().close();
            process.waitFor();
        }
        System.out.println("done");
    }

    static Process start(String source, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of("java", source));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    static String port(Process process) throws IOException {
        return new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
    }

    // One thread per connection reads; a pool works, and another one finishes.
    static void front(int store, int log) throws IOException {
        ExecutorService workers = Executors.newFixedThreadPool(6), finishers = Executors.newFixedThreadPool(4);
        BlockingQueue<Socket> stores = connections(store), logs = connections(log);
        serve((socket, size) -> workers.submit(() -> quietly(() -> {
            Thread.sleep(ThreadLocalRandom.current().nextInt(3));
            call(stores, size + 900);
            finishers.submit(() -> quietly(() -> {
                Thread.sleep(ThreadLocalRandom.current().nextInt(2));
                call(logs, size + 1900);
                answer(socket, 50);
            }));
        })));
    }

    static void store() throws IOException {
        serve((socket, size) -> quietly(() -> {
            Thread.sleep(1 + ThreadLocalRandom.current().nextInt(6));
            answer(socket, 60);
        }));
    }

    static BlockingQueue<Socket> connections(int port) throws IOException {
        BlockingQueue<Socket> free = new LinkedBlockingQueue<>();
        for (int n = 0; n < CLIENTS; n++) free.add(new Socket(HERE, port));
        return free;
    }

    static void call(BlockingQueue<Socket> free, int size) throws Exception {
        Socket socket = free.take();
        ask(socket, size);
        free.add(socket);
    }

    interface Handler { void handle(Socket socket, int size) throws Exception; }

    interface Work { void run() throws Exception; }

    static void quietly(Work work) {
        try {
            work.run();
        } catch (Exception error) {
            error.printStackTrace();
            System.exit(1);
        }
    }

    // Serves until the standard input ends. The first two bytes of a message are its length.
    static void serve(Handler handler) throws IOException {
        ServerSocket listener = new ServerSocket(0, 50, HERE);
        System.out.println(listener.getLocalPort());
        Thread acceptor = new Thread(() -> quietly(() -> {
            while (true) {
                Socket socket = listener.accept();
                Thread reader = new Thread(() -> quietly(() -> {
                    for (int size; (size = receive(socket)) >= 0; ) handler.handle(socket, size);
                }));
                reader.setDaemon(true);
                reader.start();
            }
        }));
        acceptor.setDaemon(true);
        acceptor.start();
        while (System.in.read() >= 0) { }
        System.exit(0);
    }

    static void ask(Socket socket, int size) throws IOException {
        socket.setSoTimeout(60_000);
        answer(socket, size);
        if (receive(socket) < 0) throw new EOFException();
    }

    static void answer(Socket socket, int size) throws IOException {
        byte[] message = new byte[size];
        message[0] = (byte) (size >> 8);
        message[1] = (byte) size;
        socket.getOutputStream().write(message);
    }

    // The size of the next message; -1 at the end.
    static int receive(Socket socket) throws IOException {
        byte[] buffer = new byte[8000];
        int got = 0;
        for (int size = 2; got < size; ) {
            int more = socket.getInputStream().read(buffer, got, buffer.length - got);
            if (more < 0) return -1;
            got += more;
            if (got >= 2) size = (buffer[0] & 255) << 8 | buffer[1] & 255;
        }
        return got;
    }
}
