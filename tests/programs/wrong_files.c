/* Passes invalid addresses to libc's files, its resolver and the calls that make descriptors, each
 * in a separate child, and prints the outcome: a result and an error, or the fatal signal. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pty.h>
#include <resolv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

/* Hidden from the compiler. */
static void *volatile wrong = (void *)16;

/* Memory that can be read but not written. */
static char constant[] __attribute__((section(".rodata"))) = "constant";

static long attempt(int number, int stream, int datagram) {
    struct hostent host, *found;
    struct addrinfo *list;
    unsigned char answer[64];
    char text[64];
    int error, one;
    switch (number) {
    case 0: return pipe(wrong);
    case 1: return pipe2(wrong, 0);
    case 2: return pipe((int *)constant);
    case 3: return syscall(SYS_pipe2, wrong, 0);
    case 4: return open(wrong, O_RDONLY);
    case 5: return openat(AT_FDCWD, wrong, O_RDONLY);
    case 6: return creat(wrong, 0600);
    case 7: return memfd_create(wrong, 0);
    case 8: return signalfd(-1, wrong, 0);
    case 9: return mkstemp(wrong);
    case 10: return openpty(wrong, &one, NULL, NULL, NULL);
    case 11: return openpty(&one, wrong, NULL, NULL, NULL);
    case 12: return socketpair(AF_UNIX, SOCK_STREAM, 0, wrong);
    case 13: return fopen(wrong, "r") ? 0 : -1;
    case 14: return fopen("/dev/null", wrong) ? 0 : -1;
    case 15: return fdopen(stream, wrong) ? 0 : -1;
    case 16: return fdopen(datagram, wrong) ? 0 : -1;
    case 17: return fclose(NULL);
    case 18: return fclose(wrong);
    case 19: return freopen(wrong, "r", stdin) ? 0 : -1;
    case 20: return freopen("/dev/null", "r", NULL) ? 0 : -1;
    case 21: return freopen("/dev/null", "r", wrong) ? 0 : -1;
    case 22: return popen(wrong, "r") ? 0 : -1;
    case 23: return popen("true", wrong) ? 0 : -1;
    case 24: return pclose(NULL);
    case 25: return pclose(wrong);
    case 26: return dprintf(stream, wrong);
    case 27: return dprintf(datagram, wrong);
    case 28: return dprintf(stream, "%s", (char *)wrong);
    case 29: return dprintf(datagram, "%s", (char *)wrong);
    case 30: syslog(LOG_INFO, wrong); return 0;
    case 31: syslog(LOG_INFO, "%s", (char *)wrong); return 0;
    case 32: return getaddrinfo(wrong, NULL, NULL, &list);
    case 33: return getaddrinfo("127.0.0.1", wrong, NULL, &list);
    case 34: return getaddrinfo("127.0.0.1", NULL, wrong, &list);
    case 35: return getaddrinfo("127.0.0.1", NULL, NULL, wrong);
    case 36: return getnameinfo(wrong, 16, text, sizeof text, NULL, 0, NI_NUMERICHOST);
    case 37: return gethostbyname(wrong) ? 0 : -1;
    case 38: return gethostbyname_r("127.0.0.1", wrong, text, sizeof text, &found, &error);
    case 39: return gethostbyname_r("127.0.0.1", &host, wrong, 64, &found, &error);
    case 40: return gethostbyname_r("127.0.0.1", &host, text, sizeof text, wrong, &error);
    case 41: return gethostbyaddr(wrong, 4, AF_INET) ? 0 : -1;
    case 42: return res_query(wrong, 1, 1, answer, sizeof answer);
    case 43: return res_search(wrong, 1, 1, answer, sizeof answer);
    default: exit(99);
    }
}

int main(void) {
    struct rlimit none = {0, 0};
    int stream[2], datagram[2];
    setrlimit(RLIMIT_CORE, &none);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, stream) || socketpair(AF_UNIX, SOCK_DGRAM, 0, datagram)) return 1;
    for (int number = 0;; number++) {
        int status;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            if (send(stream[0], "before", 6, 0) != 6) _exit(98);
            errno = 0;
            long result = attempt(number, stream[0], datagram[0]);
            printf("%d: %ld %s\n", number, result, strerror(errno));
            fflush(stdout);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) return 2;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 99) break;
        if (WIFSIGNALED(status)) printf("%d: ended by %s\n", number, strsignal(WTERMSIG(status)));
        if (WIFEXITED(status) && WEXITSTATUS(status)) printf("%d: exit %d\n", number, WEXITSTATUS(status));
    }
    return 0;
}
