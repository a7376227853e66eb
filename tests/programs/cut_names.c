/* Receives datagrams in a batch, with room for the sender's whole name, for a part of it, for
 * nothing, and without a buffer. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(to, (struct sockaddr *)&name, sizeof name) || getsockname(to, (struct sockaddr *)&name, &length)) return 1;
    for (int n = 1; n <= 5; n++)
        if (sendto(from, "12345", n, 0, (struct sockaddr *)&name, sizeof name) != n) return 1;

    static const socklen_t rooms[] = {16, 8, 0, 0, 100};
    char names[5][128], data[5][8];
    struct mmsghdr messages[5];
    struct iovec buffers[5];
    memset(names, 2, sizeof names); /* What lies behind a name that was cut looks like one of AF_INET. */
    memset(messages, 0, sizeof messages);
    for (int n = 0; n < 5; n++) {
        buffers[n] = (struct iovec){data[n], 8};
        messages[n].msg_hdr = (struct msghdr){.msg_iov = &buffers[n], .msg_iovlen = 1};
        messages[n].msg_hdr.msg_name = n == 3 ? NULL : names[n];
        messages[n].msg_hdr.msg_namelen = rooms[n];
    }
    int received = recvmmsg(to, messages, 5, 0, NULL);
    printf("%d:", received);
    for (int n = 0; n < 5; n++) {
        int untouched = 0;
        while (untouched < 128 && names[n][127 - untouched] == 2) untouched++;
        printf(" %u of %u untouched %d", messages[n].msg_len, messages[n].msg_hdr.msg_namelen, untouched);
    }
    printf("\n");
    return received != 5;
}
