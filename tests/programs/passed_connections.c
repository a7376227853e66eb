// A server that gives each of its two connections to a child in another network namespace: the
// first is inherited, the second is passed over a socket pair. The parent is its client.
#define _GNU_SOURCE
#include <assert.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Like fork, but the child is in another namespace from the beginning.
static pid_t fork_apart(void) {
    pid_t child = syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);
    assert(child != -1);
    return child;
}

static void serve(int fd) {
    char buffer[16];
    ssize_t size = recv(fd, buffer, sizeof buffer, 0);
    assert(size > 0 && send(fd, buffer, size, 0) == size);
    _exit(0);
}

static void ask(int fd, const char *text) {
    char buffer[16];
    int status;
    ssize_t size = strlen(text);
    assert(send(fd, text, size, 0) == size && recv(fd, buffer, sizeof buffer, 0) == size);
    assert(wait(&status) > 0 && status == 0);
}

// Passes the descriptor, or receives one if it is -1.
static int pass(int over, int fd) {
    char byte = 'x', room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (fd == -1) {
        assert(recvmsg(over, &message, 0) == 1);
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
        return fd;
    }
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    assert(sendmsg(over, &message, 0) == 1);
    return fd;
}

int main(void) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int listener = socket(AF_INET, SOCK_STREAM, 0), pair[2];
    assert(bind(listener, (struct sockaddr *)&name, length) == 0 && listen(listener, 2) == 0);
    assert(getsockname(listener, (struct sockaddr *)&name, &length) == 0);

    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(client, (struct sockaddr *)&name, length) == 0);
    int accepted = accept(listener, 0, 0);
    if (fork_apart() == 0) {
        serve(accepted);
    }
    ask(client, "inherited");

    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    if (fork_apart() == 0) {
        serve(pass(pair[1], -1));
    }
    client = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(client, (struct sockaddr *)&name, length) == 0);
    pass(pair[0], accept(listener, 0, 0));
    ask(client, "passed on");
    return 0;
}
