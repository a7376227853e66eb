/* A program with Boehm's collector: a thread makes calls on sockets while another one collects
 * continuously. Objects that are referenced only from the first one's registers and stack must stay
 * intact. */
#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS = 60, OBJECTS = 20, CALLS = 200 };
#define MAGIC 0xabcdef12345UL

struct node {
    struct node *next;
    unsigned long magic;
    char rest[240];
};

static volatile int stop;

static void *talk(void *unused)
{
    int pair[2];
    long freed = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return (void *)-1;
    for (int round = 0; round < ROUNDS; round++) {
        struct node *first = 0;
        for (int object = 0; object < OBJECTS; object++) {
            struct node *node = GC_MALLOC(sizeof *node);
            node->magic = MAGIC + object;
            node->next = first;
            first = node;
        }
        char *bytes = GC_MALLOC_ATOMIC(4096);
        for (int call = 0; call < CALLS; call++)
            if (write(pair[0], bytes, 64) != 64 || read(pair[1], bytes, 64) != 64)
                return (void *)-1;
        int object = OBJECTS;
        for (struct node *node = first; node; node = node->next)
            freed += node->magic != MAGIC + --object;
        freed += object != 0;
    }
    (void)unused;
    return (void *)freed;
}

static void *collect(void *unused)
{
    while (!stop) {
        GC_gcollect();
        for (int other = 0; other < 5; other++)
            GC_MALLOC(5000);
        usleep(20);
    }
    return unused;
}

int main(void)
{
    pthread_t talking, collecting;
    void *freed;
    GC_INIT();
    GC_allow_register_threads();
    if (GC_pthread_create(&talking, 0, talk, 0) || GC_pthread_create(&collecting, 0, collect, 0))
        return 2;
    GC_pthread_join(talking, &freed);
    stop = 1;
    GC_pthread_join(collecting, 0);
    printf("freed %ld\n", (long)freed);
    return freed != 0;
}
