/* Makes a child when no descriptor is left, so that its log cannot be created. The child sends
 * much, then has descriptors again, and sends more. */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int move(int *pair, const char *data, size_t size) {
    char bytes[8];
    for (int n = 0; n < 10000; n++) {
        if (write(pair[0], data, size) != (ssize_t)size || read(pair[1], bytes, sizeof bytes) != (ssize_t)size) return 0;
    }
    return 1;
}

int main(void) {
    int pair[2], descriptors[64], count = 0, status;
    struct rlimit limit = {64, 64};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || setrlimit(RLIMIT_NOFILE, &limit)) return 1;
    while ((descriptors[count] = dup(0)) >= 0) count++;
    pid_t child = fork();
    if (child == 0) {
        if (!move(pair, "x", 1)) _exit(1);
        while (count > 0) close(descriptors[--count]);
        _exit(!move(pair, "xx", 2));
    }
    if (waitpid(child, &status, 0) != child || status) return 1;
    while (count > 0) close(descriptors[--count]);
    return write(1, "unharmed\n", 9) != 9;
}
