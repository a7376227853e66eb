// Cost of messages with kept heads (SOCKCAP_PROTOCOLS), in a process that is both ends.
//
// usage: head_calls ROUNDS [PROCESSOR]
// Prints a line for each kind of message as calls.c does, in ns per sent or received message. A
// request and its response alternate: of most protocols the beginning of a turn is kept, and each
// of these messages is one.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct functions {
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*recv)(int, void *, size_t, int);
};

#include "slices.h"

struct exchange {
    int ends[2];
    const char *texts[2];
    size_t sizes[2];
};

// One of the four calls of an exchange.
static ssize_t step(const struct functions *f, const struct exchange *of, int number) {
    int by = number / 2;
    if (number % 2 == 0) return f->write(of->ends[by], of->texts[by], of->sizes[by]);
    return f->read(of->ends[!by], buffer, sizeof buffer);
}

static void exchanges(const char *name, struct exchange of) {
    MEASURE(name, 0, SLICE, , step(f, &of, n % 4), );
    must(close(of.ends[0]));
    must(close(of.ends[1]));
}

// Bytes of two literals, without their terminating zeros.
#define TWO(request, answer) {request, answer}, {sizeof request - 1, sizeof answer - 1}

static struct exchange connected(struct exchange of) {
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, of.ends));
    return of;
}

#define EXCHANGES(name, request, answer) \
    exchanges(name, connected((struct exchange){{0, 0}, TWO(request, answer)}))

// The first frame of each end of an HTTP/2 connection: no settings.
#define SETTINGS "\0\0\0\4\0\0\0\0\0"

// Exchanges on an HTTP/2 connection. Its beginning is seen by the library, and not measured.
static void of_http2(const char *name, struct exchange of) {
    of = connected(of);
    struct exchange begin = {{of.ends[0], of.ends[1]},
                             TWO("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" SETTINGS, SETTINGS)};
    for (int number = 0; number < 4; number++) must(step(&ways[1], &begin, number));
    exchanges(name, of);
}

static void datagrams(void) {
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    MEASURE("datagram, 60 bytes", 0, SLICE, ,
            n % 2 ? f->recv(pair[1], buffer, 100, 0) : f->send(pair[0], buffer, 60, 0), );
    must(close(pair[0]));
    must(close(pair[1]));
}

int main(int count, char **arguments) {
    void *libc = begin_with(count, arguments);
    if (!libc) return 2;
    FIND(read); FIND(write); FIND(send); FIND(recv);

    EXCHANGES("HTTP/1, 9 and 6 lines",
              "GET /user/1234/cart?page=2 HTTP/1.1\r\nHost: shop.example:8080\r\nUser-Agent: Mozilla/5.0 (X11; Linux)\r\n"
              "Accept: text/html,application/xhtml+xml\r\nAccept-Language: en\r\nAccept-Encoding: gzip, deflate\r\n"
              "Cookie: session=0123456789abcdef0123456789abcdef\r\nConnection: keep-alive\r\n\r\n",
              "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Thu, 26 Nov 2026 06:00:00 GMT\r\nContent-Type: text/html\r\n"
              "Content-Length: 2\r\n\r\nok");
    EXCHANGES("HTTP/1, 3 and 3 lines", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    EXCHANGES("Redis, 30 and 12 bytes", "*2\r\n$3\r\nGET\r\n$9\r\nuser:1234\r\n", "$6\r\nabcdef\r\n");
    EXCHANGES("words, 300 and 300 bytes",
              "1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
              "2bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
              "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
              "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    // A gRPC call on a connection after earlier calls: names and values that were sent before are
    // indices of the table (62 and above). HEADERS and DATA; HEADERS, DATA, and HEADERS that end
    // it.
    of_http2("HTTP/2, a call of gRPC",
             (struct exchange){{0, 0},
                               TWO("\0\0\10\1\4\0\0\0\1" "\x83\x86\xc4\xc3\xc2\xc1\xc0\xbf"
                                   "\0\0\x14\0\1\0\0\0\1" "\0\0\0\0\x0f" "\n\ruser-12345678",
                                   "\0\0\2\1\4\0\0\0\1" "\x88\xbe"
                                   "\0\0\x14\0\0\0\0\0\1" "\0\0\0\0\x0f" "\n\rcart-12345678"
                                   "\0\0\2\1\5\0\0\0\1" "\xbf\xbe")});
    // A request as browsers and curl send it, with a path that is not in the table.
    of_http2("HTTP/2, a request and its page",
             (struct exchange){{0, 0},
                               TWO("\0\0\x17\1\5\0\0\0\1" "\x82\x87\xc1\4\xf/user/1234/cart" "\xc0\xbf\xbe",
                                   "\0\0\4\1\4\0\0\0\1" "\x88\xc0\xbf\xbe"
                                   "\0\0\2\0\1\0\0\0\1" "ok")});
    // The same with values in each response that are not indexed, as nginx sends them.
    of_http2("HTTP/2, with values left out",
             (struct exchange){{0, 0},
                               TWO("\0\0\x17\1\5\0\0\0\1" "\x82\x87\xc1\4\xf/user/1234/cart" "\xc0\xbf\xbe",
                                   "\0\0\x36\1\4\0\0\0\1" "\x88\x0f\x27\6nginx/" "\x0f\x12\x1dThu, 26 Nov 2026 06:00:00 GMT"
                                   "\x0f\x10\x09text/html" "\0\0\2\0\1\0\0\0\1" "ok")});
    datagrams();
    return 0;
}
