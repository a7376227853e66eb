/* Forks argv[2] children one after another, each of which performs argv[1] and ends; prints the
 * median time of one, from before the fork until it is waited for, in microseconds.
 *
 *   nothing, socket, chroot, unshare, exec
 *   seccomp           a filter that allows everything
 *   no-files          a filter that kills processes that open a file
 *   sandbox           a filter like sshd's, that allows only the few calls that the child needs
 *   refused           a filter that is longer than the kernel accepts
 *   landlock          no file can be created or written
 *   chroot-seccomp, chroot-no-files, chroot-sandbox   both */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ON(number, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, what)
#define KILL(number) ON(number, SECCOMP_RET_KILL_PROCESS)
#define ALLOW(number) ON(number, SECCOMP_RET_ALLOW)

static void filter(const char *way) {
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_filter files[] = {
        NUMBER, KILL(SYS_openat), KILL(SYS_fallocate), KILL(SYS_clone), KILL(SYS_execve),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter few[] = {
        NUMBER, ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_recvfrom), ALLOW(SYS_sendto), ALLOW(SYS_ppoll), ALLOW(SYS_brk),
        ALLOW(SYS_munmap), ALLOW(SYS_madvise), ALLOW(SYS_clock_gettime), ALLOW(SYS_getpid), ALLOW(SYS_close),
        ALLOW(SYS_exit_group), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof all / sizeof *all, all};
    if (strstr(way, "no-files")) program = (struct sock_fprog){sizeof files / sizeof *files, files};
    if (strstr(way, "sandbox")) program = (struct sock_fprog){sizeof few / sizeof *few, few};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(3);
}

static void be_refused(void) {
    static struct sock_filter all[5000];
    struct sock_fprog program = {sizeof all / sizeof *all, all};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != -1) _exit(3);
}

static void landlock(void) {
    unsigned long long handled = (1 << 13) - 1; /* All rights on files of its first version. */
    int rules = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(3);
    if (syscall(SYS_landlock_restrict_self, rules, 0) != 0) _exit(3);
}

static void child(const char *way) {
    if (!strcmp(way, "exec")) execl("/bin/true", "true", NULL);
    if (!strcmp(way, "unshare") && unshare(CLONE_NEWNS) != 0) _exit(3);
    if (!strncmp(way, "chroot", 6) && (chroot("/var/empty") != 0 && chroot("/usr") != 0)) _exit(3);
    if (strstr(way, "seccomp") || strstr(way, "no-files") || strstr(way, "sandbox")) filter(way);
    if (!strcmp(way, "refused")) be_refused();
    if (!strcmp(way, "landlock")) landlock();
    if (!strcmp(way, "socket")) {
        int ends[2];
        char byte = 0;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || send(ends[0], &byte, 1, 0) != 1) _exit(3);
        if (recv(ends[1], &byte, 1, 0) != 1) _exit(3);
    }
    _exit(0);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int rounds = atoi(arguments[2]);
    double *times = calloc(rounds, sizeof *times);
    for (int i = 0; i < rounds; i++) {
        struct timespec begin, end;
        int status;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        pid_t pid = fork();
        if (pid == 0) child(arguments[1]);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) return 4;
        clock_gettime(CLOCK_MONOTONIC, &end);
        times[i] = (end.tv_sec - begin.tv_sec) * 1e6 + (end.tv_nsec - begin.tv_nsec) / 1e3;
    }
    qsort(times, rounds, sizeof *times, compare);
    printf("%.1f\n", times[rounds / 2]);
    return 0;
}
