/* Program with threads that wait, work, and come and go, to be attached to.
   usage: echoes THREADS    echoes lines until its input ends, then status 7; 9 if a register was
                            changed under a thread */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Never makes a system call: it may be stopped at any instruction. */
static void *works(void *unused) {
    for (;;) {
        double sum = 0, product = 1;
        unsigned long number = 1;
        for (int i = 1; i <= 100000; i++) {
            sum += i;
            product = product * 1.5 > 1e9 ? 1 : product * 1.5;
            number = number * 6364136223846793005ul + 1442695040888963407ul;
        }
        static double first_product;
        static unsigned long first_number;
        if (!first_number) first_product = product, first_number = number;
        if (sum != 5000050000.0 || product != first_product || number != first_number) _exit(9);
    }
    return unused;
}

static void *sleeps(void *unused) {
    struct timespec moment = {0, 300000};
    for (;;) nanosleep(&moment, 0), write(-1, "", 1);
    return unused;
}

static void *ends(void *unused) { return unused; }

static void *begins(void *unused) {
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, 0, ends, 0) || pthread_join(thread, 0)) _exit(8);
        usleep(500);
    }
    return unused;
}

int main(int argc, char **argv) {
    void *(*kinds[])(void *) = {works, sleeps, begins};
    char bytes[100];
    ssize_t length;
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 0); i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, kinds[i % 3], 0)) return 8;
    }
    while ((length = read(0, bytes, sizeof bytes)) > 0)
        if (write(1, bytes, length) != length) return 6;
    return length == 0 ? 7 : 5;
}
