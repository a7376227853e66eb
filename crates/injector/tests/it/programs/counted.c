/* Program with one site of known bytes for its calls of write(2): `mov eax, 1; syscall; cmp`.
   usage: counted wait LINES    lines, then a byte of input, then status 7
          counted state         what a program could see of an injection
          counted exec PROGRAM  executes another program */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long counted_write(int file, const void *bytes, long length);
__asm__(".text\n.globl counted_write\n.type counted_write,@function\ncounted_write:\n"
        "mov $1, %eax\nsyscall\ncmp $-4096, %rax\nja 1f\nret\n1: mov $-1, %rax\nret\n");

static void say(const char *text) {
    if (counted_write(1, text, strlen(text)) != (long)strlen(text)) _exit(9);
}

static void at_end(void) { say("the end\n"); }

/* The lines of /proc/self/status that an injection could change. */
static void say_status(void) {
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "TracerPid", 9) || !strncmp(line, "SigBlk", 6) ||
            !strncmp(line, "SigIgn", 6) || !strncmp(line, "State", 5))
            say(line);
    if (status) fclose(status);
}

static void *in_thread(void *unused) {
    say("a thread\n");
    return unused;
}

int main(int argc, char **argv) {
    char line[64], byte;
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "wait")) {
        atexit(at_end);
        for (int i = 0; i < atoi(argv[2]); i++) {
            snprintf(line, sizeof line, "line %d\n", i);
            say(line);
        }
        /* A failing call must fail as before. */
        if (counted_write(-1, line, 1) != -1) return 8;
        while (read(0, &byte, 1) < 0 && errno == EINTR) {}
        return 7;
    }
    if (!strcmp(what, "state")) {
        pthread_t thread;
        atexit(at_end);
        for (int i = 0; i < argc; i++) say(argv[i]), say("\n");
        say(getenv("GIVEN") ? getenv("GIVEN") : "nothing given");
        say("\n");
        say_status();
        if (pthread_create(&thread, 0, in_thread, 0) || pthread_join(thread, 0)) return 8;
        if (fork() == 0) { say("a child\n"); _exit(0); }
        sleep(0);
        return 3;
    }
    if (!strcmp(what, "exec")) {
        execv(argv[2], argv + 2);
        return 127;
    }
    return 2;
}
