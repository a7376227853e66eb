// Sends and receives five datagrams with one call in each direction, by libc's functions and by
// system call number.
#define _GNU_SOURCE
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    int pair[2];
    assert(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
    for (int by_number = 0; by_number < 2; by_number++) {
        char payload[5][50], room[5][100];
        struct iovec out[5], in[5];
        struct mmsghdr sent[5], received[5];
        memset(sent, 0, sizeof sent);
        memset(received, 0, sizeof received);
        for (int i = 0; i < 5; i++) {
            memset(payload[i], 'a' + i + 1, sizeof payload[i]);
            out[i] = (struct iovec){payload[i], 10 * (i + 1)};
            in[i] = (struct iovec){room[i], sizeof room[i]};
            sent[i].msg_hdr.msg_iov = &out[i];
            received[i].msg_hdr.msg_iov = &in[i];
            sent[i].msg_hdr.msg_iovlen = received[i].msg_hdr.msg_iovlen = 1;
        }
        if (by_number) {
            assert(syscall(SYS_sendmmsg, pair[0], sent, 5, 0) == 5);
            assert(syscall(SYS_recvmmsg, pair[1], received, 5, 0, NULL) == 5);
        } else {
            assert(sendmmsg(pair[0], sent, 5, 0) == 5);
            assert(recvmmsg(pair[1], received, 5, 0, NULL) == 5);
        }
        for (int i = 0; i < 5; i++)
            assert(received[i].msg_len == 10 * (i + 1) && memcmp(room[i], payload[i], 10 * (i + 1)) == 0);
    }
    return 0;
}
