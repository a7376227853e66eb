// A conversation over TCP, datagrams, a child and a thread, without functions that only one libc
// has.
#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2];

static void *work(void *argument) {
    assert(send(pair[0], "thread", 6, 0) == 6);
    return argument;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char buffer[100];
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
    assert(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    assert(connect(client, (struct sockaddr *)&address, length) == 0);
    int server = accept(listener, NULL, NULL);
    assert(write(client, "question", 8) == 8 && read(server, buffer, sizeof buffer) == 8);
    pid_t child = fork();
    if (child == 0) {
        assert(send(server, "the answer", 10, 0) == 10);
        _exit(0);
    }
    assert(waitpid(child, NULL, 0) == child && recv(client, buffer, sizeof buffer, 0) == 10);
    int from = socket(AF_INET, SOCK_DGRAM, 0), to = socket(AF_INET, SOCK_DGRAM, 0);
    address.sin_port = 0;
    assert(bind(to, (struct sockaddr *)&address, sizeof address) == 0);
    assert(getsockname(to, (struct sockaddr *)&address, &length) == 0);
    assert(sendto(from, "datagram", 8, 0, (struct sockaddr *)&address, length) == 8);
    assert(recvfrom(to, buffer, sizeof buffer, 0, NULL, NULL) == 8 && !memcmp(buffer, "datagram", 8));
    pthread_t thread;
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    assert(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    struct pollfd ready = {.fd = pair[1], .events = POLLIN};
    assert(poll(&ready, 1, 1000) == 1 && recv(pair[1], buffer, sizeof buffer, 0) == 6);
    char *nothing[] = {NULL}, *arguments[] = {"true", NULL};
    puts("unharmed");
    fflush(stdout);
    return execve("/bin/true", arguments, nothing);
}
