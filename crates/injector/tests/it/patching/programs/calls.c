/* Calls of many kinds, each as often as its line says; standard output has their results. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int handler_pipe[2];
static volatile int handled;

/* A call within a waiting call. */
static void on_alarm(int signal) {
    char byte;
    int kept = errno;
    (void)signal;
    if (write(handler_pipe[1], "h", 1) == 1 && read(handler_pipe[0], &byte, 1) == 1) handled++;
    errno = kept;
}

static void check(int is_right, const char *what) {
    if (!is_right) {
        printf("wrong: %s (%s)\n", what, strerror(errno));
        fflush(stdout);
        exit(1);
    }
}

static void sockets(void) {
    int pair[2];
    char buffer[64];
    long total = 0;
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
    for (int i = 0; i < 200; i++) {
        check(send(pair[0], "hello", 5, 0) == 5, "send");
        total += recv(pair[1], buffer, sizeof buffer, 0);
        check(write(pair[1], "you", 3) == 3, "write");
        total += read(pair[0], buffer, sizeof buffer);
        struct iovec parts[2] = {{"ab", 2}, {"cde", 3}};
        check(writev(pair[0], parts, 2) == 5, "writev");
        struct iovec room = {buffer, sizeof buffer};
        total += readv(pair[1], &room, 1);
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        check(sendmsg(pair[0], &message, 0) == 5, "sendmsg");
        message.msg_iov = &room, message.msg_iovlen = 1;
        total += recvmsg(pair[1], &message, 0);
        total += syscall(SYS_sendto, pair[1], "raw", 3, 0, NULL, 0);
        total += syscall(SYS_recvfrom, pair[0], buffer, sizeof buffer, 0, NULL, NULL);
    }
    check(send(-1, "", 1, 0) == -1 && errno == EBADF, "an error");
    int copy = dup(pair[0]);
    check(dup2(copy, 77) == 77 && fcntl(copy, F_GETFD) == 0, "dup2, fcntl");
    check(close(copy) == 0 && close(77) == 0 && close(pair[0]) == 0, "close");
    check(recv(pair[1], buffer, 1, 0) == 0 && shutdown(pair[1], SHUT_RDWR) == 0, "end");
    close(pair[1]);
    printf("sockets: %ld bytes\n", total);
}

static void *connecting(void *address) {
    int one = socket(AF_UNIX, SOCK_STREAM, 0);
    check(connect(one, address, sizeof(struct sockaddr_un)) == 0, "connect");
    check(send(one, "c", 1, 0) == 1, "send");
    close(one);
    return NULL;
}

static void servers(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path + 1, 90, "patched-%d", (int)getpid());
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte;
    check(bind(listener, (void *)&address, sizeof address) == 0, "bind");
    check(listen(listener, 5) == 0, "listen");
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        check(pthread_create(&thread, NULL, connecting, &address) == 0, "pthread_create");
        int one = i % 2 ? accept(listener, NULL, NULL) : accept4(listener, NULL, NULL, 0);
        check(recv(one, &byte, 1, 0) == 1, "recv");
        close(one);
        pthread_join(thread, NULL);
    }
    close(listener);
    printf("servers\n");
}

static void interrupted(int flags) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    int pair[2], interruptions = 0;
    char byte;
    check(pipe(handler_pipe) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "pipes");
    struct timeval patience = {0, 300000};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    if (!flags) {
        while (interruptions < 20)
            if (recv(pair[0], &byte, 1, 0) == -1 && errno == EINTR) interruptions++;
        for (; interruptions < 40;)
            if (read(pair[0], &byte, 1) == -1 && errno == EINTR) interruptions++;
    } else {
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        recv(pair[0], &byte, 1, 0);
        int before = handled;
        while (handled < before + 20) { }
    }
    setitimer(ITIMER_REAL, &never, NULL);
    check(handled >= 20, "handled");
    close(pair[0]), close(pair[1]), close(handler_pipe[0]), close(handler_pipe[1]);
    printf("interrupted %d times\n", interruptions);
}

static int cleaned;
static void clean(void *argument) { cleaned += *(int *)argument; }

static void *waiting(void *argument) {
    int one = 1;
    char byte;
    pthread_cleanup_push(clean, &one);
    recv(*(int *)argument, &byte, 1, 0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelled(void) {
    int pair[2];
    void *result;
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, waiting, pair);
        usleep(5000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        check(result == PTHREAD_CANCELED, "cancelled");
    }
    close(pair[0]), close(pair[1]);
    printf("cancelled %d\n", cleaned);
}

static void children(void) {
    int status, sum = 0;
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "exit 3", NULL);
            _exit(9);
        }
        waitpid(child, &status, 0);
        sum += WEXITSTATUS(status);
    }
    sum += WEXITSTATUS(system("exit 4"));
    pid_t child = vfork();
    if (child == 0) {
        execl("/nowhere", "nowhere", NULL);
        execl("/bin/sh", "sh", "-c", "exit 5", NULL);
        _exit(9);
    }
    waitpid(child, &status, 0);
    printf("children %d\n", sum + WEXITSTATUS(status));
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    sockets();
    if (strcmp(mode, "alone") == 0) return 7;
    servers();
    interrupted(0);
    interrupted(SA_RESTART);
    cancelled();
    if (strcmp(mode, "children") == 0) children();
    return 7;
}
