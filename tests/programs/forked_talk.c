/* Talks with a child over a socket pair: two messages in each direction, each sent and received.
 * With the argument "confined" both first forbid themselves to read a thread's id. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void confine(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        perror("prctl"), _exit(1);
}

/* Sends and receives twice, alternating with the other end. */
static int talk(int fd, int begins) {
    char buffer[64];
    for (int turn = 0; turn < 4; turn++)
        if ((turn + begins) % 2 ? write(fd, "message", 7) != 7 : read(fd, buffer, sizeof buffer) != 7)
            return 1;
    return 0;
}

int main(int count, char **arguments) {
    int pair[2];
    if (count > 1 && !strcmp(arguments[1], "confined"))
        confine();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return perror("socketpair"), 1;
    pid_t child = fork();
    int status = talk(pair[child == 0], child != 0), of_child = 0;
    if (child > 0)
        waitpid(child, &of_child, 0);
    return status || of_child;
}
