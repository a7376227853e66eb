// What the mechanisms of hand_offs.c share: the counts of signals and wake-ups, and threads of which
// others know that they are asleep.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, JOBS = 500 };

static atomic_int signals, wakes;

static void say(const char *kind) {
    printf("signal %s %d\nwake %s %d\n", kind, (int)signals, kind, (int)wakes);
    fflush(stdout);
    signals = wakes = 0;
}

static struct timespec in(long milliseconds, clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

// Threads announce that they are about to wait, and another one waits until they are asleep.
static atomic_int taken, announced, about[THREADS];

static void announce(void) {
    about[taken++] = syscall(SYS_gettid);
    announced++;
}

static void await(int threads) {
    while (announced < threads) usleep(1000);
    for (int n = 0; n < threads; n++)
        for (char state = 0; state != 'S';) {
            char path[64], text[256] = "";
            snprintf(path, sizeof path, "/proc/self/task/%d/stat", about[n]);
            int file = open(path, O_RDONLY);
            assert(file >= 0 && read(file, text, sizeof text - 1) > 0 && !close(file));
            state = strrchr(text, ')')[2];
            if (state != 'S') usleep(1000);
        }
    announced = taken = 0;
}

static void run(void *(*work)(void *), int threads, void (*meanwhile)(void)) {
    pthread_t all[THREADS];
    for (int n = 0; n < threads; n++) assert(!pthread_create(&all[n], NULL, work, (void *)(intptr_t)n));
    if (meanwhile) meanwhile();
    for (int n = 0; n < threads; n++) assert(!pthread_join(all[n], NULL));
}
