/* Datagrams that are sent several per call, and received one by one or several per call (UDP
 * segmentation offload), each direction separately. Prints how many datagrams and bytes were
 * transferred. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define UDP_SEGMENT 103
#define UDP_GRO 104

static long datagrams, bytes;
static unsigned char next;

static void check(int right, const char *what) {
    if (!right) {
        printf("wrong: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

/* A header with data to send: `size` bytes in pieces of `part`, each message with other bytes. */
struct outgoing {
    struct msghdr header;
    struct iovec parts[64];
    char control[CMSG_SPACE(sizeof(short))];
    char data[60000];
};

static void fill(struct outgoing *out, int size, int part, int segment, struct sockaddr_storage *to, int length) {
    memset(out, 0, sizeof *out);
    for (int i = 0; i < size; i++) out->data[i] = next * 7 + i / 100 + i % 100;
    next++;
    for (int i = 0; i * part < size; i++) {
        out->parts[i] = (struct iovec){out->data + i * part, size - i * part < part ? size - i * part : part};
        out->header.msg_iovlen++;
    }
    out->header.msg_iov = out->parts;
    out->header.msg_name = to, out->header.msg_namelen = length;
    if (segment >= 0) {
        unsigned short number = segment;
        out->header.msg_control = out->control, out->header.msg_controllen = sizeof out->control;
        struct cmsghdr *item = CMSG_FIRSTHDR(&out->header);
        item->cmsg_level = IPPROTO_UDP, item->cmsg_type = UDP_SEGMENT, item->cmsg_len = CMSG_LEN(sizeof number);
        memcpy(CMSG_DATA(item), &number, sizeof number);
    }
}

static void receive(int fd, int count, int total, int joined) {
    static char data[65536];
    long got = 0, parts = 0;
    while (got < total) {
        union { struct cmsghdr align; char bytes[100]; } control;
        struct iovec part = {data, sizeof data};
        struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
        if (joined) header.msg_control = &control, header.msg_controllen = sizeof control;
        ssize_t size = recvmsg(fd, &header, 0);
        check(size > 0, "receive");
        int segment = size;
        for (struct cmsghdr *item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item))
            if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_GRO) memcpy(&segment, CMSG_DATA(item), sizeof segment);
        got += size, parts += (size + segment - 1) / segment;
    }
    check(got == total && parts == count, "as many datagrams as were sent");
    datagrams += count, bytes += total;
}

