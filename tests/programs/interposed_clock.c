/* A library that is preloaded together with sockcap's and interposes its own functions before
 * libc's: clocks are a day late, locks are counted, and symbols are looked up through it, as in
 * tools that fake the time, find deadlocks or track plug-ins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define DAY 86400

static void *real(const char *name) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return dlvsym(libc, name, "GLIBC_2.2.5");
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    time->tv_sec -= DAY;
    return result;
}

int gettimeofday(struct timeval *time, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place)
        *place = now.tv_sec;
    return now.tv_sec;
}

/* After this library comes libc's function, or the next interposed one. */
void *dlsym(void *restrict handle, const char *restrict name) {
    static void *(*next)(void *, const char *);
    if (!next)
        next = real("dlsym");
    void *found = next(handle, name);
    return found;
}

char *dlerror(void) {
    abort();
}

int dladdr(const void *address, Dl_info *about) {
    (void)address, (void)about;
    abort();
}

int pthread_mutexattr_settype(pthread_mutexattr_t *attributes, int kind) {
    (void)attributes, (void)kind;
    abort();
}
