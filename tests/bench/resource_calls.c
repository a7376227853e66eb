// Cost of the calls that libsockcap_resources.so records, in a process that has a log.
//
// usage: resource_calls ROUNDS [PROCESSOR]
// Prints a line for each call: name, p10 bare, p10 hooked, mean bare, mean hooked, in ns a call.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct functions {
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*pread)(int, void *, size_t, off_t);
    ssize_t (*pwrite)(int, const void *, size_t, off_t);
    ssize_t (*send)(int, const void *, size_t, int);
    int (*pthread_mutex_lock)(pthread_mutex_t *);
    int (*pthread_rwlock_rdlock)(pthread_rwlock_t *);
    int (*pthread_cond_signal)(pthread_cond_t *);
    int (*sem_post)(sem_t *);
    int (*sem_wait)(sem_t *);
    long (*syscall)(long, ...);
    int (*poll)(struct pollfd *, nfds_t, int);
};

#include "slices.h"

int main(int count, char **arguments) {
    void *libc = begin_with(count, arguments);
    if (!libc) return 2;
    // The program's names are bound by their versions; condition variables have two.
#undef FIND
#define FIND(name)                                                                                                   \
    if (!(*(void **)&ways[0].name = dlsym(libc, #name))) return 2;                                                   \
    ways[1].name = name
    FIND(read); FIND(write); FIND(pread); FIND(pwrite); FIND(send); FIND(syscall); FIND(poll);
    FIND(pthread_mutex_lock); FIND(pthread_rwlock_rdlock);
    FIND(pthread_cond_signal); FIND(sem_post); FIND(sem_wait);

    int pair[2], ends[2], word = 0;
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    must(ways[1].send(pair[0], "x", 1, 0));

    char name[] = "/tmp/sockcap-bench-XXXXXX";
    int file = mkstemp(name), event = eventfd(0, EFD_NONBLOCK);
    must(file);
    must(event);
    must(unlink(name));
    must(pipe(ends));
    uint64_t one = 1, number;
    MEASURE("file pwrite", 64, SLICE, , f->pwrite(file, buffer, 64, 0), );
    MEASURE("file pread, cached", 64, SLICE, , f->pread(file, buffer, 64, 0), );
    MEASURE("pipe write", 64, SLICE, , f->write(ends[1], buffer, 64), MANY(bare->read(ends[0], buffer, 64)));
    MEASURE("pipe read", 64, SLICE, MANY(bare->write(ends[1], buffer, 64)), f->read(ends[0], buffer, 64), );
    MEASURE("eventfd write", 0, SLICE, , f->write(event, &one, 8), must(bare->read(event, &number, 8)));
    MEASURE("eventfd write+read", 0, SLICE, , (f->write(event, &one, 8), f->read(event, &number, 8)), );

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    MEASURE("mutex lock+unlock, free", 0, 256, , f->pthread_mutex_lock(&mutex) + pthread_mutex_unlock(&mutex), );
    MEASURE("rwlock rdlock+unlock, free", 0, 256, , f->pthread_rwlock_rdlock(&lock) + pthread_rwlock_unlock(&lock), );
    MEASURE("cond_signal, nobody waits", 0, 256, , f->pthread_cond_signal(&condition), );
    MEASURE("sem_post", 0, 256, , f->sem_post(&semaphore), for (int n = 0; n < 256; n++) bare->sem_wait(&semaphore));
    MEASURE("sem_wait, posted before", 0, 256, for (int n = 0; n < 256; n++) bare->sem_post(&semaphore),
            f->sem_wait(&semaphore), );
    MEASURE("futex wake by syscall, nobody waits", 0, SLICE, ,
            f->syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0), );
    struct pollfd ready = {.fd = pair[1], .events = POLLIN};
    MEASURE("poll, ready", 0, SLICE, , f->poll(&ready, 1, 1000), );
    return 0;
}
