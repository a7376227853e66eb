// Hands work from thread to thread, by every mechanism of libc, and prints two lines for each,
// `signal KIND COUNT` and `wake KIND COUNT`, which a log of resources should contain.
//
// usage: hand_offs WAY...
#define _GNU_SOURCE
#include "hand_offs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A pool of workers that wait on one condition variable.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int queued, done, over;

static void *worker(void *argument) {
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (!queued && !over) {
            assert(!pthread_cond_wait(&condition, &mutex));
            wakes++;
        }
        if (!queued) break;
        queued--;
        done++;
    }
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void feed(void) {
    for (int n = 0; n < JOBS; n++) {
        pthread_mutex_lock(&mutex);
        queued++;
        pthread_mutex_unlock(&mutex);
        assert(!pthread_cond_signal(&condition));
        signals++;
    }
    pthread_mutex_lock(&mutex);
    over = 1;
    assert(!pthread_cond_broadcast(&condition));
    signals++;
    pthread_mutex_unlock(&mutex);
}

static void conditions(void) {
    run(worker, THREADS, feed);
    assert(done == JOBS);
    pthread_mutex_lock(&mutex);
    struct timespec soon = in(5, CLOCK_REALTIME);
    assert(pthread_cond_timedwait(&condition, &mutex, &soon) == ETIMEDOUT);
    wakes++;
#ifdef __GLIBC__
    soon = in(5, CLOCK_MONOTONIC);
    assert(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    wakes++;
#endif
    pthread_mutex_unlock(&mutex);
    say("condition");
}

static sem_t items;

static void *taker(void *argument) {
    for (int n = 0; n < JOBS / THREADS; n++) {
        assert(!sem_wait(&items));
        wakes++;
    }
    return argument;
}

static void post(void) {
    for (int n = 0; n < JOBS; n++) {
        assert(!sem_post(&items));
        signals++;
    }
}

static void semaphores(void) {
    assert(!sem_init(&items, 0, 0));
    run(taker, THREADS, post);
    struct timespec soon = in(5, CLOCK_REALTIME);
    assert(sem_timedwait(&items, &soon) == -1 && errno == ETIMEDOUT);
    wakes++;
    errno = 0;
    assert(sem_trywait(&items) == -1 && errno == EAGAIN);
    assert(!sem_post(&items) && !sem_trywait(&items));
    signals++;
    wakes++;
    say("semaphore");
}

static int event, semaphore_event, ends[2];

static void *event_reader(void *argument) {
    uint64_t number;
    for (int n = 0; n < JOBS; n++) {
        assert(read(semaphore_event, &number, 8) == 8 && number == 1);
        wakes++;
    }
    return argument;
}

static void events(void) {
    uint64_t number = 3;
    event = eventfd(0, EFD_NONBLOCK);
    semaphore_event = eventfd(0, EFD_SEMAPHORE);
    assert(read(event, &number, 8) == -1 && errno == EAGAIN);
    number = 3;
    assert(write(event, &number, 8) == 8 && write(event, &number, 8) == 8);
    number = 0;
    assert(read(dup(event), &number, 8) == 8 && number == 6);
    signals += 2;
    wakes++;
    pthread_t reader;
    assert(!pthread_create(&reader, NULL, event_reader, NULL));
    for (int n = 0; n < JOBS; n++) {
        // Libc makes the system call internally.
        assert(!eventfd_write(semaphore_event, 1));
        signals++;
    }
    assert(!pthread_join(reader, NULL));
    say("eventfd");
}

static void *pipe_reader(void *argument) {
    char bytes[100];
    for (int n = 0; n < JOBS; n++) {
        assert(read(ends[0], bytes, 10) == 10);
        wakes++;
    }
    return argument;
}

static void *pipe_writer(void *argument) {
    for (int n = 0; n < JOBS; n++) {
        assert(write(ends[1], "0123456789", 10) == 10);
        signals++;
    }
    return argument;
}

static void pipes(void) {
    assert(!pipe(ends));
    pthread_t reader, writer;
    assert(!pthread_create(&reader, NULL, pipe_reader, NULL) && !pthread_create(&writer, NULL, pipe_writer, NULL));
    assert(!pthread_join(reader, NULL) && !pthread_join(writer, NULL));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    char byte;
    assert(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
    close(ends[1]);
    assert(read(ends[0], &byte, 1) == 0);
    say("pipe");
}

static sem_t go;

static void *event_writer(void *argument) {
    uint64_t one = 1;
    for (int n = 0; n < 100; n++) {
        assert(!sem_wait(&go) && write(event, &one, 8) == 8);
        signals++;
    }
    return argument;
}

// An event loop that is notified of an eventfd and never reads it.
static void epolls(void) {
    int epoll = epoll_create1(0), other = eventfd(1, 0);
    struct epoll_event told, unread = {.events = EPOLLIN | EPOLLET, .data.u64 = 77};
    struct epoll_event level = {.events = EPOLLIN, .data.u64 = 78};
    event = eventfd(0, EFD_NONBLOCK);
    sem_init(&go, 0, 0);
    // A closed descriptor no longer counts, although another one has its number.
    int closed = eventfd(1, 0);
    assert(!epoll_ctl(epoll, EPOLL_CTL_ADD, closed, &unread) && !close(closed));
    assert(!epoll_ctl(epoll, EPOLL_CTL_ADD, event, &unread));
    pthread_t writer;
    assert(!pthread_create(&writer, NULL, event_writer, NULL));
    for (int n = 0; n < 100; n++) {
        sem_post(&go);
        assert(epoll_wait(epoll, &told, 1, 10000) == 1 && told.data.u64 == 77);
        wakes++;
    }
    assert(!pthread_join(writer, NULL));
    assert(!epoll_ctl(epoll, EPOLL_CTL_DEL, event, NULL));
    assert(!epoll_ctl(epoll, EPOLL_CTL_ADD, other, &level));
    assert(epoll_wait(epoll, &told, 1, 10000) == 1 && told.data.u64 == 78);
    say("eventfd");
}

static int word;

static void *at_word(void *argument) {
    long result;
    announce();
    while ((result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0)) == -1 && errno == EINTR) wakes++;
    assert(result == 0);
    wakes++;
    return argument;
}

static void *at_bits(void *argument) {
    announce();
    assert(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, ~0) == 0);
    wakes++;
    return argument;
}

