// Slices of a call, bare and hooked in alternation, and their report.
//
// Under LD_PRELOAD the program's own names lead to the library, and libc's handle to libc itself.
// Slices of the two alternate, on the same descriptors and the same processor, so that drift
// affects both equally. Without a library both are the same, and the bare column is the cost of the
// call under an external tracer.
//
// Included after `struct functions`.
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct functions ways[2]; // 0: libc's own; 1: the targets of the program's names.

enum { SLICE = 64, MOST = 20000 };
static char buffer[65536];
static long rounds;
static double slices[2][MOST];

static void must(long result) {
    if (result < 0) { perror("calls"); exit(1); }
}

// Keeps the program on one processor.
static void stay(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    must(sched_setaffinity(0, sizeof set, &set));
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, int size) {
    double tenth[2], mean[2];
    for (int way = 0; way < 2; way++) {
        double sum = 0;
        for (long i = 0; i < rounds; i++) sum += slices[way][i];
        qsort(slices[way], rounds, sizeof(double), ascending);
        tenth[way] = slices[way][rounds / 10];
        mean[way] = sum / rounds;
    }
    printf("%s", name);
    if (size) printf(" %d B", size);
    printf("\t%.1f\t%.1f\t%.1f\t%.1f\n", tenth[0], tenth[1], mean[0], mean[1]);
    fflush(stdout);
}

// Starts with the arguments `[ROUNDS [PROCESSOR]]`. Returns libc, by its own name; null if the
// arguments or libc are not as expected.
static void *begin_with(int count, char **arguments) {
    rounds = count > 1 ? atol(arguments[1]) : 1000;
    if (rounds < 10 || rounds > MOST) return NULL;
    stay(count > 2 ? atoi(arguments[2]) : 0);
    return dlopen("libc.so.6", RTLD_NOW);
}

// Finds both variants of a function, by its name, with `libc` defined in `main`.
#define FIND(name)                                                                                                   \
    if (!(*(void **)&ways[0].name = dlsym(libc, #name))) return 2;                                                   \
    *(void **)&ways[1].name = dlsym(RTLD_DEFAULT, #name)

// Runs `prepare` and then CALLS times `call` (timed), followed by `clean`, with alternating
// variants.
#define MEASURE(name, size, calls, prepare, call, clean)                                                              \
    do {                                                                                                             \
        for (long round = -20; round < rounds; round++)                                                              \
            for (int turn = 0; turn < 2; turn++) {                                                                   \
                int way = (turn + round) & 1;                                                                        \
                const struct functions *bare = &ways[0], *f = &ways[way];                                            \
                (void)bare;                                                                                          \
                prepare;                                                                                             \
                double begin = now();                                                                                \
                for (int n = 0; n < (calls); n++) must(call);                                                        \
                double end = now();                                                                                  \
                clean;                                                                                               \
                if (round >= 0) slices[way][round] = (end - begin) / (calls);                                        \
            }                                                                                                        \
        report(name, size);                                                                                          \
    } while (0)

#define MANY(call) for (int n = 0; n < SLICE; n++) must(call)
