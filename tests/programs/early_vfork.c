// Makes a vfork child first of all. The child sends on the socket which both inherit as their
// input, and replaces it with a file. Then the parent sends on the socket itself.
#include <assert.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int status, ends[2];
    if (count == 1) {
        assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        assert(dup2(ends[0], 0) == 0);
        execl(arguments[0], arguments[0], "again", (char *)0);
    }
    pid_t child = vfork();
    if (child == 0) {
        if (send(0, "by a child", 10, 0) != 10) _exit(3);
        dup2(open("/dev/null", O_RDWR), 0);
        if (write(0, "", 1) != 1) _exit(4);
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
    assert(send(0, "own", 3, 0) == 3);
    return 0;
}
