/* Prints for each of many calls how much stack it used, including all called code: on a separate
 * stack that is painted before. Each is made often enough for the log to need new room. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define SIZE (256 * 1024)
#define TIMES 3000
#define CHECK(what) do { if (!(what)) { perror(#what); exit(3); } } while (0)

static char *stack;
static ucontext_t here, there;
static int stream[2], datagram[2], file, listener;
static struct sockaddr_in address;
static char buffer[4096];
static struct iovec vector = {buffer, 64};
static struct mmsghdr messages[4];
static char *const command[] = {"true", NULL};
static char *const empty[] = {NULL};

static void reset(int fd) {
    /* Unread data there is of no use. */
    while (recv(fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0) {}
}
static void nothing(void) {}
static void files(void) { for (int n = 0; n < TIMES; n++) CHECK(write(file, buffer, 64) == 64 && pread(file, buffer, 64, 0) == 64); }
static void streams(void) {
    for (int n = 0; n < TIMES; n++) CHECK(send(stream[0], buffer, 64, 0) == 64 && recv(stream[1], buffer, 64, 0) == 64);
}
static void vectors(void) {
    for (int n = 0; n < TIMES; n++) CHECK(writev(stream[0], &vector, 1) == 64 && readv(stream[1], &vector, 1) == 64);
}
static void stream_messages(void) {
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    for (int n = 0; n < TIMES; n++) CHECK(sendmsg(stream[0], &message, 0) == 64 && recvmsg(stream[1], &message, 0) == 64);
}
static void datagrams(void) {
    for (int n = 0; n < TIMES; n++) CHECK(send(datagram[0], buffer, 64, 0) == 64 && recv(datagram[1], buffer, 64, 0) == 64);
}
static void datagram_messages(void) {
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    for (int n = 0; n < TIMES; n++) CHECK(sendmsg(datagram[0], &message, 0) == 64 && recvmsg(datagram[1], &message, 0) == 64);
}
static void batches(void) {
    for (int n = 0; n < TIMES; n++)
        CHECK(sendmmsg(datagram[0], messages, 4, 0) == 4 && recvmmsg(datagram[1], messages, 4, 0, NULL) == 4);
}
static void peeks(void) {
    CHECK(send(datagram[0], buffer, 64, 0) == 64);
    for (int n = 0; n < TIMES; n++) CHECK(recvfrom(datagram[1], buffer, 10, MSG_PEEK, NULL, NULL) == 10);
    reset(datagram[1]);
}
static void numbered(void) {
    for (int n = 0; n < TIMES; n++)
        CHECK(syscall(SYS_sendto, stream[0], buffer, 64, 0, NULL, 0) == 64
              && syscall(SYS_recvfrom, stream[1], buffer, 64, 0, NULL, NULL) == 64);
}
static void lives(void) {
    for (int n = 0; n < TIMES; n++) {
        int client = socket(AF_INET, SOCK_STREAM, 0), accepted;
        CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
        CHECK((accepted = accept4(listener, NULL, NULL, 0)) >= 0);
        CHECK(write(client, buffer, 1) == 1 && read(accepted, buffer, 1) == 1 && shutdown(client, SHUT_WR) == 0);
        CHECK(read(accepted, buffer, 1) == 0 && dup2(client, 100) == 100);
        CHECK(close_range(100, 100, 0) == 0 && close(client) == 0 && close(accepted) == 0);
    }
}
static void binds(void) {
    for (int n = 0; n < TIMES; n++) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(bind(fd, (struct sockaddr *)&name, sizeof name.sun_family) == 0 && listen(fd, 1) == 0 && close(fd) == 0);
    }
}
static void passes(void) {
    for (int n = 0; n < TIMES; n++) {
        union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
        struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        int fd;
        *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(header), &stream[0], sizeof fd);
        CHECK(sendmsg(stream[0], &message, 0) == 64 && recvmsg(stream[1], &message, 0) == 64);
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
        CHECK(send(fd, buffer, 64, 0) == 64 && recv(stream[1], buffer, 64, 0) == 64 && close(fd) == 0);
        /* So that each of the calls above is the one that needs new room, in some round. */
        for (int more = n % 11; more > 0; more--)
            CHECK(send(stream[0], buffer, 64, 0) == 64 && recv(stream[1], buffer, 64, 0) == 64);
    }
}
static void waits(void) {
    struct pollfd one = {.fd = stream[0], .events = POLLOUT};
    for (int n = 0; n < TIMES; n++) CHECK(poll(&one, 1, -1) == 1);
}
static void hand_offs(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    static sem_t semaphore;
    for (int n = 0; n < TIMES; n++) {
        CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_cond_signal(&condition) == 0);
        CHECK(pthread_mutex_unlock(&mutex) == 0 && sem_post(&semaphore) == 0 && sem_wait(&semaphore) == 0);
    }
}
static void counters(void) {
    for (int n = 0; n < TIMES; n++) {
        int fd = eventfd(0, 0), ends[2];
        CHECK(write(fd, "12345678", 8) == 8 && read(fd, buffer, 8) == 8 && close(fd) == 0);
        CHECK(pipe(ends) == 0 && write(ends[1], buffer, 8) == 8 && read(ends[0], buffer, 8) == 8);
        CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    }
}
static void fails(void) {
    for (int n = 0; n < TIMES; n++) CHECK(send(99, buffer, 1, 0) < 0 && read(stream[1], NULL, 0) <= 0);
}
static void forks(void) {
    for (int n = 0; n < 20; n++) {
        int pid = fork(), status;
        if (pid == 0) {
            streams();
            _exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
}
static void spawns(void) {
    for (int n = 0; n < 3; n++) {
        pid_t pid;
        CHECK(posix_spawn(&pid, "/bin/true", NULL, NULL, command, empty) == 0 && waitpid(pid, NULL, 0) == pid);
    }
}
static void confined(void) {
    /* The last one, since nothing leads back. */
    CHECK(chroot("/") == 0 && setuid(65534) == 0);
    streams();
}

static const struct { const char *name; void (*make)(void); } calls[] = {
    {"nothing", nothing}, {"files", files}, {"streams", streams}, {"vectors", vectors}, {"stream_messages", stream_messages},
    {"datagrams", datagrams}, {"datagram_messages", datagram_messages}, {"batches", batches}, {"peeks", peeks},
    {"numbered", numbered}, {"lives", lives}, {"binds", binds}, {"passes", passes}, {"waits", waits}, {"fails", fails},
    {"hand_offs", hand_offs}, {"counters", counters},
    {"forks", forks}, {"spawns", spawns}, {"confined", confined},
};

int main(void) {
    socklen_t length = sizeof address;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, stream) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, datagram) == 0);
    CHECK((file = open("/dev/zero", O_RDWR)) >= 0 && (listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 10) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    for (int n = 0; n < 4; n++) messages[n].msg_hdr = (struct msghdr){.msg_iov = &vector, .msg_iovlen = 1};
    stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    for (size_t n = 0; n < sizeof calls / sizeof *calls; n++) {
        memset(stack, 0x5a, SIZE);
        CHECK(getcontext(&there) == 0);
        there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = SIZE};
        there.uc_link = &here;
        makecontext(&there, calls[n].make, 0);
        CHECK(swapcontext(&here, &there) == 0);
        size_t low = 0;
        while (low < SIZE && stack[low] == 0x5a) low++;
        printf("%s %zu\n", calls[n].name, SIZE - low);
    }
    return 0;
}