static void wake_one(void) {
    await(1);
    assert(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 1);
    signals++;
}

static void wake_all(void) {
    await(THREADS);
    assert(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, ~0) == THREADS);
    signals++;
}

static void futexes(void) {
    run(at_word, 1, wake_one);
    run(at_bits, THREADS, wake_all);
    struct timespec soon = {0, 5000000};
    assert(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &soon, NULL, 0) == -1 && errno == ETIMEDOUT);
    wakes++;
    assert(syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0) == -1 && errno == EAGAIN);
    assert(syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
    signals++;
    say("futex");
}

// A lock that is held until the thread that wants it is asleep.
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *wants_mutex(void *argument) {
    announce();
    struct timespec later = in(10000, CLOCK_REALTIME);
    assert(argument ? !pthread_mutex_timedlock(&mutex, &later) : !pthread_mutex_lock(&mutex));
    pthread_mutex_unlock(&mutex);
    wakes++;
    return argument;
}

static void *wants_lock(void *argument) {
    announce();
    assert(argument ? !pthread_rwlock_wrlock(&lock) : !pthread_rwlock_rdlock(&lock));
    pthread_rwlock_unlock(&lock);
    wakes++;
    return argument;
}

static void release_mutex(void) {
    await(2);
    pthread_mutex_unlock(&mutex);
}

static void release_lock(void) {
    await(2);
    pthread_rwlock_unlock(&lock);
}

static void locks(void) {
    for (int n = 0; n < 1000; n++) {
        assert(!pthread_mutex_lock(&mutex));
        assert(pthread_mutex_trylock(&mutex) == EBUSY);
        assert(!pthread_mutex_unlock(&mutex));
    }
    pthread_mutex_lock(&mutex);
    run(wants_mutex, 2, release_mutex);
    pthread_mutexattr_t kind;
    pthread_mutex_t checked, recursive;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    assert(!pthread_mutex_lock(&checked) && pthread_mutex_lock(&checked) == EDEADLK);
    for (int n = 0; n < 3; n++) assert(!pthread_mutex_lock(&recursive));
    for (int n = 0; n < 3; n++) assert(!pthread_mutex_unlock(&recursive));
    assert(pthread_mutex_unlock(&recursive) == EPERM);
    struct timespec soon = in(5, CLOCK_REALTIME);
    pthread_mutex_lock(&mutex);
    assert(pthread_mutex_timedlock(&mutex, &soon) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    wakes++;
    say("mutex");
    pthread_rwlock_wrlock(&lock);
    run(wants_lock, 2, release_lock);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_rdlock(&lock);
    soon = in(5, CLOCK_REALTIME);
    assert(pthread_rwlock_timedwrlock(&lock, &soon) == ETIMEDOUT);
    wakes++;
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_unlock(&lock);
    say("rwlock");
}

static void *dies_with_it(void *robust) {
    pthread_mutex_lock(robust);
    return NULL;
}

// The owner's death is reported once, to the thread that takes the lock.
static void robust(void) {
    pthread_mutexattr_t kind;
    pthread_mutex_t robust;
    pthread_t thread;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &kind);
    assert(!pthread_create(&thread, NULL, dies_with_it, &robust) && !pthread_join(thread, NULL));
    assert(pthread_mutex_lock(&robust) == EOWNERDEAD);
    assert(!pthread_mutex_consistent(&robust) && !pthread_mutex_unlock(&robust) && !pthread_mutex_lock(&robust));
}

