// Overwrites its arguments with a title before it uses a socket, as servers do; its child does the
// same.
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int talk(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    char byte = 'x';
    return write(ends[0], &byte, 1) == 1 && read(ends[1], &byte, 1) == 1 ? 0 : 1;
}

static void title(int argc, char **argv, const char *title) {
    char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    size_t room = end - argv[0];
    memset(argv[0], 0, room);
    strncpy(argv[0], title, room);
}

int main(int argc, char **argv) {
    title(argc, argv, "it: main");
    pid_t child = fork();
    if (child == 0) {
        title(argc, argv, "it: a worker");
        return talk();
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    return talk();
}
