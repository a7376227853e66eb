// Cost of a call, bare and through a preloaded library, measured in one process.
//
// usage: calls ROUNDS [PROCESSOR]
// Prints a line for each call: name, p10 bare, p10 hooked, mean bare, mean hooked, in ns a call.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct functions {
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*readv)(int, const struct iovec *, int);
    ssize_t (*writev)(int, const struct iovec *, int);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*recv)(int, void *, size_t, int);
    ssize_t (*sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    ssize_t (*recvfrom)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
    int (*socket)(int, int, int);
    int (*accept)(int, struct sockaddr *, socklen_t *);
    int (*connect)(int, const struct sockaddr *, socklen_t);
    int (*close)(int);
};

#include "slices.h"

static void stream(const char *kind, int to, int from, int size) {
    char name[64];
    struct iovec vector[2] = {{buffer, size / 2}, {buffer + size / 2, size - size / 2}};
    // Data that one side has measured is received or sent by the other with libc's own functions.
#define SENDS(what, call)                                                                                            \
    snprintf(name, sizeof name, "%s %s", kind, what);                                                                \
    MEASURE(name, size, SLICE, , call, MANY(bare->read(from, buffer, size)))
#define RECEIVES(what, call)                                                                                         \
    snprintf(name, sizeof name, "%s %s", kind, what);                                                                \
    MEASURE(name, size, SLICE, MANY(bare->write(to, buffer, size)), call, )
    SENDS("send", f->send(to, buffer, size, 0));
    SENDS("write", f->write(to, buffer, size));
    SENDS("writev", f->writev(to, vector, 2));
    RECEIVES("recv", f->recv(from, buffer, size, 0));
    RECEIVES("read", f->read(from, buffer, size));
    RECEIVES("readv", f->readv(from, vector, 2));
}

static struct sockaddr_in loopback(int fd) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    must(bind(fd, (struct sockaddr *)&name, length));
    must(getsockname(fd, (struct sockaddr *)&name, &length));
    return name;
}

static void datagrams(int size) {
    // A slice of the largest must fit into the receiver's buffer.
    enum { FEW = 32 };
    int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in name = loopback(from), peer;
    loopback(to);
    socklen_t length = sizeof peer;
    char title[64];
#define FEWER(call) for (int n = 0; n < FEW; n++) must(call)
    // Empty ones too: they have no checksum.
    snprintf(title, sizeof title, "udp sendto %d B", size);
    MEASURE(title, 0, FEW, , f->sendto(to, buffer, size, 0, (void *)&name, sizeof name),
            FEWER(bare->recv(from, buffer, size, 0)));
    snprintf(title, sizeof title, "udp recvfrom %d B", size);
    MEASURE(title, 0, FEW, FEWER(bare->sendto(to, buffer, size, 0, (void *)&name, sizeof name)),
            (length = sizeof peer, f->recvfrom(from, buffer, size, 0, (void *)&peer, &length)), );
    close(to);
    close(from);
}

static void connections(void) {
    enum { FEW = 16 };
    int listener = socket(AF_INET, SOCK_STREAM, 0), clients[FEW], accepted[FEW];
    struct sockaddr_in name = loopback(listener);
    must(listen(listener, FEW));
    struct linger reset = {1, 0}; // No connection may linger: there will be many.
#define CONNECT                                                                                                      \
    for (int n = 0; n < FEW; n++) {                                                                                  \
        must(clients[n] = bare->socket(AF_INET, SOCK_STREAM, 0));                                                    \
        must(bare->connect(clients[n], (void *)&name, sizeof name));                                                 \
        must(setsockopt(clients[n], SOL_SOCKET, SO_LINGER, &reset, sizeof reset));                                   \
    }
#define CLOSE for (int n = 0; n < FEW; n++) must(bare->close(clients[n])), must(f->close(accepted[n]))
    MEASURE("accept", 0, FEW, CONNECT, accepted[n] = f->accept(listener, NULL, NULL), CLOSE);
    close(listener);
}

int main(int count, char **arguments) {
    void *libc = begin_with(count, arguments);
    if (!libc) return 2;
    FIND(read); FIND(write); FIND(readv); FIND(writev); FIND(send); FIND(recv); FIND(sendto); FIND(recvfrom);
    FIND(socket); FIND(accept); FIND(connect); FIND(close);

    int null = open("/dev/null", O_RDWR);
    must(null);
    MEASURE("read /dev/null", 0, 256, , f->read(null, buffer, 64), );
    MEASURE("write /dev/null", 0, 256, , f->write(null, buffer, 64), );

    int pair[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    stream("socketpair", pair[0], pair[1], 64);

    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in name = loopback(listener);
    must(listen(listener, 1));
    must(connect(client, (void *)&name, sizeof name));
    int server = accept(listener, NULL, NULL);
    must(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
    stream("tcp", client, server, 64);

    datagrams(0);
    datagrams(64);
    datagrams(512);
    datagrams(1400);
    MEASURE("socket+close", 0, 16, , f->close(f->socket(AF_INET, SOCK_STREAM, 0)), );
    connections();
    return 0;
}
