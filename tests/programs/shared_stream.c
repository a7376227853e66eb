// Threads that send concurrently on one stream, and a signal handler that interrupts them and sends
// on it too. Prints how many bytes were sent.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

static int stream[2];
static _Atomic long sent;

static void send_some(long size) {
    char buffer[64] = {0};
    if (send(stream[0], buffer, size, 0) != size) abort();
    sent += size;
}

static void handler(int signal) {
    (void)signal;
    for (int i = 0; i < 3; i++) send_some(50 + i);
}

static void *work(void *argument) {
    for (long i = 0; i < 30000; i++) send_some(1 + (i * 7 + (long)argument) % 40);
    return NULL;
}

static void *drain(void *argument) {
    char buffer[65536];
    while (recv(stream[1], buffer, sizeof buffer, 0) > 0) {}
    return argument;
}

int main(void) {
    pthread_t threads[4], reader;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, stream)) return 2;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 100}, {0, 100}};
    // The reader inherits the mask: a handler there would wait for itself.
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    pthread_create(&reader, NULL, drain, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    shutdown(stream[0], SHUT_WR);
    pthread_join(reader, NULL);
    printf("%ld\n", sent);
    return 0;
}
