// Threads that use a processor, share one, or wake each other, and print what they did, for
// comparison with the recording of resources.
//
// usage: costs spin PROCESSOR MILLISECONDS...   a thread for each, all on that processor (-1: any);
//                                               a line `THREAD MICROSECONDS` each: what it used
//        costs pool ROUNDS                      two producers, four workers, one condition; a line
//                                               `PRODUCER WORKER` each round, in order
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int tid(void) { return (int)syscall(SYS_gettid); }

static long used(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void *spin(void *argument) {
    long end = used() + atol(argument) * 1000000L;
    while (used() < end) {}
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    long microseconds = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L +
                        usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    printf("%d %ld\n", tid(), microseconds);
    return NULL;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
// The producer of the current item, 0 for none; the number of waiting workers.
static int item, waiting, over, rounds;
enum { WORKERS = 4, PRODUCERS = 2 };

static void *worker(void *argument) {
    (void)argument;
    pthread_mutex_lock(&mutex);
    for (;;) {
        waiting++;
        while (!item && !over) pthread_cond_wait(&condition, &mutex);
        waiting--;
        if (!item) break;
        printf("%d %d\n", item, tid());
        item = 0;
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

// Gives an item only while all workers wait: so the worker that takes it is the one that was woken.
static void *producer(void *argument) {
    (void)argument;
    for (;;) {
        pthread_mutex_lock(&mutex);
        int is_over = rounds == 0;
        if (!is_over && !item && waiting == WORKERS) {
            rounds--;
            item = tid();
            pthread_cond_signal(&condition);
        }
        pthread_mutex_unlock(&mutex);
        if (is_over) return NULL;
        sched_yield();
    }
}

int main(int argc, char **argv) {
    assert(argc >= 3);
    // A log begins with a socket.
    int ends[2];
    assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    assert(write(ends[0], "x", 1) == 1);
    setvbuf(stdout, NULL, _IOFBF, 1 << 20);
    pthread_t threads[16];
    int count = 0;
    if (!strcmp(argv[1], "spin")) {
        int processor = atoi(argv[2]);
        if (processor >= 0) {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(processor, &set);
            assert(!sched_setaffinity(0, sizeof set, &set));
        }
        for (int n = 3; n < argc; n++) {
            assert(!pthread_create(&threads[count++], NULL, spin, argv[n]));
        }
    } else {
        rounds = atoi(argv[2]);
        for (int n = 0; n < WORKERS; n++) {
            assert(!pthread_create(&threads[count++], NULL, worker, NULL));
        }
        for (int n = 0; n < PRODUCERS; n++) {
            assert(!pthread_create(&threads[count++], NULL, producer, NULL));
        }
        for (int n = 0; n < PRODUCERS; n++) pthread_join(threads[--count], NULL);
        pthread_mutex_lock(&mutex);
        over = 1;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
    }
    while (count > 0) pthread_join(threads[--count], NULL);
    return 0;
}
