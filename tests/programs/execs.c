// Becomes the program argv[2], in the directory argv[3], by the call that argv[1] names, with an
// empty environment if the call takes one.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int count, char **arguments) {
    if (count != 4) return 2;
    const char *way = arguments[1], *path = arguments[2];
    const char *name = strrchr(path, '/') + 1;
    char *nothing[] = {NULL};
    char *list[] = {"echo_arguments", "1", "2", "3", "4", "5", "6", "7", "8", NULL};
    if (!strcmp(way, "execve")) execve(path, list, nothing);
    if (!strcmp(way, "execle")) execle(path, "echo_arguments", "1", "2", "3", "4", "5", "6", "7", "8", NULL, nothing);
    if (!strcmp(way, "fexecve")) fexecve(open(path, O_RDONLY | O_CLOEXEC), list, nothing);
    if (!strcmp(way, "execvpe")) setenv("PATH", arguments[3], 1), execvpe(name, list, nothing);
    if (!strcmp(way, "syscall")) syscall(SYS_execve, path, list, nothing);
    if (!strcmp(way, "spawn") || !strcmp(way, "vfork")) {
        int status;
        pid_t child;
        if (way[0] == 's') {
            if (posix_spawn(&child, path, NULL, NULL, list, nothing)) return 3;
        } else if ((child = vfork()) == 0) {
            execve(path, list, nothing);
            _exit(4);
        }
        return waitpid(child, &status, 0) == child && status == 0 ? 0 : 5;
    }
    clearenv();
    if (!strcmp(way, "execl")) execl(path, "echo_arguments", "1", "2", "3", "4", "5", "6", "7", "8", NULL);
    if (!strcmp(way, "execv")) execv(path, list);
    setenv("PATH", arguments[3], 1);
    if (!strcmp(way, "execlp")) execlp(name, "echo_arguments", "1", "2", "3", "4", "5", "6", "7", "8", NULL);
    if (!strcmp(way, "execvp")) execvp(name, list);
    return 6;
}
