/* Sends 7 bytes and is interrupted by a handler that sends 2 bytes so often that the log of a
 * flight recorder wraps around before it returns. For every third instruction of the library during
 * the send there is a child that is interrupted exactly there, by single-stepping. Prints the
 * number of children. (From the reservation of a record to its end there are more than ten.) With
 * an argument there is a child for every instruction, and the handler sends just once, on the same
 * socket as the program, which then sends again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int from_program[2], from_handler[2];
/* The number of the library's instructions so far, and the number after which to interrupt. */
static volatile long passed, wanted;
static char *begin, *end;
static int once;

#ifdef __x86_64__
#define TRAP 0x100
static void step(int on) {
    if (on)
        __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    else
        __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}
static char *place(ucontext_t *context) { return (char *)context->uc_mcontext.gregs[REG_RIP]; }
static void run_on(ucontext_t *context) { context->uc_mcontext.gregs[REG_EFL] &= ~TRAP; }
#else
#error "single step is made for x86-64"
#endif

static void handle(int number, siginfo_t *information, void *context) {
    char buffer[8], *at = place(context);
    (void)number, (void)information;
    if (at < begin || at >= end || passed++ != wanted) return;
    run_on(context);
    if (once) {
        if (send(from_program[0], "ab", 2, 0) != 2) abort();
        return;
    }
    for (int n = 0; n < 4500; n++)
        if (send(from_handler[0], "ab", 2, 0) != 2 || recv(from_handler[1], buffer, 8, 0) != 2) abort();
}

static void find_library(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    while (maps && fgets(line, sizeof line, maps)) {
        void *from, *to;
        if (strstr(line, " r-xp ") && strstr(line, "libsockcap.so") && sscanf(line, "%p-%p", &from, &to) == 2)
            begin = from, end = to;
    }
    if (maps) fclose(maps);
}

int main(int count, char **arguments) {
    (void)arguments;
    once = count > 1;
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_RESTART | SA_SIGINFO};
    if (sigaction(SIGTRAP, &action, NULL)) return 1;
    find_library();
    if (!begin) return 2;
    const long step_by = once ? 1 : 3;
    for (;; wanted += step_by) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, from_program) || socketpair(AF_UNIX, SOCK_STREAM, 0, from_handler))
                _exit(4);
            if (send(from_program[0], "abcdefg", 7, 0) != 7) _exit(5);
            step(1);
            ssize_t sent = send(from_program[0], "abcdefg", 7, 0);
            step(0);
            if (sent != 7) _exit(5);
            if (once && send(from_program[0], "abcdefg", 7, 0) != 7) _exit(5);
            /* 1 if it was no longer interrupted. */
            _exit(passed <= wanted);
        }
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) > 1) return 3;
        if (WEXITSTATUS(status)) break;
    }
    printf("%ld\n", wanted / step_by);
    return 0;
}
