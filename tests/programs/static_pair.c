// A static program with 1000 messages of 5 bytes over a socket pair, from one thread to another.
// Its exit status is 5. With an argument, it becomes that program at the end.
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2];

static void *receive(void *unused)
{
    char bytes[100];
    for (int i = 0; i < 1000; i++)
        if (recv(pair[1], bytes, 5, MSG_WAITALL) != 5)
            return (void *)1;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *failed;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pthread_create(&thread, 0, receive, 0))
        return 1;
    for (int i = 0; i < 1000; i++)
        if (write(pair[0], "hello", 5) != 5)
            return 2;
    if (pthread_join(thread, &failed) || failed)
        return 3;
    puts("unharmed");
    fflush(stdout);
    if (argc > 1)
        execv(argv[1], argv + 1);
    return 5;
}
