// Closes sockets with a raw system call, which the library does not see, and reuses their numbers
// for other descriptors, made visibly or invisibly. Only traffic over sockets may be logged, and
// each message on its own flow.
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

static long hidden(long number, long a, long b, long c, long d) {
#ifdef __x86_64__
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                  x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#endif
}

static void check(int right, const char *what) {
    if (!right) {
        printf("wrong: %s\n", what);
        exit(1);
    }
}

static int pair[2];

// A socket's number that is in the table although the socket was closed invisibly.
static int stale(void) {
    char byte;
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
    check(send(pair[0], "s", 1, 0) == 1 && recv(pair[1], &byte, 1, 0) == 1, "a message");
    check(hidden(SYS_close, pair[0], 0, 0, 0) == 0, "close");
    return pair[0];
}

static void use(int number, int got, const char *what) {
    uint64_t one = 1;
    check(got == number, what);
    check(write(got, &one, 8) == 8 || !strcmp(what, "timer"), what);
    check(close(got) == 0 && close(pair[1]) == 0, "close");
}

int main(void) {
    int ends[2], number;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof here;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    check(!bind(listener, (void *)&here, length) && !listen(listener, 9), "listen");
    getsockname(listener, (void *)&here, &length);

    number = stale(), use(number, open("plain", O_CREAT | O_RDWR, 0600), "file");
    number = stale(), use(number, creat("plain", 0600), "created file");
    number = stale(), use(number, openat(AT_FDCWD, "plain", O_WRONLY), "file in a directory");
    number = stale(), use(number, syscall(SYS_openat, AT_FDCWD, "plain", O_WRONLY), "file by number");
    number = stale(), use(number, eventfd(0, 0), "event");
    number = stale(), use(number, memfd_create("m", 0), "memory");
    number = stale(), use(number, timerfd_create(CLOCK_MONOTONIC, 0), "timer");

    number = stale();
    FILE *file = fopen("plain", "w");
    check(fileno(file) == number && write(number, "text", 4) == 4 && fclose(file) == 0, "file of libc's");
    close(pair[1]);
    number = stale();
    check(pipe(ends) == 0 && ends[0] == number, "pipe");
    check(write(ends[1], "pipe", 4) == 4 && read(ends[0], ends, 4) == 4, "through the pipe");
    close(number), close(number + 2), close(pair[1]);

    // Another socket, made visibly: another flow.
    number = stale();
    int other = socket(AF_INET, SOCK_DGRAM, 0);
    check(other == number && sendto(other, "dgram", 5, 0, (void *)&here, length) == 5, "datagram socket");
    close(other), close(pair[1]);

    // Made invisibly, and connected visibly.
    number = stale();
    check(hidden(SYS_socket, AF_INET, SOCK_STREAM, 0, 0) == number, "hidden socket");
    check(connect(number, (void *)&here, length) == 0 && send(number, "seventy", 7, 0) == 7, "connect");
    close(pair[1]);

    // A connection that ends; another one is accepted under its number, all invisibly.
    int first = accept(listener, 0, 0);
    char buffer[100];
    check(recv(first, buffer, 100, 0) == 7, "seventy");
    close(number);
    check(recv(first, buffer, 100, 0) == 0, "its end");
    int client = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(client, (void *)&here, length) == 0 && send(client, "eleven bytes", 11, 0) == 11, "client");
    check(hidden(SYS_close, first, 0, 0, 0) == 0, "close");
    check(hidden(SYS_accept4, listener, 0, 0, 0) == first, "hidden accept4");
    check(recv(first, buffer, 100, 0) == 11, "on the same number");
    printf("right\n");
    return 0;
}
