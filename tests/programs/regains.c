// A server that drops root's privileges for each request, and executes itself to regain them, as
// mail servers do: the program is owned by root and setuid. The executed program hands the request
// to another port of the server, over a connection of its own.
//
// usage: regains REQUESTS      (internally: regains deliver PORT)

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int listening(unsigned short *port) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&name, length) || listen(listener, 8) ||
        getsockname(listener, (struct sockaddr *)&name, &length))
        err(1, "listening");
    *port = ntohs(name.sin_port);
    return listener;
}

static void ask(unsigned short port, int times) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[16];
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection, (struct sockaddr *)&name, sizeof name)) err(1, "connect");
    for (int at = 0; at < times; at++)
        if (write(connection, "request", 7) != 7 || read(connection, answer, sizeof answer) <= 0)
            err(1, "ask");
    close(connection);
}

static void deliver(const char *program, unsigned short port) {
    char text[8];
    snprintf(text, sizeof text, "%d", port);
    if (setresuid(65534, 65534, 65534)) err(1, "setresuid");
    execl(program, program, "deliver", text, (char *)NULL);
    err(1, "execl");
}

int main(int argc, char **argv) {
    unsigned short front, back;
    if (argc == 3 && !strcmp(argv[1], "deliver")) {
        if (geteuid() != 0) errx(1, "it did not get its rights again");
        ask(atoi(argv[2]), 1);
        return 0;
    }
    int requests = argc > 1 ? atoi(argv[1]) : 1;
    int front_listener = listening(&front), back_listener = listening(&back);
    if (fork() == 0) {
        ask(front, requests);
        _exit(0);
    }
    // The delivery's destination is a separate process.
    if (fork() == 0) {
        char text[16];
        for (int at = 0; at < requests; at++) {
            int connection = accept(back_listener, NULL, NULL);
            if (read(connection, text, sizeof text) <= 0 || write(connection, "taken", 5) != 5)
                err(1, "take");
            close(connection);
        }
        _exit(0);
    }
    int connection = accept(front_listener, NULL, NULL);
    char text[16];
    for (int at = 0; at < requests; at++) {
        if (read(connection, text, sizeof text) <= 0) err(1, "read");
        pid_t child = fork();
        if (child == 0) deliver(argv[0], back);
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) errx(1, "not delivered: %d", status);
        if (write(connection, "done", 4) != 4) err(1, "write");
    }
    while (wait(NULL) > 0) {}
    return 0;
}
