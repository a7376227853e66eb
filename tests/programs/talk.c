/* A server and its client in two processes, over loopback, with as many requests and responses as
 * its argument says. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int server = socket(AF_INET, SOCK_STREAM, 0), rounds = count > 1 ? atoi(arguments[1]) : 1;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof here;
    char buffer[16];
    if (server < 0 || bind(server, (struct sockaddr *)&here, length) || listen(server, 1)
        || getsockname(server, (struct sockaddr *)&here, &length))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        int peer = accept(server, NULL, NULL);
        while (read(peer, buffer, sizeof buffer) > 0)
            if (write(peer, "answer", 6) != 6)
                return 1;
        return 0;
    }
    int client = socket(AF_INET, SOCK_STREAM, 0);
    if (client < 0 || connect(client, (struct sockaddr *)&here, length))
        return 1;
    for (int round = 0; round < rounds; round++)
        if (write(client, "question", 8) != 8 || read(client, buffer, sizeof buffer) <= 0)
            return 1;
    close(client);
    waitpid(child, NULL, 0);
    return 0;
}
