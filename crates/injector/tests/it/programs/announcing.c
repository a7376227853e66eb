/* Program that announces an exec over a socket and makes it, as a library of another language does.
   usage: announcing SOCKET plain|vfork|thread|race|fails|spawn|spawn-fails PROGRAM [ARGUMENT...] */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *at;
static char **command;

/* Announces the exec of a file. The connection lasts until the exec. */
static int announce_as(const char *magic, const char *file) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char bytes[4096 + 10], answer = '?';
    uint32_t tid = syscall(SYS_gettid);
    uint16_t length = strlen(file);
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    strncpy(name.sun_path, at, sizeof name.sun_path - 1);
    if (connect(connection, (void *)&name, sizeof name)) return -1;
    memcpy(bytes, magic, 4);
    memcpy(bytes + 4, &tid, 4);
    memcpy(bytes + 8, &length, 2);
    memcpy(bytes + 10, file, length);
    if (write(connection, bytes, 10 + length) < 0 || read(connection, &answer, 1) != 1) return -1;
    return answer == '1' || answer == '0' ? connection : -1;
}

static int announce(const char *file) {
    return announce_as("SCX1", file);
}

/* Announces that libc's posix_spawn executes a file, and lets it do so. */
static int spawn(char *file, pid_t *child) {
    extern char **environ;
    int connection = announce_as("SCX2", file);
    if (connection < 0) return -1;
    int failed = posix_spawn(child, file, 0, 0, command, environ);
    char byte;
    if (failed && send(connection, "x", 1, MSG_NOSIGNAL) == 1)
        while (read(connection, &byte, 1) < 0) {}
    close(connection);
    return failed;
}

static void *spawns(void *status) {
    pid_t child;
    if (spawn(command[0], &child) == 0) waitpid(child, status, 0);
    return 0;
}

static void *become(void *unused) {
    if (announce(command[0]) >= 0) execv(command[0], command);
    _exit(126);
    return unused;
}

static pthread_barrier_t both;

/* Announces an exec, which another thread makes. */
static void *waits(void *unused) {
    announce(command[0]);
    pthread_barrier_wait(&both);
    pause();
    return unused;
}

static void *makes(void *unused) {
    announce(command[0]);
    pthread_barrier_wait(&both);
    execv(command[0], command);
    _exit(126);
    return unused;
}

static void *idle(void *unused) {
    pause();
    return unused;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    at = argv[1], command = argv + 3;
    if (!strcmp(argv[2], "plain")) become(0);
    if (!strcmp(argv[2], "vfork")) {
        int status;
        pid_t child = vfork();
        if (child == 0) become(0);
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    if (!strcmp(argv[2], "thread")) {
        pthread_t thread;
        for (int i = 0; i < 4; i++) pthread_create(&thread, 0, idle, 0);
        pthread_create(&thread, 0, become, 0);
        pthread_join(thread, 0);
    }
    if (!strncmp(argv[2], "spawn", 5)) {
        pthread_t thread;
        int status = 0x7f00;
        pid_t child;
        /* A failed exec does not affect the next one. */
        if (argv[2][5] && !spawn("/nowhere/at/all", &child)) return 125;
        for (int i = 0; i < 4; i++) pthread_create(&thread, 0, idle, 0);
        pthread_create(&thread, 0, spawns, &status);
        pthread_join(thread, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    if (!strcmp(argv[2], "race")) {
        pthread_t one, other;
        pthread_barrier_init(&both, 0, 2);
        pthread_create(&one, 0, waits, 0);
        pthread_create(&other, 0, makes, 0);
        pthread_join(other, 0);
    }
    if (!strcmp(argv[2], "fails")) {
        int connection = announce("/nowhere/at/all");
        execv("/nowhere/at/all", command);
        char byte;
        if (connection < 0 || write(connection, "x", 1) != 1) return 126;
        while (read(connection, &byte, 1) < 0) {}
        /* Continues as if nothing had happened: this exec was not announced. */
        execv(command[0], command);
    }
    return 126;
}
