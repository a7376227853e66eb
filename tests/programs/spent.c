// A server with requests that each spend their time in one way, the program that it calls, and a
// client that sends one request after the other, for comparison with the resources of steps.
//
// usage: client ROUNDS     starts the other two, which are copies of it named `server` and `backend`
//                          in the same directory
//
// It prints a line `KIND PORT` for each kind of requests, and then a line `KIND RAN READY BLOCKED`
// for each request in order: nanoseconds in which its thread had a processor, was runnable, and was
// blocked, according to the kernel.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLEEP, SPIN, SYNC, LOCK, CALL, PUSH, KINDS, LONG_MS = 20, SYNCED = 1 << 20 };
static const char *names[KINDS] = {"sleep", "spin", "sync", "lock", "call", "push"};

static int tid(void) { return (int)syscall(SYS_gettid); }

static long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void wait_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&time, &time)) {}
}

static int listens(int *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int socket_of = socket(AF_INET, SOCK_STREAM, 0);
    assert(!bind(socket_of, (struct sockaddr *)&address, size) && !listen(socket_of, 8));
    assert(!getsockname(socket_of, (struct sockaddr *)&address, &size));
    *port = ntohs(address.sin_port);
    return socket_of;
}

static int connects(int port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int socket_of = socket(AF_INET, SOCK_STREAM, 0);
    assert(!connect(socket_of, (struct sockaddr *)&address, sizeof address));
    return socket_of;
}

static int has(int socket_of) {
    char request[64];
    return recv(socket_of, request, sizeof request, 0) > 0;
}

static void says(int socket_of) {
    char bytes[64] = "";
    assert(send(socket_of, bytes, sizeof bytes, MSG_NOSIGNAL) == sizeof bytes);
}

// Time for which the thread had a processor, and for which it was runnable. The first time in the
// kernel's text lags behind.
static void had(long *ran, long *ready) {
    char path[64], text[128] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid());
    int file = open(path, O_RDONLY);
    assert(file >= 0 && read(file, text, sizeof text - 1) > 0 && sscanf(text, "%*d %ld", ready) == 1);
    close(file);
    *ran = now(CLOCK_THREAD_CPUTIME_ID);
}

// The other program: it responds to a call after a while, and forwards a message of the client
// without a request.
static int called, told, to_tell;

static void *answers(void *none) {
    int from = accept(called, NULL, NULL);
    while (has(from)) {
        wait_ms(LONG_MS);
        says(from);
    }
    return none;
}

static int backend(void) {
    int ports[3], tells = listens(&ports[2]);
    called = listens(&ports[0]);
    told = listens(&ports[1]);
    printf("%d %d %d\n", ports[0], ports[1], ports[2]);
    fflush(stdout);
    pthread_t thread;
    assert(!pthread_create(&thread, NULL, answers, NULL));
    to_tell = accept(tells, NULL, NULL);
    int from = accept(told, NULL, NULL);
    while (has(from)) says(to_tell);
    return 0;
}

// Thread of the server that is about to wait, 0 for none, in memory shared with the client: no call
// shows it.
static atomic_int *about_to_wait;

// Waits until that thread waits, and a while longer.
static void let_it_wait(void) {
    char path[64], text[256] = "";
    int thread;
    for (;; wait_ms(1)) {
        if (!(thread = atomic_load(about_to_wait))) continue;
        snprintf(path, sizeof path, "/proc/%d/stat", thread);
        int file = open(path, O_RDONLY);
        if (file < 0) return;
        assert(read(file, text, sizeof text - 1) > 0);
        close(file);
        char *name_end = strrchr(text, ')');
        if (name_end && name_end[2] == 'S') break;
    }
    atomic_store(about_to_wait, 0);
    wait_ms(LONG_MS);
}

// The server.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int wanted, held;
static int listeners[KINDS], to_backend, from_backend, synced;

// Holds the lock for a while, repeatedly, when a thread is about to want it. Only the call for the
// lock connects the two threads.
static void *holds(void *none) {
    for (;;) {
        while (!atomic_load(&wanted)) wait_ms(1);
        pthread_mutex_lock(&mutex);
        atomic_store(&wanted, 0);
        atomic_store(&held, 1);
        let_it_wait();
        pthread_mutex_unlock(&mutex);
    }
    return none;
}

