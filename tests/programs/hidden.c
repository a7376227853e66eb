// Calls with data that libc moves internally, and unusual ways to make threads and processes. Each
// checks its result and prints "right".
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <pty.h>
#include <resolv.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

extern int __dprintf_chk(int, int, const char *, ...);
extern void __syslog_chk(int, int, const char *, ...);

static int ends[2];

static void check(int right, const char *what) {
    if (!right) {
        printf("wrong: %s\n", what);
        exit(1);
    }
}

static void say(size_t size) {
    char text[100] = {0};
    check(send(ends[0], text, size, 0) == (ssize_t)size, "send");
    check(recv(ends[1], text, sizeof text, 0) == (ssize_t)size, "recv");
}

static int print_list(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vdprintf(ends[0], format, list);
    va_end(list);
    return result;
}

#define FORMAT "%d %s %.3f %ld %c %g %f %d %d %d %s %.1f %.1f %.1f %.1f %.1f %.1f %.1f %Lg\n"
#define VALUES 1, "two", 3.0, 4L, '5', 6.5, 7.25, 8, 9, 10, "eleven", 1.1, 2.2, 3.3, 4.4, 5.5, 6.6, 7.7, 1.5L

static void print(void) {
    char expected[300], got[300];
    int size = snprintf(expected, sizeof expected, FORMAT, VALUES);
    for (int way = 0; way < 3; way++) {
        int result = way == 0   ? dprintf(ends[0], FORMAT, VALUES)
                     : way == 1 ? __dprintf_chk(ends[0], 1, FORMAT, VALUES)
                                : print_list(FORMAT, VALUES);
        check(result == size, "size");
        check(recv(ends[1], got, sizeof got, 0) == size && !memcmp(got, expected, size), "text");
    }
    check(dprintf(ends[0], "no arguments") == 12 && recv(ends[1], got, sizeof got, 0) == 12, "plain");
}

static void resolve(void) {
    struct addrinfo *found, hints = {.ai_family = AF_INET};
    check(getaddrinfo("localhost", "80", &hints, &found) == 0, "getaddrinfo");
    char name[100];
    check(getnameinfo(found->ai_addr, found->ai_addrlen, name, sizeof name, 0, 0, NI_NUMERICHOST) == 0, "name");
    check(!strcmp(name, "127.0.0.1"), name);
    hints.ai_flags = AI_NUMERICHOST;
    check(getaddrinfo("not numeric", 0, &hints, &found) == EAI_NONAME, "an error");
    check(gethostbyname("127.0.0.1") != 0, "gethostbyname");
    struct hostent entry, *result;
    int error;
    check(gethostbyname_r("127.0.0.1", &entry, name, sizeof name, &result, &error) == 0, "gethostbyname_r");
    // A name server that does not exist.
    struct sockaddr_in none = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(1)};
    unsigned char answer[512];
    res_init();
    _res.nscount = 1, _res.nsaddr_list[0] = none, _res.retry = 1, _res.retrans = 1;
    check(res_query("name.example", C_IN, T_A, answer, sizeof answer) == -1, "res_query");
}

static void files(void) {
    int number = ends[0];
    FILE *file = fdopen(number, "w");
    fputs("out of sight", file);
    check(fclose(file) == 0, "fclose");
    // The number now belongs to another socket, which was made and closed invisibly as well.
    check(dup(ends[1]) == number, "the same number");
    FILE *pipe = popen("echo from a child", "r");
    char line[100];
    check(pipe && fgets(line, sizeof line, pipe) && !strcmp(line, "from a child\n"), "popen");
    check(pclose(pipe) == 0, "pclose");
    syslog(LOG_DEBUG, "%d %s %f", 1, "two", 3.0);
    __syslog_chk(LOG_DEBUG, 1, "%d %s %f", 1, "two", 3.0);
}

static void *speak(void *size) {
    say((size_t)size);
    return size;
}

static void threads(void) {
    for (size_t size = 1; size <= 50; size++) {
        pthread_t thread;
        void *result;
        check(pthread_create(&thread, 0, speak, (void *)size) == 0, "pthread_create");
        pthread_join(thread, &result);
        check(result == (void *)size, "its result");
    }
    // Many threads without calls.
    pthread_t many[200];
    for (int n = 0; n < 200; n++) check(pthread_create(&many[n], 0, (void *(*)(void *))getenv, "HOME") == 0, "one of many");
    for (int n = 0; n < 200; n++) {
        void *result;
        pthread_join(many[n], &result);
        check(result == getenv("HOME"), "the result of one of many");
    }
}

static int in_clone(void *size) {
    say((size_t)size);
    _exit(0);
}

static void processes(void) {
    static char stack[1 << 17] __attribute__((aligned(16)));
    int status;
    say(1);
    int child = clone(in_clone, stack + sizeof stack, SIGCHLD, (void *)2);
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "clone");
    child = clone(in_clone, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)3);
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "clone as vfork");
    int terminal;
    child = forkpty(&terminal, 0, 0, 0);
    if (child == 0) in_clone((void *)4);
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "forkpty");
    say(5);
    int done[2];
    check(pipe(done) == 0, "pipe");
    child = fork();
    if (child == 0) {
        check(daemon(1, 1) == 0, "daemon");
        say(6);
        check(write(done[1], "!", 1) == 1, "write");
        _exit(0);
    }
    char byte;
    check(waitpid(child, &status, 0) == child && read(done[0], &byte, 1) == 1, "its end");
}

static void deepbind(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
    check(library != 0, "dlopen");
    ssize_t (*say_it)(int) = (ssize_t(*)(int))dlsym(library, "say_it");
    check(say_it(ends[0]) == 5, "a send from the library");
    check(dlopen("/nonexistent", RTLD_NOW) == 0 && strstr(dlerror(), "nonexistent"), "an error of dlopen");
}

int main(int count, char **arguments) {
    check(dlerror() == 0, "an error before there was any");
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    if (!strcmp(arguments[1], "print")) print();
    if (!strcmp(arguments[1], "resolve")) resolve();
    if (!strcmp(arguments[1], "files")) files();
    if (!strcmp(arguments[1], "threads")) threads();
    if (!strcmp(arguments[1], "processes")) processes();
    if (!strcmp(arguments[1], "deepbind")) deepbind(arguments[count - 1]);
    printf("right\n");
    return 0;
}
