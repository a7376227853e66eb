/* A program that prints the users of its process, its effective capabilities and its tracer, and
 * sends itself 100 messages of 5 bytes. The exit status is 5. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    const char *names[] = {"Uid:", "CapEff:", "TracerPid:"};
    char line[256], bytes[5];
    int pair[2];
    FILE *status = fopen("/proc/self/status", "r");
    if (!status || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 1;
    while (fgets(line, sizeof line, status))
        for (int name = 0; name < 3; name++)
            if (!strncmp(line, names[name], strlen(names[name])))
                fputs(line, stdout);
    for (int turn = 0; turn < 100; turn++)
        if (write(pair[0], "hello", 5) != 5 || recv(pair[1], bytes, 5, MSG_WAITALL) != 5)
            return 2;
    return 5;
}
