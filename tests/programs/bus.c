/* SIGBUS in a program, which prints the same whether it is recorded or not:
 *
 *   bus view          sets actions and masks, and prints the values that it reads back
 *   bus own HOW       has a fault of its own: by default, or with a handler of several kinds
 *   bus sent HOW      is sent the signal by a process, likewise
 *   bus cut HOW DIR   continues to talk while its log below DIR is cut, in several signal states */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2];

static void talk(int times) {
    char byte = 'x';
    for (int n = 0; n < times; n++)
        if (write(pair[0], &byte, 1) != 1 || read(pair[1], &byte, 1) != 1)
            _exit(2);
}

static sigjmp_buf back;
static char *fault;

static void informed(int signal, siginfo_t *about, void *context) {
    sigset_t mask;
    ucontext_t *interrupted = context;
    sigprocmask(SIG_BLOCK, 0, &mask);
    printf("handler of %d: code %d, its address %d, BUS blocked %d, USR1 blocked %d, before %d\n", signal,
           about->si_code, about->si_addr == fault, sigismember(&mask, SIGBUS),
           sigismember(&mask, SIGUSR1), sigismember(&interrupted->uc_sigmask, SIGBUS));
    fflush(stdout);
    siglongjmp(back, 1);
}

static void plain(int signal) {
    printf("handler of %d\n", signal);
    fflush(stdout);
    siglongjmp(back, 1);
}

static void sends(int signal) {
    (void)signal;
    talk(3);
}

static void set(int flags, int of_mask, void *handler) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = flags;
    action.sa_handler = handler;
    if (of_mask)
        sigaddset(&action.sa_mask, of_mask);
    sigaction(SIGBUS, &action, 0);
}

static void choose(const char *how) {
    static char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    if (!strcmp(how, "siginfo"))
        set(SA_SIGINFO, SIGUSR1, informed);
    else if (!strcmp(how, "nodefer"))
        set(SA_SIGINFO | SA_NODEFER, 0, informed);
    else if (!strcmp(how, "stack"))
        sigaltstack(&other, 0), set(SA_SIGINFO | SA_ONSTACK, 0, informed);
    else if (!strcmp(how, "once"))
        set(SA_RESETHAND, 0, plain);
    else if (!strcmp(how, "signal"))
        signal(SIGBUS, plain);
}

static void print(const char *what, const struct sigaction *action) {
    void *handler = action->sa_handler;
    printf("%s: %s, flags %x, USR1 %d, BUS %d\n", what,
           handler == plain ? "plain" : handler == informed ? "informed" : handler == sends ? "sends"
           : handler == SIG_DFL ? "default" : handler == SIG_IGN ? "ignored" : "something else",
           (unsigned)action->sa_flags, sigismember(&action->sa_mask, SIGUSR1),
           sigismember(&action->sa_mask, SIGBUS));
}

static void *view_of_thread(void *unused) {
    sigset_t all, old;
    sigfillset(&all);
    for (int turn = 0; turn < 2; turn++) {
        pthread_sigmask(SIG_BLOCK, &all, &old);
        printf("blocked before %d", sigismember(&old, SIGBUS));
        talk(1);
        pthread_sigmask(SIG_SETMASK, &old, &all);
        printf(", meanwhile %d", sigismember(&all, SIGBUS));
        sigemptyset(&old), sigaddset(&old, SIGBUS);
        pthread_sigmask(SIG_BLOCK, &old, 0);
        talk(1);
        pthread_sigmask(SIG_UNBLOCK, &old, &all);
        printf(", then %d", sigismember(&all, SIGBUS));
        sigprocmask(SIG_BLOCK, 0, &all);
        printf(", behind %d\n", sigismember(&all, SIGBUS));
        sigfillset(&all);
    }
    return unused;
}

static int is_blocked(void) {
    sigset_t mask;
    sigprocmask(SIG_BLOCK, 0, &mask);
    return sigismember(&mask, SIGBUS);
}

/* A thread that begins with a mask, and sends its first message late. */
static void *view_of_late_thread(void *where) {
    printf("%s: at first %d", (char *)where, is_blocked());
    talk(1);
    printf(", then %d", is_blocked());
    if (is_blocked()) {
        sigset_t bus;
        int which = 0;
        sigemptyset(&bus), sigaddset(&bus, SIGBUS);
        pthread_kill(pthread_self(), SIGBUS);
        int result = sigwait(&bus, &which);
        printf(", waited %d %d", result, which);
    }
    printf("\n");
    return 0;
}

/* A thread that blocks the signal before its first message, with a call of each kind. */
static void *view_of_blocking_thread(void *which) {
    sigset_t all;
    sigfillset(&all);
    if (which)
        pthread_sigmask(SIG_SETMASK, &all, 0);
    else
        sigprocmask(SIG_BLOCK, &all, 0);
    return view_of_late_thread("blocking");
}

static void join_new(void *(*entry)(void *), void *argument, const sigset_t *mask) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (mask)
        pthread_attr_setsigmask_np(&attributes, mask);
    pthread_create(&thread, &attributes, entry, argument);
    pthread_join(thread, 0);
}

