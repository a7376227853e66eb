/* Program with threads that make system calls without pause, to be attached to.
   usage: busy THREADS    echoes lines until its input ends, then status 7; 9 if a call returned
                          a wrong result */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *calls(void *unused) {
    for (;;)
        if (write(-1, "", 1) != -1 || errno != EBADF) _exit(9);
    return unused;
}

int main(int argc, char **argv) {
    char bytes[100];
    ssize_t length;
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 0); i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, calls, 0)) return 8;
    }
    while ((length = read(0, bytes, sizeof bytes)) > 0)
        if (write(1, bytes, length) != length) return 6;
    return length == 0 ? 7 : 5;
}