static void serve(int kind) {
    static char bytes[SYNCED];
    long until;
    switch (kind) {
    case SLEEP:
        wait_ms(LONG_MS);
        break;
    case SPIN:
        until = now(CLOCK_THREAD_CPUTIME_ID) + LONG_MS * 1000000L;
        while (now(CLOCK_THREAD_CPUTIME_ID) < until) {}
        break;
    case SYNC:
        for (int n = 0; n < 4; n++) assert(pwrite(synced, bytes, sizeof bytes, 0) == sizeof bytes && !fsync(synced));
        break;
    case LOCK:
        atomic_store(about_to_wait, tid());
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        break;
    case CALL:
        says(to_backend);
        assert(has(to_backend));
        break;
    case PUSH:
        atomic_store(about_to_wait, tid());
        assert(has(from_backend));
        break;
    }
}

static void *serves(void *number) {
    int kind = (int)(long)number, from = accept(listeners[kind], NULL, NULL);
    for (;;) {
        // The lock is taken before the request arrives.
        if (kind == LOCK) {
            char byte;
            if (recv(from, &byte, 1, MSG_PEEK) <= 0) return NULL;
            atomic_store(&wanted, 1);
            while (!atomic_load(&held)) sched_yield();
            atomic_store(&held, 0);
        }
        if (!has(from)) return NULL;
        long ran[2], ready[2], begin;
        had(&ran[0], &ready[0]);
        begin = now(CLOCK_MONOTONIC);
        serve(kind);
        long took = now(CLOCK_MONOTONIC) - begin;
        had(&ran[1], &ready[1]);
        ran[1] -= ran[0];
        ready[1] -= ready[0];
        printf("%s %ld %ld %ld\n", names[kind], ran[1], ready[1], took - ran[1] - ready[1]);
        fflush(stdout);
        says(from);
    }
}

static int server(int call, int tell) {
    int ports[KINDS];
    // No request waits for the directory, to which other programs may be writing.
    synced = open("synced", O_WRONLY | O_CREAT, 0600);
    assert(synced >= 0);
    to_backend = connects(call);
    from_backend = connects(tell);
    for (int kind = 0; kind < KINDS; kind++) {
        listeners[kind] = listens(&ports[kind]);
        printf("%d ", ports[kind]);
    }
    fflush(stdout);
    pthread_t threads[KINDS], holder;
    assert(!pthread_create(&holder, NULL, holds, NULL));
    for (long kind = 0; kind < KINDS; kind++) assert(!pthread_create(&threads[kind], NULL, serves, (void *)kind));
    for (int kind = 0; kind < KINDS; kind++) pthread_join(threads[kind], NULL);
    return 0;
}

// The client.
static FILE *start(const char *name, const char *self, const char *one, const char *two, const char *three) {
    int ends[2];
    char path[4096];
    const char *slash = strrchr(self, '/');
    assert(slash && !pipe2(ends, O_CLOEXEC));
    snprintf(path, sizeof path, "%.*s/%s", (int)(slash - self), self, name);
    if (!fork()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], 1);
        execl(path, path, one, two, three, NULL);
        _exit(127);
    }
    close(ends[1]);
    return fdopen(ends[0], "r");
}

int main(int count, char **arguments) {
    const char *self = arguments[0], *name = strrchr(self, '/');
    name = name ? name + 1 : self;
    if (!strcmp(name, "backend")) return backend();
    int is_server = !strcmp(name, "server");
    int shared = is_server ? atoi(arguments[3]) : memfd_create("shared", 0);
    assert(is_server || !ftruncate(shared, sizeof *about_to_wait));
    about_to_wait = mmap(NULL, sizeof *about_to_wait, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    assert(about_to_wait != MAP_FAILED);
    if (is_server) return server(atoi(arguments[1]), atoi(arguments[2]));
    assert(count == 2);
    int call, tell, push, ports[KINDS], to[KINDS];
    char one[16], two[16], three[16], line[256];
    FILE *other = start("backend", self, NULL, NULL, NULL);
    assert(fscanf(other, "%d %d %d", &call, &tell, &push) == 3);
    snprintf(one, sizeof one, "%d", call);
    snprintf(two, sizeof two, "%d", push);
    snprintf(three, sizeof three, "%d", shared);
    FILE *said = start("server", self, one, two, three);
    for (int kind = 0; kind < KINDS; kind++) {
        assert(fscanf(said, "%d", &ports[kind]) == 1);
        printf("%s %d\n", names[kind], ports[kind]);
        to[kind] = connects(ports[kind]);
    }
    int tells = connects(tell);
    for (int round = 0; round < atoi(arguments[1]); round++)
        for (int kind = 0; kind < KINDS; kind++) {
            says(to[kind]);
            if (kind == PUSH) {
                let_it_wait();
                says(tells);
            }
            assert(has(to[kind]));
        }
    for (int kind = 0; kind < KINDS; kind++) close(to[kind]);
    close(tells);
    while (fgets(line, sizeof line, said)) fputs(line, stdout);
    return 0;
}
