// Cancels a thread that is blocked in a receive, so that libc unwinds through the library's frames.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2], cleaned;
static atomic_int has_received;

static void clean(void *argument) { *(int *)argument += 1; }

static void *work(void *argument) {
    char buffer[8];
    (void)argument;
    pthread_cleanup_push(clean, &cleaned);
    recv(pair[1], buffer, 1, 0);
    has_received = 1;
    recv(pair[1], buffer, 1, 0);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    pthread_t thread;
    void *result;
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && send(pair[0], "x", 1, 0) == 1);
    assert(pthread_create(&thread, NULL, work, NULL) == 0);
    /* On a busy machine the thread may take long to start, and the first receive is a cancellation
     * point, too. Afterwards it blocks in the second one soon. */
    for (int waits = 0; !has_received && waits < 10000; waits++) usleep(1000);
    usleep(20000);
    assert(has_received && pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    assert(result == PTHREAD_CANCELED && cleaned == 1);
    puts("cancelled");
    return 0;
}