static void set_segment(int fd, int size, int by_number) {
    check((by_number ? syscall(SYS_setsockopt, fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size)
                     : setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size)) == 0, "option");
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "";
    int family = strstr(way, "six") ? AF_INET6 : AF_INET;
    struct sockaddr_storage to = {.ss_family = family};
    if (family == AF_INET) ((struct sockaddr_in *)&to)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else ((struct sockaddr_in6 *)&to)->sin6_addr = in6addr_loopback;
    socklen_t length = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int in = socket(family, SOCK_DGRAM, 0), out = socket(family, SOCK_DGRAM, 0), large = 4 << 20, yes = 1;
    check(in >= 0 && out >= 0 && !bind(in, (void *)&to, length) && !getsockname(in, (void *)&to, &length), "sockets");
    setsockopt(in, SOL_SOCKET, SO_RCVBUF, &large, sizeof large);
    int joined = strstr(way, "joined") != NULL;
    if (joined) check(setsockopt(in, IPPROTO_UDP, UDP_GRO, &yes, sizeof yes) == 0, "UDP_GRO");
    static struct outgoing message, other;
    if (strstr(way, "connected")) {
        check(connect(out, (void *)&to, length) == 0, "connect");
        length = 0;
    }
    struct sockaddr_storage *name = length ? &to : NULL;

    if (strstr(way, "control")) {
        /* A shorter last piece; buffers that end within datagrams; a single datagram; none by a
         * size of 0. */
        fill(&message, 5 * 1000 + 77, 6000, 1000, name, length);
        check(sendmsg(out, &message.header, 0) == 5077, "sendmsg"), receive(in, 6, 5077, joined);
        fill(&message, 4 * 1200, 700, 1200, name, length);
        check(sendmsg(out, &message.header, 0) == 4800, "parts"), receive(in, 4, 4800, joined);
        fill(&message, 900, 900, 1000, name, length);
        check(syscall(SYS_sendmsg, out, &message.header, 0) == 900, "one"), receive(in, 1, 900, joined);
        set_segment(out, 500, 0);
        fill(&message, 1300, 1300, 0, name, length);
        check(sendmsg(out, &message.header, 0) == 1300, "whole"), receive(in, 1, 1300, joined);
        set_segment(out, 0, 0);
    } else if (strstr(way, "option")) {
        /* Set for every descriptor of the socket, changed, and removed. */
        fill(&message, 3000, 3000, -1, name, length);
        check(sendto(out, message.data, 100, 0, (void *)name, length) == 100, "plain"), receive(in, 1, 100, joined);
        int copy = dup(out);
        set_segment(out, 1000, strstr(way, "number") != NULL);
        check(sendto(copy, message.data, 3000, 0, (void *)name, length) == 3000, "copy"), receive(in, 3, 3000, joined);
        check(sendmsg(out, &message.header, 0) == 3000, "sendmsg"), receive(in, 3, 3000, joined);
        set_segment(copy, 600, 0);
        check(sendto(out, message.data + 5, 1205, 0, (void *)name, length) == 1205, "changed"), receive(in, 3, 1205, joined);
        if (!length) {
            struct iovec parts[] = {{message.data + 9, 500}, {message.data + 800, 800}};
            check(write(out, message.data + 7, 1200) == 1200, "write"), receive(in, 2, 1200, joined);
            check(writev(copy, parts, 2) == 1300, "writev"), receive(in, 3, 1300, joined);
        }
        set_segment(out, 0, 0);
        check(sendto(out, message.data + 1, 2000, 0, (void *)name, length) == 2000, "taken back"), receive(in, 1, 2000, joined);
        /* A child inherits the option. */
        set_segment(out, 1000, 0);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            check(sendto(copy, message.data + 2, 2500, 0, (void *)name, length) == 2500, "child");
            _exit(0);
        }
        int status;
        check(waitpid(child, &status, 0) == child && status == 0, "child"), receive(in, 3, 2500, joined);
    } else if (strstr(way, "batch")) {
        fill(&message, 3 * 1000 + 77, 6000, 1000, name, length), fill(&other, 4 * 1000, 6000, 1000, name, length);
        struct mmsghdr both[] = {{.msg_hdr = message.header}, {.msg_hdr = other.header}};
        check(sendmmsg(out, both, 2, 0) == 2, "sendmmsg");
        if (joined) {
            static char data[2][65536];
            char control[2][100];
            struct iovec parts[] = {{data[0], 65536}, {data[1], 65536}};
            for (int i = 0; i < 2; i++)
                both[i].msg_hdr = (struct msghdr){.msg_iov = parts + i, .msg_iovlen = 1, .msg_control = control[i], .msg_controllen = 100};
            check(recvmmsg(in, both, 2, 0, NULL) == 2, "recvmmsg");
            check(both[0].msg_len == 3077 && both[1].msg_len == 4000, "sizes");
            datagrams += 8, bytes += 7077;
        } else
            receive(in, 8, 7077, 0);
    } else if (strstr(way, "short")) {
        /* Room for two and a half of four. */
        fill(&message, 4000, 4000, 1000, name, length);
        check(sendmsg(out, &message.header, 0) == 4000, "sendmsg");
        char data[2500], control[100];
        struct iovec part = {data, sizeof data};
        struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        check(recvmsg(in, &header, 0) == 2500 && header.msg_flags & MSG_TRUNC, "cut");
        datagrams += 4, bytes += 4000;
    }
    printf("%ld %ld\n", datagrams, bytes);
    return 0;
}