/* Initial masks of threads and children. */
static void view_of_heirs(void) {
    sigset_t all, none, old;
    sigfillset(&all), sigemptyset(&none);
    join_new(view_of_blocking_thread, 0, 0), join_new(view_of_blocking_thread, &all, 0);
    join_new(view_of_late_thread, "with a mask", &all);
    fflush(stdout);
    /* It has the guard, but no log, when it blocks the signal. */
    if (!fork()) {
        view_of_blocking_thread(0);
        exit(0);
    }
    wait(0);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    join_new(view_of_late_thread, "heir", 0);
    join_new(view_of_late_thread, "without a mask", &none);
    fflush(stdout);
    /* Twice, as the second is the child of a process with a mask that was changed back. */
    if (!fork()) {
        view_of_late_thread("child");
        fflush(stdout);
        if (!fork()) {
            join_new(view_of_late_thread, "heir in a child", 0);
            view_of_late_thread("child of a child");
            exit(0);
        }
        wait(0);
        exit(0);
    }
    wait(0);
    pthread_sigmask(SIG_SETMASK, &old, &all);
    printf("here %d, behind %d\n", sigismember(&all, SIGBUS), is_blocked());
}

static void view(void) {
    struct sigaction action, full;
    sigaction(SIGBUS, 0, &action), print("at first", &action);
    set(SA_SIGINFO | SA_RESTART, SIGUSR1, informed);
    sigaction(SIGBUS, 0, &action), print("set", &action);
    printf("signal: %d\n", (void *)signal(SIGBUS, plain) == (void *)informed);
    sigaction(SIGBUS, 0, &action), print("by signal", &action);
    signal(SIGBUS, SIG_IGN);
    sigaction(SIGBUS, 0, &action), print("ignored", &action);
    set(SA_RESETHAND, SIGBUS, plain);
    sigaction(SIGBUS, 0, &action), print("again", &action);
    printf("signal: %d\n", signal(SIGBUS, SIG_DFL) == plain);
    sigaction(SIGBUS, 0, &action), print("default", &action);
    memset(&full, 0, sizeof full), full.sa_handler = sends, sigfillset(&full.sa_mask);
    sigaction(SIGUSR2, &full, 0);
    sigaction(SIGUSR2, 0, &action), print("full", &action);
    signal(SIGUSR2, sends);
    sigaction(SIGUSR2, 0, &action), print("no longer", &action);
    /* A child of vfork has its own actions. */
    set(0, 0, plain);
    pid_t child = vfork();
    if (child == 0) {
        signal(SIGBUS, SIG_DFL);
        sigset_t all;
        sigfillset(&all), sigprocmask(SIG_BLOCK, &all, 0);
        execlp("sh", "sh", "-c", "kill -BUS $$", (char *)0);
        _exit(3);
    }
    int status;
    waitpid(child, &status, 0);
    sigaction(SIGBUS, 0, &action), print("of its parent", &action);
    /* Ignored signals stay ignored in the next program. */
    if (!fork()) {
        signal(SIGBUS, SIG_IGN);
        execlp("sh", "sh", "-c", "kill -BUS $$; echo ignored", (char *)0);
        _exit(3);
    }
    wait(&status);
    printf("status %d\n", status);
    view_of_thread(0);
    pthread_t thread;
    pthread_create(&thread, 0, view_of_thread, 0);
    pthread_join(thread, 0);
    view_of_heirs();
    /* Waits for a blocked signal. */
    sigset_t bus;
    int which = 0;
    sigemptyset(&bus), sigaddset(&bus, SIGBUS);
    sigprocmask(SIG_BLOCK, &bus, 0);
    kill(getpid(), SIGBUS);
    int result = sigwait(&bus, &which);
    printf("waited: %d %d\n", result, which);
}

/* Cuts all logs below a directory. */
static int cut(const char *directory) {
    int count = 0;
    DIR *all = opendir(directory);
    for (struct dirent *entry; all && (entry = readdir(all));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        count += entry->d_name[0] != '.' && !truncate(path, 0);
    }
    if (all)
        closedir(all);
    return count;
}

static const char *log_directory, *how;

static void *talk_on(void *unused) {
    sigset_t all, old;
    sigfillset(&all);
    talk(10);
    if (cut(log_directory) != 1)
        _exit(4);
    if (!strcmp(how, "masked"))
        pthread_sigmask(SIG_BLOCK, &all, &old);
    if (!strcmp(how, "handler"))
        raise(SIGUSR2);
    talk(20000);
    if (!strcmp(how, "masked"))
        pthread_sigmask(SIG_SETMASK, &old, 0);
    return unused;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "view";
    how = count > 2 ? arguments[2] : "";
    if (!strcmp(what, "cut") && !strcmp(how, "early"))
        choose("siginfo");
    if (!strcmp(how, "handler") || !strcmp(how, "blocked")) {
        struct sigaction full = {.sa_handler = sends};
        sigfillset(&full.sa_mask);
        sigaction(SIGUSR2, &full, 0);
        if (!strcmp(how, "blocked"))
            sigprocmask(SIG_BLOCK, &full.sa_mask, 0);
    }
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    talk(10);
    if (!strcmp(what, "view")) {
        view();
    } else if (!strcmp(what, "own") || !strcmp(what, "sent")) {
        choose(how);
        FILE *file = tmpfile();
        ftruncate(fileno(file), 8192);
        fault = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
        fault += 4096;
        ftruncate(fileno(file), 4096);
        for (int turn = 0; turn < 2; turn++) {
            if (sigsetjmp(back, 1) == 0) {
                if (!strcmp(what, "own"))
                    *(volatile char *)fault = 1;
                else
                    kill(getpid(), SIGBUS);
                printf("went on\n");
            }
            talk(10);
        }
    } else {
        log_directory = arguments[3];
        if (strcmp(how, "early"))
            choose(how);
        pthread_t thread;
        if (!strcmp(how, "thread")) {
            sigset_t all;
            sigfillset(&all);
            sigprocmask(SIG_BLOCK, &all, 0);
            pthread_create(&thread, 0, talk_on, 0);
            pthread_join(thread, 0);
        } else {
            talk_on(0);
        }
        printf("unharmed\n");
    }
    return 0;
}
