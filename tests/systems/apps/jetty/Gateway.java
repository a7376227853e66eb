// An HTTP server of Jetty, which suspends each request while Jetty's client calls a service twice.
// Both use one pool of threads; none waits for a response.
//
// usage: Gateway PORT STOCK
import java.util.function.Consumer;
import javax.servlet.AsyncContext;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.client.api.Result;
import org.eclipse.jetty.client.util.BufferingResponseListener;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.AbstractHandler;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

public class Gateway extends AbstractHandler {
    static final int THREADS = 12;
    static final int CONNECTIONS = 16;
    final HttpClient services;
    final String stock;

    Gateway(HttpClient services, String stock) {
        this.services = services;
        this.stock = stock;
    }

    public static void main(String[] arguments) throws Exception {
        QueuedThreadPool threads = new QueuedThreadPool(THREADS);
        HttpClient services = new HttpClient();
        services.setExecutor(threads);
        services.setMaxConnectionsPerDestination(CONNECTIONS);
        Server server = new Server(threads);
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(arguments[0]));
        server.addConnector(connector);
        server.addBean(services);
        server.setHandler(new Gateway(services, "http://127.0.0.1:" + arguments[1]));
        server.start();
    }

    @Override
    public void handle(String path, Request base, HttpServletRequest request, HttpServletResponse response) {
        base.setHandled(true);
        AsyncContext order = request.startAsync();
        Consumer<Integer> answer = status -> {
            response.setStatus(status);
            response.setContentLength(0);
            order.complete();
        };
        ask("/left" + path, answer, () -> ask("/send" + path, answer, () -> answer.accept(200)));
    }

    /** Calls the service; goes on with `then` if it answers, and else ends with `failed`. */
    void ask(String path, Consumer<Integer> failed, Runnable then) {
        services.newRequest(stock + path).send(new BufferingResponseListener() {
            @Override
            public void onComplete(Result result) {
                if (result.isSucceeded() && result.getResponse().getStatus() == 200) then.run();
                else failed.accept(502);
            }
        });
    }
}
