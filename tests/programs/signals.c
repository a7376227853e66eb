// Sends from a signal handler that interrupts sends. Prints how many the handler and the program
// made.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

static int from_program[2], from_handler[2];
static volatile long handled;

static void handler(int signal) {
    (void)signal;
    char buffer[2];
    if (handled < 20000 && send(from_handler[0], "ab", 2, 0) == 2) {
        handled++;
        if (recv(from_handler[1], buffer, 2, 0) != 2) abort();
    }
}

int main(void) {
    char buffer[8];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, from_program) || socketpair(AF_UNIX, SOCK_STREAM, 0, from_handler))
        return 2;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &timer, NULL);
    long sends = 0;
    for (; sends < 200000; sends++) {
        if (send(from_program[0], "abcdefg", 7, 0) != 7 || recv(from_program[1], buffer, 7, 0) != 7) abort();
    }
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("%ld %ld\n", sends, handled);
    return 0;
}
