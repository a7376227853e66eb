/* Makes a child with a small stack: on a thread of 16 KiB or in a handler on an alternate stack of
 * 8 KiB. */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *way;
static char *const command[] = {"true", NULL};
static char *const empty[] = {NULL};

static int make_child(pid_t *child) {
    extern char **environ;
    if (!strcmp(way, "spawn")) return posix_spawn(child, "/bin/true", NULL, NULL, command, environ);
    if (!strcmp(way, "spawn-empty")) return posix_spawn(child, "/bin/true", NULL, NULL, command, empty);
    if (!strcmp(way, "vfork-empty")) {
        *child = vfork();
        if (*child == 0) {
            execve("/bin/true", command, empty);
            _exit(9);
        }
        return 0;
    }
    *child = fork();
    if (*child == 0) {
        if (!strcmp(way, "fork-exec")) execv("/bin/true", command);
        if (!strcmp(way, "fork-exec-empty")) execve("/bin/true", command, empty);
        /* The child's first own calls. */
        int pair[2];
        char byte;
        struct iovec buffer = {&byte, 1};
        struct msghdr message = {.msg_iov = &buffer, .msg_iovlen = 1};
        if (strcmp(way, "fork") || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) _exit(9);
        _exit(send(pair[0], "x", 1, 0) == 1 && recvmsg(pair[1], &message, 0) == 1 ? 0 : 9);
    }
    return 0;
}

static void work(void) {
    pid_t child;
    int status = -1;
    if (make_child(&child) || waitpid(child, &status, 0) != child || status) _exit(1);
    if (write(1, "unharmed\n", 9) != 9) _exit(1);
}

static void handle(int number) {
    (void)number;
    work();
    _exit(0);
}

static void *run(void *argument) {
    work();
    return argument;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    way = arguments[2];
    if (!strcmp(arguments[1], "handler")) {
        /* A guard page below it. */
        char *memory = mmap(NULL, 4096 + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_NONE)) return 1;
        stack_t stack = {.ss_sp = memory + 4096, .ss_size = 8192};
        struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
        if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL)) return 1;
        raise(SIGUSR1);
    } else {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        if (pthread_attr_setstacksize(&attributes, 16384) || pthread_create(&thread, &attributes, run, NULL)) return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
