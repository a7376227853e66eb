/* A small emulator in the manner of qemu-user: it reads QEMU's variables, and makes the system
 * calls of the program that it runs. That program sends itself 100 messages of 5 bytes. The exit
 * status is 6.
 *
 * usage: emulates [wait]: with the argument, the program begins when the standard input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS = 100 };

/* Instructions of the emulated machine. */
enum { SEND, RECEIVE, REPEAT, END };

static const char program[] = {SEND, RECEIVE, REPEAT, END};

static int run(const int *pair)
{
    char bytes[5];
    int turns = 0;
    for (int at = 0;; at++) {
        switch (program[at]) {
        case SEND:
            if (write(pair[0], "hello", 5) != 5)
                return 2;
            break;
        case RECEIVE:
            if (recv(pair[1], bytes, 5, MSG_WAITALL) != 5)
                return 3;
            break;
        case REPEAT:
            if (++turns < TURNS)
                at = -1;
            break;
        case END:
            return 6;
        }
    }
}

int main(int count, char **arguments)
{
    const char *prefix = getenv("QEMU_LD_PREFIX");
    int pair[2];
    if (getenv("QEMU_STRACE"))
        fprintf(stderr, "%s below %s\n", arguments[0], prefix ? prefix : "/");
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 1;
    if (count > 1) {
        puts("ready");
        fflush(stdout);
        while (getchar() != EOF) {
        }
    }
    int status = run(pair);
    puts("unharmed");
    return status;
}
