/* Allows the program that it executes (itself, with the argument to work) a short list of system
 * calls; any other kills it. That program reports what it has sent over a socket pair. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int allowed[] = {
    SYS_execve, SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_openat, SYS_read, SYS_pread64,
    SYS_write, SYS_close, SYS_fstat, SYS_newfstatat, SYS_access, SYS_faccessat, SYS_arch_prctl,
    SYS_set_tid_address, SYS_set_robust_list, SYS_rseq, SYS_prlimit64, SYS_getrandom,
    SYS_readlink, SYS_exit_group, SYS_socketpair, SYS_sendto, SYS_recvfrom, SYS_rt_sigreturn,
};
#define COUNT (sizeof allowed / sizeof *allowed)

static int work(void)
{
    int pair[2], sent = 0;
    char bytes[100];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 2;
    for (int turn = 0; turn < 10; turn++) {
        sent += send(pair[0], "hello", 5, 0);
        if (recv(pair[1], bytes, sizeof bytes, 0) != 5)
            return 3;
    }
    int length = snprintf(bytes, sizeof bytes, "sent %d\n", sent);
    return write(1, bytes, length) != length;
}

int main(int count, char **words)
{
    if (count > 1 && !strcmp(words[1], "work"))
        return work();
    /* A connection of its own, so that it has a log. */
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || write(pair[0], "x", 1) != 1)
        return 4;
    struct sock_filter filter[COUNT + 3];
    filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
    for (size_t at = 0; at < COUNT; at++)
        filter[at + 1] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[at], COUNT - at, 0);
    filter[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {COUNT + 3, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
        return 5;
    execl(words[1], words[1], "work", (char *)0);
    return 6;
}
