/* Executes a program by another name than its path: executes WAY PROGRAM ARGUMENTS... */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

/* Copies a file into an open one. */
static void copy(const char *from, int to)
{
    char bytes[65536];
    ssize_t length;
    int in = open(from, O_RDONLY);
    while ((length = read(in, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, length) != length)
            perror("write");
    close(in);
}

int main(int count, char **words)
{
    char *way = words[1], *program = words[2], **arguments = words + 2;
    (void)count;
    if (!strcmp(way, "below")) {
        /* A path relative to an open directory. */
        char folder[4096], *name = strrchr(program, '/');
        snprintf(folder, sizeof folder, "%.*s", (int)(name - program), program);
        syscall(SYS_execveat, open(folder, O_PATH), name + 1, arguments, environ, 0);
    } else if (!strcmp(way, "deleted")) {
        /* A file without a name. */
        char name[] = "/tmp/executesXXXXXX";
        int out = mkstemp(name);
        copy(program, out);
        fchmod(out, 0755);
        close(out);
        int file = open(name, O_RDONLY | O_CLOEXEC);
        unlink(name);
        fexecve(file, arguments, environ);
    } else {
        int file = memfd_create("in_memory", strcmp(way, "path") ? MFD_CLOEXEC : 0);
        copy(program, file);
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        if (!strcmp(way, "fexecve"))
            fexecve(file, arguments, environ);
        else if (!strcmp(way, "execveat"))
            execveat(file, "", arguments, environ, AT_EMPTY_PATH);
        else if (!strcmp(way, "syscall"))
            syscall(SYS_execveat, file, "", arguments, environ, AT_EMPTY_PATH);
        else if (!strcmp(way, "path"))
            execv(path, arguments);
    }
    perror("executes");
    return 1;
}
