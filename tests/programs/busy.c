// Eight threads that send continuously, each counting its completed sends in a shared file:
// argv[1].
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct report {
    _Atomic long tid;
    _Atomic long sends;
};
static struct report *reports;

static void *work(void *argument) {
    struct report *report = argument;
    int pair[2];
    char buffer[64] = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) abort();
    report->tid = syscall(SYS_gettid);
    // Bounded, so that a test that forgets the program does not leave it running.
    for (long sends = 1; sends < 4000000; sends++) {
        if (send(pair[0], buffer, 1 + sends % 60, 0) < 1) abort();
        report->sends = sends;
        if (recv(pair[1], buffer, sizeof buffer, 0) < 1) abort();
    }
    return NULL;
}

int main(int count, char **arguments) {
    int file = open(arguments[1], O_RDWR);
    if (count != 2 || file < 0) return 2;
    reports = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (reports == MAP_FAILED) return 2;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, &reports[i]);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    return 0;
}
