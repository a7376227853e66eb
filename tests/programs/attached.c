// A server with threads that wait in accept, read, recvfrom and poll when it is attached to.
//
// usage: attached THREADS [PORT]
// It prints its port, and ends when its standard input does. Each thread accepts connections, and
// echoes each message of eight bytes; it counts the bytes that it reads and writes. A datagram
// socket on the same port responds, too. At the end it prints how many bytes it has read and
// written, and whether a call failed unexpectedly.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener, datagrams;
static long bytes_read, bytes_written, failures;

static void fails(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    __sync_fetch_and_add(&failures, 1);
}

static void *serve(void *unused) {
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) {
            fails("accept");
            continue;
        }
        char message[8];
        ssize_t got;
        while ((got = read(fd, message, sizeof message)) > 0) {
            __sync_fetch_and_add(&bytes_read, got);
            if (write(fd, message, got) != got)
                fails("write");
            else
                __sync_fetch_and_add(&bytes_written, got);
        }
        if (got < 0 && errno != ECONNRESET)
            fails("read");
        close(fd);
    }
    return unused;
}

static void *answer(void *unused) {
    for (;;) {
        char message[8];
        // No room for the sender's address: a hook that needs it passes its own.
        ssize_t got = recv(datagrams, message, sizeof message, 0);
        if (got != sizeof message) {
            fails("recv");
            continue;
        }
        struct sockaddr_in to;
        memset(&to, 0, sizeof to);
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        memcpy(&to.sin_port, message, 2);
        if (sendto(datagrams, message, got, 0, (struct sockaddr *)&to, sizeof to) != got)
            fails("sendto");
    }
    return unused;
}

int main(int count, char **arguments) {
    struct sockaddr_in own;
    socklen_t length = sizeof own;
    memset(&own, 0, sizeof own);
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    own.sin_port = htons(count > 2 ? atoi(arguments[2]) : 0);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(listener, (struct sockaddr *)&own, sizeof own) || listen(listener, 100) ||
        getsockname(listener, (struct sockaddr *)&own, &length) ||
        bind(datagrams, (struct sockaddr *)&own, sizeof own))
        return 1;
    for (int thread = count > 1 ? atoi(arguments[1]) : 1; thread > 0; thread--) {
        pthread_t id;
        pthread_create(&id, NULL, serve, NULL);
    }
    pthread_t id;
    pthread_create(&id, NULL, answer, NULL);
    printf("port %d\n", ntohs(own.sin_port));
    fflush(stdout);
    char end;
    while (read(0, &end, 1) > 0) {
    }
    printf("read %ld written %ld failed %ld\n", bytes_read, bytes_written, failures);
    return failures != 0;
}
