// A static server and its client, for a root directory that contains only this program.
//
// usage: rooted pair COUNT: listens, starts its own client, and responds to each of COUNT requests in
//                           a child. The exit status is that of the client.
//        rooted ask PORT COUNT: sends COUNT requests.
//        rooted above: prints which of its directories have another one above.
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int ask(int port, int count)
{
    struct sockaddr_in at = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}};
    char answer[7];
    for (int i = 0; i < count; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (void *)&at, sizeof at) || send(fd, "asks?", 5, 0) != 5)
            return 10;
        if (recv(fd, answer, 7, MSG_WAITALL) != 7 || memcmp(answer, "answer.", 7))
            return 11;
        close(fd);
    }
    return 0;
}

static int answer(int fd)
{
    char request[5];
    return recv(fd, request, 5, MSG_WAITALL) == 5 && send(fd, "answer.", 7, 0) == 7 ? 0 : 20;
}

static int above(void)
{
    struct stat own, above;
    int directories = 0;
    for (int fd = 3; fd < 2000; fd++) {
        if (fstat(fd, &own) || !S_ISDIR(own.st_mode))
            continue;
        directories++;
        if (!fstatat(fd, "..", &above, 0) && above.st_ino != own.st_ino)
            printf("%d leads out\n", fd);
    }
    printf("%d directories\n", directories);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "above"))
        return above();
    if (argc == 4 && !strcmp(argv[1], "ask"))
        return ask(atoi(argv[2]), atoi(argv[3]));
    if (argc != 3 || strcmp(argv[1], "pair"))
        return 2;
    int listening = socket(AF_INET, SOCK_STREAM, 0), status;
    struct sockaddr_in at = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    if (bind(listening, (void *)&at, sizeof at) || listen(listening, 5) ||
        getsockname(listening, (void *)&at, &length))
        return 3;
    char port[6];
    snprintf(port, sizeof port, "%d", ntohs(at.sin_port));
    pid_t client = fork();
    if (!client) {
        close(listening);
        execl(argv[0], argv[0], "ask", port, argv[2], NULL);
        _exit(4);
    }
    for (int i = 0; i < atoi(argv[2]); i++) {
        int fd = accept(listening, NULL, NULL);
        if (!fork())
            _exit(answer(fd));
        close(fd);
    }
    if (waitpid(client, &status, 0) != client || status)
        return 5;
    while (wait(&status) > 0)
        if (status)
            return 6;
    puts("unharmed");
    return 0;
}
