// Makes children with _Fork and with a raw clone; each sends on the inherited socket. A vfork child
// swaps descriptors, which must not affect its parent's.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int pair[2], status;
    char buffer[16];
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    assert(send(pair[0], "p", 1, 0) == 1 && recv(pair[1], buffer, 16, 0) == 1);

    pid_t child = _Fork();
    if (child == 0) {
        send(pair[0], "cc", 2, 0);
        _exit(0);
    }
    assert(waitpid(child, &status, 0) == child && recv(pair[1], buffer, 16, 0) == 2);

    child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        send(pair[0], "ccc", 3, 0);
        _exit(0);
    }
    assert(waitpid(child, &status, 0) == child && recv(pair[1], buffer, 16, 0) == 3);

    int null = open("/dev/null", O_RDWR);
    child = vfork();
    if (child == 0) {
        write(pair[0], "by a vfork child", 16);
        dup2(null, pair[0]);
        close(pair[1]);
        close_range(3, ~0U, 0);
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
    assert(recv(pair[1], buffer, 16, 0) == 16);
    assert(send(pair[0], "pppp", 4, 0) == 4 && recv(pair[1], buffer, 16, 0) == 4);
    return 0;
}
