/* A gateway on libevent: one thread that serves all requests in turns of its event loop. For each
 * request it asks two web services and Redis, all three at once, over pools of persistent connections
 * with one request at a time on each.
 *
 * usage: gateway ENTRY STOCK PRICE CACHE    (ports of 127.0.0.1) */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define POOL 6
#define ADDRESS "127.0.0.1"

struct order {
    struct evhttp_request *request;
    char path[128];
    int open_calls;
    STAILQ_ENTRY(order) next;
};
STAILQ_HEAD(queue, order);

struct service {
    struct evhttp_connection *connections[POOL];
    unsigned turn;
};

static struct event_base *base;
static struct service stock, price;
static struct cache_connection {
    struct bufferevent *stream;
    struct order *asked;
} cache[POOL];
static struct queue waiting = STAILQ_HEAD_INITIALIZER(waiting);

static void fail(const char *what) {
    fprintf(stderr, "gateway: %s\n", what);
    exit(1);
}

static void end_call(struct order *order) {
    struct evbuffer *body;
    if (--order->open_calls > 0) return;
    body = evbuffer_new();
    evbuffer_add_printf(body, "%s is ready\n", order->path);
    evhttp_send_reply(order->request, 200, "OK", body);
    evbuffer_free(body);
    free(order);
}

static void answered(struct evhttp_request *answer, void *order) {
    if (answer == NULL || evhttp_request_get_response_code(answer) != 200) fail("a service failed");
    end_call(order);
}

static void call(struct service *service, struct order *order) {
    struct evhttp_connection *connection = service->connections[service->turn++ % POOL];
    struct evhttp_request *request = evhttp_request_new(answered, order);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Host", ADDRESS);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Connection", "keep-alive");
    if (evhttp_make_request(connection, request, EVHTTP_REQ_GET, order->path) != 0) fail("no request");
}

/* Asks for the next order that waits, if the connection is free. */
static void ask_cache(struct cache_connection *connection) {
    struct order *order = STAILQ_FIRST(&waiting);
    if (connection->asked != NULL || order == NULL) return;
    STAILQ_REMOVE_HEAD(&waiting, next);
    connection->asked = order;
    evbuffer_add_printf(bufferevent_get_output(connection->stream), "*2\r\n$3\r\nGET\r\n$%zu\r\n%s\r\n",
                        strlen(order->path), order->path);
}

/* Each answer is one line: keys are missing. */
static void cache_answered(struct bufferevent *from, void *of) {
    struct cache_connection *connection = of;
    char *line;
    while ((line = evbuffer_readln(bufferevent_get_input(from), NULL, EVBUFFER_EOL_CRLF)) != NULL) {
        struct order *order = connection->asked;
        free(line);
        if (order == NULL) fail("an answer without a command");
        connection->asked = NULL;
        ask_cache(connection);
        end_call(order);
    }
}

static void received(struct evhttp_request *request, void *unused) {
    struct order *order = calloc(1, sizeof *order);
    (void)unused;
    snprintf(order->path, sizeof order->path, "%s", evhttp_request_get_uri(request));
    order->request = request;
    order->open_calls = 3;
    STAILQ_INSERT_TAIL(&waiting, order, next);
    for (int n = 0; n < POOL; n++) ask_cache(&cache[n]);
    call(&stock, order);
    call(&price, order);
}

static void open_pool(struct service *service, unsigned short port) {
    for (int n = 0; n < POOL; n++) {
        service->connections[n] = evhttp_connection_base_new(base, NULL, ADDRESS, port);
        evhttp_connection_set_timeout(service->connections[n], 60);
    }
}

int main(int count, char **arguments) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct evhttp *server;
    if (count != 5) fail("four ports are needed");
    base = event_base_new();
    open_pool(&stock, atoi(arguments[2]));
    open_pool(&price, atoi(arguments[3]));
    address.sin_port = htons(atoi(arguments[4]));
    for (int n = 0; n < POOL; n++) {
        struct bufferevent *stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
        cache[n].stream = stream;
        bufferevent_setcb(stream, cache_answered, NULL, NULL, &cache[n]);
        bufferevent_enable(stream, EV_READ | EV_WRITE);
        if (bufferevent_socket_connect(stream, (struct sockaddr *)&address, sizeof address) != 0) fail("no cache");
    }
    server = evhttp_new(base);
    evhttp_set_gencb(server, received, NULL);
    if (evhttp_bind_socket(server, ADDRESS, atoi(arguments[1])) != 0) fail("the port is in use");
    return event_base_dispatch(base) == 0 ? 0 : 1;
}
