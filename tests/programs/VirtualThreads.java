// A server with a virtual thread for each connection, its clients, and the service that it calls.
// The request of n has n bytes. For it the server makes two calls of 100 + n bytes, one after the
// other, on one of two connections that all requests share, and answers with 1000 + n bytes. It
// prints n, the id of the thread that answers, and the ids of the threads that made the calls: the
// same one, or with the argument `fork` a virtual thread for each.
//
// It is compiled for Java 17, which has no virtual threads, so they are found by name.
import java.io.*;
import java.net.*;
import java.util.concurrent.*;

public class VirtualThreads {
    static final int FIRST = 2, END = 40;
    static final InetAddress HERE = InetAddress.getLoopbackAddress();
    static final BlockingQueue<Socket> pool = new LinkedBlockingQueue<>();
    static ExecutorService virtual;
    static boolean forks;

    interface Work {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        forks = arguments.length > 0 && arguments[0].equals("fork");
        var executor = Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
        virtual = (ExecutorService) executor.invoke(null);
        ServerSocket back = new ServerSocket(0, 100, HERE), front = new ServerSocket(0, 100, HERE);
        start(() -> {
            while (true) {
                Socket socket = back.accept();
                start(() -> echo(socket));
            }
        });
        start(() -> {
            while (true) {
                Socket socket = front.accept();
                virtual.submit(() -> { serve(socket); return null; });
            }
        });
        for (int n = 0; n < 2; n++) pool.put(new Socket(HERE, back.getLocalPort()));
        Thread[] clients = new Thread[END];
        for (int n = FIRST; n < END; n++) {
            int size = n;
            clients[n] = start(() -> ask(front.getLocalPort(), size));
        }
        for (int n = FIRST; n < END; n++) clients[n].join();
        System.out.println("done");
    }

    static Thread start(Work work) {
        Thread thread = new Thread(() -> {
            try { work.run(); } catch (Exception error) { error.printStackTrace(); System.exit(1); }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void echo(Socket socket) throws Exception {
        byte[] data = new byte[1000];
        for (int size; (size = socket.getInputStream().read(data)) > 0; )
            socket.getOutputStream().write(data, 0, size);
    }

    static void ask(int port, int n) throws Exception {
        try (Socket socket = new Socket(HERE, port)) {
            byte[] request = new byte[n];
            request[0] = (byte) n;
            socket.getOutputStream().write(request);
            socket.getInputStream().readNBytes(1000 + n);
        }
    }

    static void serve(Socket socket) throws Exception {
        InputStream in = socket.getInputStream();
        int n = in.read();
        in.readNBytes(n - 1);
        Socket called = pool.take();
        long[] callers = new long[2];
        for (int call = 0; call < 2; call++) {
            Callable<Long> work = () -> call(called, 100 + n);
            callers[call] = forks ? virtual.submit(work).get() : work.call();
        }
        pool.put(called);
        System.out.println(n + " " + id() + " " + callers[0] + " " + callers[1]);
        socket.getOutputStream().write(new byte[1000 + n]);
        socket.close();
    }

    static long call(Socket socket, int size) throws Exception {
        socket.getOutputStream().write(new byte[size]);
        socket.getInputStream().readNBytes(size);
        return id();
    }

    static long id() {
        return Thread.currentThread().getId();
    }
}
