/* Passes invalid addresses, headers and sizes to the kernel, and prints the result of each. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void *const wrong = (void *)16;
static char data[1 << 17];
static int line;

static void say(long result) {
    printf("%d: %ld %s\n", ++line, result, result < 0 ? strerror(errno) : "");
    fflush(stdout);
}

static int make(int type, struct sockaddr_in *name) {
    int fd = socket(AF_INET, type, 0);
    socklen_t length = sizeof *name;
    memset(name, 0, sizeof *name);
    name->sin_family = AF_INET;
    name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)name, length)) return -1;
    return getsockname(fd, (struct sockaddr *)name, &length) ? -1 : fd;
}

/* Receives and sends on `fd`, with `feed` called before each receive. */
static void transfers(int fd, void (*feed)(void), const struct sockaddr_in *to) {
    struct sockaddr_in name;
    socklen_t length = sizeof name;
    struct iovec buffer = {data, sizeof data}, broken[] = {{data, 1}, {wrong, 4}};
    struct msghdr message = {.msg_iov = &buffer, .msg_iovlen = 1};
    struct mmsghdr many = {.msg_hdr = message};

    feed(), say(recv(fd, data, SIZE_MAX, MSG_DONTWAIT));
    feed(), say(recv(fd, data, 2, MSG_DONTWAIT));
    feed(), say(recv(fd, data, 2, MSG_DONTWAIT | MSG_TRUNC));
    feed(), say(recv(fd, NULL, 2, MSG_DONTWAIT | MSG_TRUNC));
    feed(), say(recv(fd, wrong, 10, MSG_DONTWAIT));
    feed(), say(recvfrom(fd, data, 10, MSG_DONTWAIT, wrong, &length));
    feed(), say(recvfrom(fd, data, 10, MSG_DONTWAIT, (void *)&name, wrong));
    feed(), say(recvfrom(fd, data, 10, MSG_DONTWAIT, (void *)&name, NULL));
    feed(), say(recvfrom(fd, data, 10, MSG_DONTWAIT, NULL, wrong));
    length = (socklen_t)-1;
    feed(), say(recvfrom(fd, data, 10, MSG_DONTWAIT, (void *)&name, &length));
    length = 3;
    feed(), say(recvfrom(fd, data, 10, MSG_DONTWAIT, (void *)&name, &length));
    feed(), say(read(fd, wrong, 10));
    feed(), say(readv(fd, wrong, 1));
    feed(), say(readv(fd, broken, 2));
    feed(), say(readv(fd, &buffer, -1));

    feed(), say(recvmsg(fd, wrong, MSG_DONTWAIT));
    feed(), say(recvmsg(fd, NULL, MSG_DONTWAIT));
    message.msg_name = wrong, message.msg_namelen = 16;
    feed(), say(recvmsg(fd, &message, MSG_DONTWAIT));
    message.msg_name = NULL, message.msg_iov = wrong;
    feed(), say(recvmsg(fd, &message, MSG_DONTWAIT));
    message.msg_iov = broken, message.msg_iovlen = 2;
    feed(), say(recvmsg(fd, &message, MSG_DONTWAIT));
    message.msg_iov = &buffer, message.msg_iovlen = 1, message.msg_control = wrong, message.msg_controllen = 64;
    feed(), say(recvmsg(fd, &message, MSG_DONTWAIT));
    message.msg_control = NULL, message.msg_controllen = 0, message.msg_iovlen = SIZE_MAX;
    feed(), say(recvmsg(fd, &message, MSG_DONTWAIT));
    feed(), say(recvmmsg(fd, wrong, 1, MSG_DONTWAIT, NULL));
    many.msg_hdr.msg_name = wrong, many.msg_hdr.msg_namelen = 16;
    feed(), say(recvmmsg(fd, &many, 1, MSG_DONTWAIT, NULL));
    many.msg_hdr.msg_name = NULL, many.msg_hdr.msg_iov = wrong;
    feed(), say(recvmmsg(fd, &many, 1, MSG_DONTWAIT, NULL));

    say(send(fd, wrong, 10, MSG_DONTWAIT));
    say(sendto(fd, data, 10, MSG_DONTWAIT, wrong, 16));
    say(sendto(fd, data, 10, MSG_DONTWAIT, (void *)to, UINT_MAX));
    say(write(fd, wrong, 10));
    say(writev(fd, wrong, 1));
    say(writev(fd, &buffer, -1));
    buffer.iov_len = 10, message.msg_iovlen = 1;
    say(sendmsg(fd, wrong, MSG_DONTWAIT));
    say(sendmsg(fd, wrong, MSG_DONTWAIT | MSG_FASTOPEN));
    message.msg_name = wrong, message.msg_namelen = 16;
    say(sendmsg(fd, &message, MSG_DONTWAIT));
    message.msg_name = NULL, message.msg_iov = wrong;
    say(sendmsg(fd, &message, MSG_DONTWAIT));
    message.msg_iov = &buffer, message.msg_control = wrong, message.msg_controllen = 64;
    say(sendmsg(fd, &message, MSG_DONTWAIT));
    say(sendmmsg(fd, wrong, 1, MSG_DONTWAIT));
    many.msg_hdr.msg_name = NULL, many.msg_hdr.msg_iov = wrong;
    say(sendmmsg(fd, &many, 1, MSG_DONTWAIT));
}

static int from;
static struct sockaddr_in to;

static void feed_datagram(void) {
    while (recv(from, data, sizeof data, MSG_DONTWAIT) >= 0) {
    }
    if (sendto(from, "abcdef", 6, 0, (struct sockaddr *)&to, sizeof to) != 6) printf("not fed\n");
}

static void feed_stream(void) {
    if (send(from, "abcdef", 6, 0) != 6) printf("not fed\n");
}

int main(void) {
    struct sockaddr_in name, other;
    int pair[2];
    static char *const arguments[] = {"true", NULL};

    int datagrams = make(SOCK_DGRAM, &to);
    from = make(SOCK_DGRAM, &name);
    transfers(datagrams, feed_datagram, &name);
    say(connect(datagrams, wrong, 16));
    say(connect(datagrams, (struct sockaddr *)&name, UINT_MAX));
    say(bind(datagrams, wrong, 16));

    int listener = make(SOCK_STREAM, &other);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    say(listen(listener, 5));
    say(connect(client, wrong, 16));
    say(connect(client, (struct sockaddr *)&other, sizeof other));
    from = accept(listener, NULL, NULL);
    transfers(client, feed_stream, &other);
    say(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&other, sizeof other));
    say(accept(listener, wrong, wrong) < 0 ? -1 : 0);
    say(socketpair(AF_UNIX, SOCK_STREAM, 0, wrong));

    /* A header right before unmapped memory. */
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    struct iovec buffer = {data, sizeof data};
    struct msghdr *message = (struct msghdr *)(page + 4096 - sizeof *message);
    *message = (struct msghdr){.msg_iov = &buffer, .msg_iovlen = 1};
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    send(pair[0], "abc", 3, 0);
    say(recvmsg(pair[1], message, MSG_DONTWAIT));
    send(pair[0], "abc", 3, 0);
    say(recvmsg(pair[1], (struct msghdr *)((char *)message + 8), MSG_DONTWAIT));

    say(execve("/bin/true", arguments, wrong));
    say(execve("/bin/true", wrong, NULL));
    return 0;
}
