// Becomes /bin/echo by the call that argv[1] names, with no environment where that can be said.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ECHO "/bin/echo"
extern char **environ;

int main(int count, char **arguments) {
    if (count != 2) return 2;
    const char *way = arguments[1];
    char *nothing[] = {NULL};
    char *list[] = {"echo", "1", "2", "3", "4", "5", "6", "7", "8", NULL};
    if (!strcmp(way, "execve")) execve(ECHO, list, nothing);
    if (!strcmp(way, "execle")) execle(ECHO, "echo", "1", "2", "3", "4", "5", "6", "7", "8", NULL, nothing);
    if (!strcmp(way, "fexecve")) fexecve(open(ECHO, O_RDONLY | O_CLOEXEC), list, nothing);
    if (!strcmp(way, "execvpe")) execvpe("echo", list, nothing);
    if (!strcmp(way, "syscall")) syscall(SYS_execve, ECHO, list, nothing);
    if (!strcmp(way, "spawn") || !strcmp(way, "vfork")) {
        int status;
        pid_t child;
        if (way[0] == 's') {
            if (posix_spawn(&child, ECHO, NULL, NULL, list, nothing)) return 3;
        } else if ((child = vfork()) == 0) {
            execve(ECHO, list, nothing);
            _exit(4);
        }
        return waitpid(child, &status, 0) == child && status == 0 ? 0 : 5;
    }
    clearenv();
    if (!strcmp(way, "execl")) execl(ECHO, "echo", "1", "2", "3", "4", "5", "6", "7", "8", NULL);
    if (!strcmp(way, "execv")) execv(ECHO, list);
    setenv("PATH", "/bin:/usr/bin", 1);
    if (!strcmp(way, "execlp")) execlp("echo", "echo", "1", "2", "3", "4", "5", "6", "7", "8", NULL);
    if (!strcmp(way, "execvp")) execvp("echo", list);
    return 6;
}
