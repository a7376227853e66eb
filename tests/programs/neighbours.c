// A server with memory mapped all around the injected code.
//
// usage: neighbours THREADS [leave]
// It prints its port, and ends when its standard input does; with `leave` its first thread ends at
// the first line of input, whatever it is. Each connection is echoed. A line of input selects an
// action, after which it prints "done":
//   beside    maps a page before and after each of its mappings where there is room, with the
//             rights of the mapping, so that the kernel merges both
//   jit       maps writable code, fills it and runs it, many times
//   huge      maps memory of huge pages, if there are any, and requests them elsewhere
//   divide    makes every second page of its own mappings read-only
//   named     gives its memory names (PR_SET_VMA), some of them paths of libraries
//   readers   maps its libc as data, as profilers do
//   lock      locks all memory, including future mappings
//   limit     sets an address space limit (ulimit -v) slightly above its current use
//   reserve   reserves the free addresses in the 2 GiB below each of its mappings, as browsers do
//             for their engines
//   free      unmaps its own mappings
//   fork      makes a child which makes children that wait, and ends
//   chain N   makes a child that makes a child, and so on; each ends immediately but the last, which
//             waits
//   vfork     a thread makes a child by vfork which waits for some seconds
//   exec      executes /bin/cat
//   mark      has a page with bytes as if a library of the note below were mapped there
//   note P T  has such a note, according to which the process P that began at T has put the library
//             there
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

enum { PAGE = 4096, MOST = 4000 };

static int listener;
static struct {
    char *at;
    size_t bytes;
    int rights;
} own[MOST];
static int owned;

static void *serve(void *unused) {
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        char message[64];
        ssize_t got;
        while (fd >= 0 && (got = read(fd, message, sizeof message)) > 0)
            if (write(fd, message, got) != got)
                break;
        if (fd >= 0)
            close(fd);
    }
    return unused;
}

static void keep(char *at, size_t bytes, int rights) {
    if (at == MAP_FAILED || owned == MOST)
        return;
    own[owned].at = at;
    own[owned].bytes = bytes;
    own[owned++].rights = rights;
}

