/* Makes a socket, so that it is recorded, and prints its arguments. */
#include <stdio.h>
#include <sys/socket.h>

int main(int count, char **arguments) {
    if (socket(AF_UNIX, SOCK_STREAM, 0) < 0) return 2;
    for (int i = 1; i < count; i++) printf("%s%c", arguments[i], i + 1 < count ? ' ' : '\n');
    return 0;
}
