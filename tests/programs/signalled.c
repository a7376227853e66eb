// Writes to a socket pair and reads from it while a thread continuously sends it signals, and
// executes itself in children of vfork, which are sent signals too. It prints how many bytes it
// read and wrote, including its children's.
//
// usage: signalled SIGNALS, followed by `child` in a child
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Maximum number of pending signals.
#define QUEUED 1000

static volatile long handled, sent, signals;
static volatile int ended;
static int first;

static void handler(int signal)
{
    (void)signal;
    handled++;
}

static void *send_signals(void *unused)
{
    // Signals of this kind are queued, so each is handled.
    while (sent < signals) {
        if (sent - handled > QUEUED || syscall(SYS_tgkill, first, first, SIGRTMIN))
            sched_yield();
        else
            sent++;
    }
    ended = 1;
    return unused;
}

int main(int count, char **arguments)
{
    int pair[2], is_child = count > 2;
    long bytes_read = 0, written = 0, rounds = 0, children = 0;
    signals = atol(arguments[1]);
    first = getpid();
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    pthread_t thread;
    if (sigaction(SIGRTMIN, &action, 0) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
        pthread_create(&thread, 0, send_signals, 0))
        return 1;
    while (!ended || rounds < 1000) {
        char buffer[64];
        long size = 1 + rounds % sizeof buffer;
        long length = write(pair[0], buffer, size);
        if (length != size)
            return 2;
        written += length;
        while (length > 0) {
            long got = read(pair[1], buffer, length);
            if (got <= 0)
                return 3;
            length -= got;
            bytes_read += got;
        }
        if (++rounds % 4000 || is_child || children == 20)
            continue;
        // These signals are not sent to the child before it has executed itself: they go to its
        // parent.
        int status, output[2];
        if (pipe(output))
            return 4;
        pid_t child = vfork();
        if (child == 0) {
            dup2(output[1], 1);
            execl(arguments[0], arguments[0], "50", "child", (char *)0);
            _exit(5);
        }
        close(output[1]);
        char text[100];
        long total = 0, got, of_child[2];
        while ((got = read(output[0], text + total, sizeof text - 1 - total)) > 0)
            total += got;
        text[total] = 0;
        close(output[0]);
        if (waitpid(child, &status, 0) != child || status != 0)
            return 6;
        if (sscanf(text, "read %ld written %ld", &of_child[0], &of_child[1]) != 2)
            return 7;
        bytes_read += of_child[0];
        written += of_child[1];
        children++;
    }
    pthread_join(thread, 0);
    printf("read %ld written %ld children %ld signals %ld\n", bytes_read, written, children,
           handled);
    return 0;
}
