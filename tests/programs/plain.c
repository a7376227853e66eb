/* A client that no library can be loaded into if it is linked statically: it sends messages of
 * growing size to a TCP port and a UDP port of this machine and waits for each echo. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in port(const char *text) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(text))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    struct sockaddr_in tcp = port(arguments[1]), udp = port(arguments[2]);
    int stream = socket(AF_INET, SOCK_STREAM, 0), datagram = socket(AF_INET, SOCK_DGRAM, 0);
    if (connect(stream, (struct sockaddr *)&tcp, sizeof tcp)) return 3;
    static char text[2000], back[2000];
    for (int size = 1; size <= 1000; size += 37) {
        memset(text, 'a' + size % 26, sizeof text);
        if (write(stream, text, size) != size) return 4;
        for (int got = 0; got < size;) {
            int more = read(stream, back, size - got);
            if (more <= 0) return 5;
            got += more;
        }
        if (sendto(datagram, text, size, 0, (struct sockaddr *)&udp, sizeof udp) != size) return 6;
        if (recv(datagram, back, sizeof back, 0) != size || memcmp(text, back, size)) return 7;
    }
    close(stream);
    puts("done");
    return 0;
}
