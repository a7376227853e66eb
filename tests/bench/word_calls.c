// Cost of messages with rare words, in a process that is both ends.
//
// usage: word_calls ROUNDS [PROCESSOR]
// Prints a line for each kind of message as calls.c does, in ns per sent or received message. A
// request and its response alternate. Most messages have an id of 10 digits that no other exchange
// has; it is written by the program, bare and hooked alike.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct functions {
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*write)(int, const void *, size_t);
};

#include "slices.h"

enum { LARGEST = 1024 };

struct exchange {
    int ends[2];
    char texts[2][LARGEST];
    size_t sizes[2];
    // Places of the id, null for none.
    char *ids[2];
};

static unsigned long number = 1;

static void count_up(char *id) {
    number = number * 6364136223846793005u + 1442695040888963407u;
    unsigned long rest = number >> 20;
    for (int n = 0; n < 10; n++) {
        id[n] = '0' + rest % 10;
        rest /= 10;
    }
}

// One of the four calls of an exchange.
static ssize_t step(const struct functions *f, struct exchange *of, int call) {
    int by = call / 2;
    if (call % 2) return f->read(of->ends[!by], buffer, sizeof buffer);
    if (of->ids[by]) {
        if (by && of->ids[0]) memcpy(of->ids[1], of->ids[0], 10);
        else count_up(of->ids[by]);
    }
    return f->write(of->ends[by], of->texts[by], of->sizes[by]);
}

static void exchanges(const char *name, const char *request, size_t size, const char *answer, size_t answer_size) {
    struct exchange of = {{0, 0}, {{0}}, {size, answer_size}, {0, 0}};
    const char *texts[2] = {request, answer};
    for (int by = 0; by < 2; by++) {
        memcpy(of.texts[by], texts[by], of.sizes[by]);
        of.ids[by] = memmem(of.texts[by], of.sizes[by], "##########", 10);
    }
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, of.ends));
    char title[80];
    snprintf(title, sizeof title, "%s, %zu and %zu bytes", name, size, answer_size);
    MEASURE(title, 0, SLICE, , step(f, &of, n % 4), );
    must(close(of.ends[0]));
    must(close(of.ends[1]));
}

#define EXCHANGES(name, request, answer) exchanges(name, request, sizeof request - 1, answer, sizeof answer - 1)

#define SPACES16 "                "
#define SPACES128 SPACES16 SPACES16 SPACES16 SPACES16 SPACES16 SPACES16 SPACES16 SPACES16

int main(int count, char **arguments) {
    void *libc = begin_with(count, arguments);
    if (!libc) return 2;
    FIND(read); FIND(write);

    EXCHANGES("HTTP",
              "GET /orders/########## HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: python-httpx/0.27.2\r\n"
              "Accept: */*\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n"
              "X-Forwarded-For: 10.120.13.7\r\nX-Request-Start: none\r\nCache-Control: no-cache\r\n\r\n",
              "HTTP/1.1 200 OK\r\nServer: uvicorn\r\nDate: Thu, 26 Nov 2026 06:00:00 GMT\r\n"
              "Content-Type: application/json\r\nContent-Length: 78\r\n\r\n"
              "{\"order\":##########,\"state\":\"shipped\",\"items\":3,\"price\":120.5,\"currency\":\"EUR\"}");
    EXCHANGES("HTTP without ids",
              "GET /static/pages/welcome.html HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: python-httpx/0.27.2\r\n"
              "Accept: text/html\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n"
              "Cache-Control: no-cache\r\n\r\n",
              "HTTP/1.1 304 Not Modified\r\nServer: nginx\r\nDate: Thu, 26 Nov 2026 06:00:00 GMT\r\n"
              "Cache-Control: max-age=3600\r\nConnection: keep-alive\r\n\r\n");
    EXCHANGES("Redis", "*2\r\n$3\r\nGET\r\n$15\r\nuser:##########\r\n", "$10\r\n##########\r\n");
    EXCHANGES("SQL", "Q\0\0\0\x57SELECT id, name, price, state FROM orders WHERE customer = ########## ORDER BY created DESC\0",
              "T\0\0\0\x1b\0\1id\0\0\0\0\0\0\0\0\0\0\x17\0\4\xff\xff\xff\xff\0\0" "D\0\0\0\x14\0\1\0\0\0\x0a##########C\0\0\0\x0dSELECT 1\0Z\0\0\0\5I");
    EXCHANGES("spaces", SPACES128 SPACES128, SPACES128 SPACES128);
    EXCHANGES("JSON",
              "{\"kind\":\"order\",\"customer\":\"c-##########\",\"lines\":[{\"sku\":\"A-1000\",\"count\":2,\"price\":19.99},"
              "{\"sku\":\"B-2000\",\"count\":1,\"price\":5.25}],\"ship\":{\"name\":\"Ada Lovelace\",\"street\":\"Dorset Street\","
              "\"city\":\"London\",\"country\":\"GB\"}}",
              "{\"ok\":true,\"order\":##########}");
    return 0;
}
