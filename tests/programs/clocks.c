// Sends and receives, and prints for each call the wall clock right before and right after it.
//
// usage: clocks one|paced|killed|forked|handled Prints "PID BYTES S|R BEFORE AFTER", in ns since
// the epoch. Messages of the signal handler are a byte longer.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct call {
    int bytes;
    char what;
    long before, after;
};
enum { MOST = 60000 };
static struct call calls[MOST];
static volatile int made;
static int program[2], handler[2];

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void message(const int *pair, int bytes) {
    char buffer[8];
    struct call sent = {.what = 'S', .bytes = bytes}, received = {.what = 'R', .bytes = bytes};
    sent.before = now();
    if (send(pair[0], "abcd", bytes, 0) != bytes) abort();
    sent.after = now();
    received.before = now();
    if (recv(pair[1], buffer, bytes, 0) != bytes) abort();
    received.after = now();
    int place = __atomic_fetch_add(&made, 2, __ATOMIC_RELAXED);
    if (place + 1 < MOST) calls[place] = sent, calls[place + 1] = received;
}

static void print(void) {
    for (int i = 0; i < made && i < MOST; i++)
        printf("%d %d %c %ld %ld\n", getpid(), calls[i].bytes, calls[i].what, calls[i].before, calls[i].after);
    fflush(stdout);
    made = 0;
}

static void on_alarm(int signal) {
    (void)signal;
    if (made < MOST / 2) message(handler, 4);
}

// Pauses of 1 us to 0.3 s: the distance of anchors increases.
static void paced(void) {
    for (long pause = 1000; pause < 400000000; pause *= 3) {
        struct timespec time = {0, pause};
        for (int n = 0; n < 3; n++) message(program, 3);
        nanosleep(&time, NULL);
    }
    message(program, 3);
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, program) || socketpair(AF_UNIX, SOCK_STREAM, 0, handler)) return 2;
    if (!strcmp(mode, "one")) {
        message(program, 3);
    } else if (!strcmp(mode, "paced")) {
        paced();
    } else if (!strcmp(mode, "killed")) {
        paced();
        print();
        raise(SIGKILL);
    } else if (!strcmp(mode, "forked")) {
        message(program, 3);
        print();
        for (int n = 0; n < 3; n++) {
            pid_t child = fork();
            paced();
            print();
            if (child == 0) _exit(0);
            waitpid(child, NULL, 0);
        }
    } else if (!strcmp(mode, "handled")) {
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &action, NULL);
        struct itimerval timer = {{0, 70}, {0, 70}};
        setitimer(ITIMER_REAL, &timer, NULL);
        for (int n = 0; n < 10000; n++) message(program, 3);
        timer = (struct itimerval){{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &timer, NULL);
    } else {
        return 2;
    }
    print();
    return 0;
}
