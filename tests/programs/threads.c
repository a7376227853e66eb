// Makes argv[1] threads, argv[2] at a time; each sends one message on a socket of the process and
// ends.
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

static int pair[2];

static void *work(void *argument) {
    char buffer[8];
    if (send(pair[0], "abc", 3, 0) != 3 || recv(pair[1], buffer, 3, MSG_WAITALL) != 3) abort();
    return argument;
}

int main(int count, char **arguments) {
    if (count != 3 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 2;
    int all = atoi(arguments[1]), together = atoi(arguments[2]);
    pthread_t *threads = calloc(together, sizeof *threads);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    for (int done = 0; done < all; done += together) {
        for (int i = 0; i < together; i++)
            if (pthread_create(&threads[i], &attributes, work, NULL)) return 3;
        for (int i = 0; i < together; i++) pthread_join(threads[i], NULL);
    }
    return 0;
}