static pthread_barrier_t barrier;

static void *meets(void *argument) {
    int result = pthread_barrier_wait(&barrier);
    assert(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    wakes++;
    return argument;
}

static void barriers(void) {
    pthread_barrier_init(&barrier, NULL, THREADS);
    run(meets, THREADS, NULL);
    say("barrier");
}

static void sleeps(void) {
    struct timespec time = {0, 2000000};
    usleep(2000);
    assert(!nanosleep(&time, NULL) && !clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL));
    assert(sleep(0) == 0);
    printf("slept 4\n");
}

static void files(void) {
    char name[] = "made-XXXXXX", bytes[1000] = "";
    int file = mkstemp(name);
    assert(write(file, bytes, 1000) == 1000 && pwrite(file, bytes, 500, 2000) == 500);
    assert(!fsync(file) && !fdatasync(file));
    assert(lseek(file, 0, SEEK_SET) == 0 && read(file, bytes, 700) == 700 && pread(file, bytes, 300, 100) == 300);
    assert(read(file, bytes, 0) == 0 && pread(file, bytes, 10, 5000) == 0);
    close(file);
    file = open(name, O_RDONLY);
    assert(write(file, bytes, 1) == -1 && errno == EBADF);
    assert(read(file, bytes, 100) == 100);
    unlink(name);
    int null = open("/dev/null", O_RDWR);
    assert(write(null, bytes, 10) == 10 && read(null, bytes, 10) == 0);
    printf("write 2 1500\nread 5 1100\nsync 2 0\n");
    fflush(stdout);
}

static void *waits_for_ever(void *which) {
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
    static sem_t none;
    switch ((intptr_t)which) {
    case 0:
        pthread_mutex_lock(&mine);
        pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &mine);
        for (;;) pthread_cond_wait(&never, &mine);
        pthread_cleanup_pop(1);
    case 1:
        for (;;) sem_wait(&none);
    case 2:
        for (;;) sleep(1000);
    }
    return NULL;
}

static void cancelled(void) {
    for (intptr_t which = 0; which < 3; which++) {
        pthread_t thread;
        void *result;
        assert(!pthread_create(&thread, NULL, waits_for_ever, (void *)which));
        usleep(20000);
        assert(!pthread_cancel(thread) && !pthread_join(thread, &result) && result == PTHREAD_CANCELED);
    }
}

static sem_t from_handler;

static void on_signal(int number) {
    (void)number;
    int kept = errno;
    sem_post(&from_handler);
    assert(errno == kept);
}

static void *interrupts(void *whom) {
    await(1);
    pthread_kill(*(pthread_t *)whom, SIGALRM);
    return NULL;
}

static void handlers(void) {
    pthread_t thread, self = pthread_self();
    sem_init(&from_handler, 0, 0);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGALRM, &action, NULL);
    announce();
    assert(!pthread_create(&thread, NULL, interrupts, &self));
    assert(sem_wait(&from_handler) == -1 && errno == EINTR);
    assert(!sem_wait(&from_handler) && !pthread_join(thread, NULL));
    signals = 1;
    wakes = 2;
    say("semaphore");
}

static void children(void) {
    pid_t child = fork();
    if (child == 0) {
        int pair[2];
        assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && send(pair[0], "x", 1, 0) == 1);
        done = over = queued = 0;
        conditions();
        _exit(0);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && status == 0);
    child = vfork();
    if (child == 0) _exit(sem_post(&items));
    assert(waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **ways) {
    int pair[2];
    assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && send(pair[0], "x", 1, 0) == 1);
    static const struct { const char *name; void (*run)(void); } all[] = {
        {"conditions", conditions}, {"semaphores", semaphores}, {"events", events}, {"epolls", epolls}, {"pipes", pipes},
        {"futexes", futexes}, {"locks", locks}, {"robust", robust}, {"barriers", barriers},
        {"sleeps", sleeps}, {"files", files}, {"cancelled", cancelled}, {"handlers", handlers},
        {"children", children},
    };
    for (int n = 1; n < count; n++)
        for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
            if (!strcmp(ways[n], all[k].name)) all[k].run();
    return 0;
}