static char *map(char *at, size_t bytes, int rights, int flags) {
    return mmap(at, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

// All mappings as text, read without mapping memory for it.
static char text[4 << 20];

static char *maps(void) {
    int fd = open("/proc/self/maps", O_RDONLY);
    size_t length = 0;
    ssize_t got;
    while ((got = read(fd, text + length, sizeof text - 1 - length)) > 0)
        length += got;
    close(fd);
    text[length] = 0;
    return text;
}

static void beside(void) {
    char *line = maps();
    while (line && *line && owned + 2 < MOST) {
        unsigned long start, end;
        char r, w, x;
        if (sscanf(line, "%lx-%lx %c%c%c", &start, &end, &r, &w, &x) == 5 && start < 1ul << 46) {
            int rights = (r == 'r' ? PROT_READ : 0) | (w == 'w' ? PROT_WRITE : 0) |
                         (x == 'x' ? PROT_EXEC : 0);
            keep(map((char *)end, PAGE, rights, MAP_FIXED_NOREPLACE), PAGE, rights);
            if (start > 1 << 20)
                keep(map((char *)start - PAGE, PAGE, rights, MAP_FIXED_NOREPLACE), PAGE, rights);
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
}

static int jit(void) {
    int sum = 0;
    for (int turn = 0; turn < 64; turn++) {
        int all = PROT_READ | PROT_WRITE | PROT_EXEC;
        char *code = map(NULL, PAGE, all, 0);
        if (code == MAP_FAILED)
            continue;
        keep(code, PAGE, all);
        // mov eax, turn; ret
        memcpy(code, "\xb8\0\0\0\0\xc3", 6);
        code[1] = turn;
        sum += ((int (*)(void))code)();
    }
    return sum;
}

static void huge(void) {
    size_t bytes = 2 << 20;
    int both = PROT_READ | PROT_WRITE;
    keep(map(NULL, bytes, both, MAP_HUGETLB), bytes, 0);
    for (int turn = 0; turn < 8; turn++) {
        char *at = map(NULL, 4 * bytes, both, 0);
        keep(at, 4 * bytes, both);
        if (at == MAP_FAILED)
            continue;
        madvise(at, 4 * bytes, MADV_HUGEPAGE);
        memset(at, turn, 4 * bytes);
    }
    // Also foreign memory: all writable memory that it finds.
    for (char *line = maps(); line && *line;) {
        unsigned long start, end;
        char w;
        if (sscanf(line, "%lx-%lx %*c%c", &start, &end, &w) == 3 && w == 'w')
            madvise((void *)start, end - start, MADV_HUGEPAGE);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
}

static void divide(void) {
    for (int place = 0; place < owned; place++)
        for (size_t at = 0; at < own[place].bytes && own[place].rights; at += 2 * PAGE)
            mprotect(own[place].at + at, PAGE, own[place].rights & ~PROT_WRITE);
}

static void named(void) {
    const char *names[] = {"its own", "/usr/lib/libc.so.6", "/tmp/libsockcap.so"};
    for (int place = 0; place < 30; place++) {
        char *at = map(NULL, PAGE, place % 2 ? PROT_READ : PROT_READ | PROT_WRITE, 0);
        keep(at, PAGE, 0);
        prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, PAGE, names[place % 3]);
    }
}

static void readers(void) {
    char *line = maps(), *path = NULL;
    for (; line && *line && !path; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strchr(line, '/') && (strstr(line, "libc.so") || strstr(line, "ld-musl")))
            path = strchr(line, '/');
    if (!path)
        return;
    *strchr(path, '\n') = 0;
    int fd = open(path, O_RDONLY);
    struct stat about;
    if (fd < 0 || fstat(fd, &about))
        return;
    char *at = mmap(NULL, about.st_size, PROT_READ, MAP_SHARED, fd, 0);
    keep(at, about.st_size, 0);
    at = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    keep(at, about.st_size, 0);
    close(fd);
}

// Only the stack can still grow downwards.
static void reserve(void) {
    unsigned long before = 1 << 16, most = 1ul << 31;
    for (char *line = maps(); line && *line;) {
        unsigned long start, end;
        char name[16] = "";
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %15s", &start, &end, name) < 2)
            break;
        if (start > before && start < 1ul << 47 && strcmp(name, "[stack]")) {
            unsigned long bytes = start - before < most ? start - before : most;
            keep(map((char *)start - bytes, bytes, PROT_NONE, MAP_NORESERVE | MAP_FIXED_NOREPLACE),
                 bytes, 0);
        }
        before = end;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
}

static void limit(void) {
    char status[4096] = {0};
    int fd = open("/proc/self/status", O_RDONLY);
    ssize_t got = read(fd, status, sizeof status - 1);
    close(fd);
    unsigned long kilobytes = 0;
    if (got > 0 && strstr(status, "VmSize:"))
        sscanf(strstr(status, "VmSize:"), "VmSize: %lu", &kilobytes);
    struct rlimit rlimit = {(kilobytes + (64 << 10)) << 10, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &rlimit);
}

static void release(void) {
    for (int place = 0; place < owned; place++)
        munmap(own[place].at, own[place].bytes);
    owned = 0;
}

// Pipe with its other end in the server: a child ends with it.
static int life[2];

static void wait_for_ever(void) {
    char end;
    close(life[1]);
    while (read(life[0], &end, 1) != 0) {
    }
    _exit(0);
}

static void forks(void) {
    pid_t child = fork();
    if (child == 0) {
        for (int turn = 0; turn < 3; turn++)
            if (fork() == 0)
                wait_for_ever();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void chain(int length) {
    pid_t child = fork();
    if (child)
        return;
    for (; length > 0; length--)
        if (fork())
            _exit(0);
    wait_for_ever();
}

// The pages of the mark and of the note.
#define MARKED ((char *)0x20000000)
#define NOTED ((char *)0x30000000)

static void mark(void) {
    if (map(MARKED, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE) == MARKED)
        memset(MARKED, 'M', 16);
}

// In the format that crates/injector/src/attach/note.rs reads.
static void note(unsigned long process, unsigned long since) {
    unsigned long at = (unsigned long)MARKED, own;
    memcpy(&own, "MMMMMMMM", 8);
    unsigned long words[] = {
        process, since, at, own, own, at, at, at, 0, at, // begun, function
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,           // how hooks wait
        1, at, PAGE, 0, 0, 0, 0, 0,                      // mapped, stubs, changes, offsets
    };
    unsigned long count = sizeof words / sizeof *words;
    if (map(NOTED, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE) != NOTED)
        return;
    memcpy(NOTED, "sockcap\0note 1\0", 16);
    memcpy(NOTED + 16, &count, 8);
    memcpy(NOTED + 24, words, sizeof words);
    mprotect(NOTED, PAGE, PROT_READ);
}

static void *vforks(void *unused) {
    pid_t child = vfork();
    if (child == 0) {
        // Neither libc's sleep nor any other function with state.
        struct timespec second = {6, 0};
        syscall(SYS_nanosleep, &second, NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return unused;
}

static void *commands(void *unused) {
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        pthread_t id;
        unsigned long process, since;
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "beside")) beside();
        else if (!strcmp(line, "jit")) jit();
        else if (!strcmp(line, "huge")) huge();
        else if (!strcmp(line, "divide")) divide();
        else if (!strcmp(line, "named")) named();
        else if (!strcmp(line, "readers")) readers();
        else if (!strcmp(line, "lock")) mlockall(MCL_CURRENT | MCL_FUTURE);
        else if (!strcmp(line, "limit")) limit();
        else if (!strcmp(line, "reserve")) reserve();
        else if (!strcmp(line, "free")) release();
        else if (!strcmp(line, "fork")) forks();
        else if (!strcmp(line, "mark")) mark();
        else if (sscanf(line, "note %lu %lu", &process, &since) == 2) note(process, since);
        else if (!strncmp(line, "chain ", 6)) chain(atoi(line + 6));
        else if (!strcmp(line, "vfork")) {
            pthread_create(&id, NULL, vforks, NULL);
            usleep(100000);
        } else if (!strcmp(line, "exec"))
            execl("/bin/cat", "cat", (char *)NULL);
        else
            break;
        printf("done\n");
        fflush(stdout);
    }
    exit(0);
    return unused;
}

int main(int count, char **arguments) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    if (pipe(life))
        return 1;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 100) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        return 1;
    for (int thread = count > 1 ? atoi(arguments[1]) : 1; thread > 0; thread--) {
        pthread_t id;
        pthread_create(&id, NULL, serve, NULL);
    }
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    if (count > 2) {
        // The first thread ends when a line arrives, and another one processes the rest.
        char line[100];
        pthread_t id;
        if (!fgets(line, sizeof line, stdin))
            return 0;
        pthread_create(&id, NULL, commands, NULL);
        printf("done\n");
        fflush(stdout);
        pthread_exit(NULL);
    }
    commands(NULL);
    return 0;
}
