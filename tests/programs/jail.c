/* A server that restricts itself as argv[1] names, and then forks a worker for each of argv[2]
 * connections. Each worker responds to argv[3] messages and prints its pid and how many it received
 * and sent; so does the server at the end.
 *
 *   chroot, chroot-syscall, pivot_root, user, capabilities, mounts   it can no longer reach its log
 *   files      a filter kills it if it opens or maps a file
 *   strict     a filter kills it for all calls but the ones that it makes itself
 *   chroot-strict   both
 *   landlock   it may no longer create and write files
 *   landlock-strict   both */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { perror(#what); exit(3); } } while (0)
#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (n))
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void filter(const char *way) {
    struct sock_filter files[] = {
        NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1), KILL,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1), KILL,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
        /* The descriptor; -1 is anonymous memory. */
        ARGUMENT(4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0), KILL,
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter strict[] = {
        NUMBER,
        ALLOW(SYS_sendto), ALLOW(SYS_recvfrom), ALLOW(SYS_write), ALLOW(SYS_accept), ALLOW(SYS_close), ALLOW(SYS_clone),
        ALLOW(SYS_set_robust_list), ALLOW(SYS_wait4), ALLOW(SYS_exit_group),
        KILL,
    };
    struct sock_fprog program = {sizeof files / sizeof *files, files};
    if (strstr(way, "strict")) program = (struct sock_fprog){sizeof strict / sizeof *strict, strict};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void confine(const char *way) {
    if (!strcmp(way, "capabilities")) {
        /* The capabilities to become another user, but not to give a file away or to open files of
         * others. */
        struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
        struct __user_cap_data_struct rights[2] = {{0}};
        rights[0].effective = rights[0].permitted = 1 << CAP_SETUID | 1 << CAP_SETGID;
        CHECK(syscall(SYS_capset, &header, rights) == 0);
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    } else if (!strcmp(way, "user")) {
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    } else if (!strcmp(way, "pivot_root")) {
        CHECK(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
        CHECK(mount("none", "cell", "tmpfs", 0, NULL) == 0 && mkdir("cell/old", 0700) == 0);
        CHECK(syscall(SYS_pivot_root, "cell", "cell/old") == 0 && chdir("/") == 0 && umount2("old", MNT_DETACH) == 0);
    } else if (!strcmp(way, "mounts")) {
        char path[4096];
        CHECK(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
        CHECK(getcwd(path, sizeof path) && mount("none", path, "tmpfs", 0, NULL) == 0);
    } else if (!strcmp(way, "chroot-syscall")) {
        CHECK(syscall(SYS_chroot, "cell") == 0 && chdir("/") == 0);
    } else if (!strncmp(way, "landlock", 8)) {
        unsigned long long handled = (1 << 13) - 1; /* All rights on files of its first version. */
        int rules = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
        CHECK(rules >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(syscall(SYS_landlock_restrict_self, rules, 0) == 0 && close(rules) == 0);
    } else if (!strncmp(way, "chroot", 6)) {
        CHECK(chroot("cell") == 0 && chdir("/") == 0);
    }
    if (!strcmp(way, "files") || strstr(way, "strict")) filter(way);
}

/* printf may query its file in a way that a filter forbids. */
static void print(const char *who, int pid, int received, int sent) {
    char line[100];
    int length = snprintf(line, sizeof line, "%s %d %d %d\n", who, pid, received, sent);
    if (write(1, line, length) != length) _exit(8);
}

static void client(int port, int connections, int messages) {
    for (int i = 0; i < connections; i++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        char buffer[200];
        int fd = socket(AF_INET, SOCK_STREAM, 0), pid;
        CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
        for (int n = 0; n < messages; n++) {
            CHECK(send(fd, buffer, 100, 0) == 100);
            CHECK(recv(fd, buffer, 200, MSG_WAITALL) == 200);
        }
        close(fd);
        (void)pid;
    }
    exit(0);
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    int connections = atoi(arguments[2]), messages = atoi(arguments[3]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char buffer[200] = "";
    int listener = socket(AF_INET, SOCK_STREAM, 0), total = 0;
    CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 100) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    CHECK(mkdir("cell", 0755) == 0);
    if (fork() == 0) client(address.sin_port, connections, messages);
    int own = getpid();
    confine(arguments[1]);
    for (int i = 0; i < connections; i++) {
        length = sizeof address;
        int fd = accept(listener, (struct sockaddr *)&address, &length), sent = 0, received = 0;
        CHECK(fd >= 0);
        int pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            while (recv(fd, buffer, 100, MSG_WAITALL) == 100) {
                received++;
                if (send(fd, buffer, 200, 0) != 200) _exit(7);
                sent++;
            }
            print("worker", i, received, sent);
            _exit(0);
        }
        print("pid", i, pid, 0);
        close(fd);
        total++;
    }
    for (int i = 0; i <= connections; i++) {
        int status;
        CHECK(wait4(-1, &status, 0, NULL) > 0 && status == 0);
    }
    print("server", own, total, 0);
    _exit(0);
}
