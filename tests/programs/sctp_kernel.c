// Stand-in for a kernel with SCTP: runs a program whose one-to-one SCTP sockets are TCP sockets
// that the kernel reports as SCTP. This process answers the program's system calls (user
// notification of seccomp), below all libraries of the program: `socket` for SCTP gets a TCP socket
// with a mark, which accepted sockets inherit, and `getsockopt` reports the protocol of marked
// sockets as SCTP. Where the kernel has SCTP itself, the program runs on it. Requires root, for the
// mark. Programs of one thread only, since a process is found by the id of the calling thread.
//
// usage: sctp_kernel PROGRAM [ARGUMENT...]
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)

// Only numbers below 2^32 are compared, so that the lower half of an argument is enough.
static struct sock_filter filter[] = {
    LOAD(nr), SKIP_UNLESS(SYS_socket, 4),
    LOAD(args[2]), SKIP_UNLESS(IPPROTO_SCTP, 1), RETURN(SECCOMP_RET_USER_NOTIF),
    RETURN(SECCOMP_RET_ALLOW),
    SKIP_UNLESS(SYS_getsockopt, 7),
    LOAD(args[1]), SKIP_UNLESS(IPPROTO_TCP, 1), RETURN(SECCOMP_RET_USER_NOTIF),
    SKIP_UNLESS(SOL_SOCKET, 3),
    LOAD(args[2]), SKIP_UNLESS(SO_PROTOCOL, 1), RETURN(SECCOMP_RET_USER_NOTIF),
    RETURN(SECCOMP_RET_ALLOW),
};

// Gives the caller of `socket` its new descriptor; returns an error number, or 0 after success.
static int give_socket(int listener, const struct seccomp_notif *call) {
    int type = call->data.args[1], mark = IPPROTO_SCTP;
    int made = socket(call->data.args[0], type, 0);
    if (made < 0) return errno;
    struct seccomp_notif_addfd give = {
        .id = call->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = made,
        .newfd_flags = type & SOCK_CLOEXEC ? O_CLOEXEC : 0,
    };
    int failed = setsockopt(made, SOL_SOCKET, SO_MARK, &mark, sizeof mark)
        || ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give) < 0;
    int why = failed ? errno : 0;
    close(made);
    return why;
}

// Whether descriptor `fd` of the process is a socket of SCTP.
static int is_sctp(int process, int fd) {
    int handle = syscall(SYS_pidfd_open, process, 0), mark = 0;
    int copy = syscall(SYS_pidfd_getfd, handle, fd, 0);
    socklen_t length = sizeof mark;
    int asked = getsockopt(copy, SOL_SOCKET, SO_MARK, &mark, &length);
    close(copy);
    close(handle);
    return !asked && mark == IPPROTO_SCTP;
}

// Answers a call of the program.
static void answer(int listener, const struct seccomp_notif *call) {
    struct seccomp_notif_resp response = {.id = call->id};
    const __u64 *arguments = call->data.args;
    if (call->data.nr == SYS_socket) {
        if (!(response.error = -give_socket(listener, call))) return;
    } else if (!is_sctp(call->pid, arguments[0])) {
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else if (arguments[1] == IPPROTO_TCP) {
        response.error = -ENOPROTOOPT;
    } else {
        int protocol = IPPROTO_SCTP;
        socklen_t length = sizeof protocol;
        struct iovec own[] = {{&protocol, sizeof protocol}, {&length, sizeof length}};
        struct iovec theirs[] = {
            {(void *)arguments[3], sizeof protocol}, {(void *)arguments[4], sizeof length},
        };
        ssize_t written = process_vm_writev(call->pid, own, 2, theirs, 2, 0);
        response.error = written == sizeof protocol + sizeof length ? 0 : -EFAULT;
    }
    // A caller that was killed meanwhile needs no answer.
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static int fail(const char *what) {
    perror(what);
    return 125;
}

int main(int count, char **arguments) {
    int pair[2], number, status;
    if (count < 2) return 2;
    int present = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SCTP);
    if (present >= 0) return execvp(arguments[1], arguments + 1), fail(arguments[1]);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) return fail("socketpair");
    int child = fork();
    if (child == 0) {
        struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
        unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
        number = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        if (number < 0) return fail("seccomp");
        // The other process copies the listener before `execvp` closes it.
        if (write(pair[1], &number, sizeof number) < 0 || read(pair[1], &number, sizeof number) < 0)
            return fail("the child");
        return execvp(arguments[1], arguments + 1), fail(arguments[1]);
    }
    close(pair[1]);
    if (child < 0 || read(pair[0], &number, sizeof number) != sizeof number) return fail("fork");
    int listener = syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, child, 0), number, 0);
    if (listener < 0 || write(pair[0], &number, sizeof number) < 0) return fail("pidfd_getfd");
    // The listener hangs up when the last process with the filter has ended.
    struct pollfd waits = {listener, POLLIN, 0};
    while (poll(&waits, 1, -1) > 0 && !(waits.revents & POLLHUP)) {
        struct seccomp_notif call = {0};
        if (!ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call)) answer(listener, &call);
    }
    if (waitpid(child, &status, 0) != child) return fail("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
