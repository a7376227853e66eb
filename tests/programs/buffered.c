/* Libc's FILEs over sockets: everything that they write and read. Prints "right". */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static void check(int right, const char *what) {
    if (!right) {
        fprintf(stderr, "wrong: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static FILE *open_on(int fd, const char *mode) {
    FILE *file = fdopen(fd, mode);
    check(file != NULL, "fdopen");
    return file;
}

static void texts(void) {
    int ends[2];
    char text[100];
    wchar_t wide[100];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    FILE *out = open_on(ends[0], "w"), *in = open_on(ends[1], "r");
    check(fprintf(out, "%s %d\n", "number", 1) == 9 && fflush(out) == 0, "fprintf");
    check(fgets(text, sizeof text, in) && !strcmp(text, "number 1\n"), "fgets");
    setlinebuf(out);
    check(fputs("a line\n", out) >= 0 && fgets(text, sizeof text, in), "lines");
    setvbuf(out, NULL, _IONBF, 0);
    check(putc('x', out) == 'x' && fprintf(out, "%05d", 7) == 5 && fread(text, 1, 6, in) == 6, "without buffer");
    check(dprintf(ends[0], "%s", "past the file") == 13 && fread(text, 1, 13, in) == 13, "dprintf");
    /* A closed number that is reused for a plain file. */
    check(fclose(out) == 0 && fread(text, 1, 1, in) == 0 && feof(in), "end");
    FILE *plain = tmpfile();
    check(plain && fputs("no socket", plain) >= 0 && fflush(plain) == 0, "plain file");
    fclose(plain), fclose(in);

    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    out = open_on(ends[0], "w"), in = open_on(ends[1], "r");
    check(fputws(L"wide\n", out) >= 0 && fflush(out) == 0 && fgetws(wide, 100, in), "wide");
    check(!wcscmp(wide, L"wide\n") && fputws(L"at the end\n", out) >= 0 && fclose(out) == 0, "wide end");
    check(fgetws(wide, 100, in) && !wcscmp(wide, L"at the end\n"), "wide, read");
    fclose(in);
}

static void much(void) {
    int ends[2];
    static char sent[300000], got[300000];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    for (size_t i = 0; i < sizeof sent; i++) sent[i] = i % 251;
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        FILE *out = open_on(ends[0], "w");
        for (size_t at = 0, size = 1; at < sizeof sent; at += size, size = size * 3 + 1)
            fwrite(sent + at, 1, size > sizeof sent - at ? sizeof sent - at : size, out);
        fclose(out);
        _exit(0);
    }
    close(ends[0]);
    FILE *in = open_on(ends[1], "r");
    check(fread(got, 1, sizeof got, in) == sizeof got && !memcmp(sent, got, sizeof got), "much");
    check(getc(in) == EOF && fclose(in) == 0, "its end");
    int status;
    check(waitpid(child, &status, 0) == child && status == 0, "child");
}

static void rest(void) {
    int ends[2];
    char text[100];
    /* Buffered data at the end of a process, and of a FILE that is reopened. */
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], 1);
        close(ends[0]), close(ends[1]);
        printf("without a line's end");
        exit(3);
    }
    close(ends[0]);
    int status, got;
    for (got = 0; got < 20;) {
        int size = read(ends[1], text + got, sizeof text - got);
        check(size > 0, "rest");
        got += size;
    }
    check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3, "status");
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    FILE *out = open_on(ends[0], "w");
    check(fputs("before", out) >= 0 && freopen("/dev/null", "w", out) && fputs("after", out) >= 0, "freopen");
    check(fclose(out) == 0 && read(ends[1], text, sizeof text) == 6 && read(ends[1], text, 1) == 0, "before");
    close(ends[1]);
}

static void messages(void) {
    int ends[2];
    char text[100];
    check(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
    FILE *out = open_on(ends[0], "w"), *in = open_on(ends[1], "r");
    for (int i = 0; i < 3; i++)
        check(fprintf(out, "message %d\n", i) == 10 && fflush(out) == 0 && fgets(text, sizeof text, in), "message");
    fclose(out), fclose(in);
}

static void failure(void) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    FILE *out = open_on(ends[0], "w");
    close(ends[1]);
    signal(SIGPIPE, SIG_IGN);
    errno = 0;
    check(fputs("nobody reads", out) >= 0 && fflush(out) == EOF && errno == EPIPE && ferror(out), "failure");
    __fpurge(out), fclose(out);
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "";
    if (!strcmp(way, "texts")) texts();
    if (!strcmp(way, "much")) much();
    if (!strcmp(way, "rest")) rest();
    if (!strcmp(way, "messages")) messages();
    if (!strcmp(way, "failure")) failure();
    puts("right");
    return 0;
}
