/* Makes sockets of kinds that are not captured, and an io_uring ring, and prints the number of each
 * kind: raw (ICMP), ICMP, packet, netlink, and the ring.
 *
 * usage: uncaptured [netlink] */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "netlink") == 0) {
        printf("%d\n", socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0);
        return 0;
    }
    int raw = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    int icmp = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
    int packet[2] = {socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), socket(AF_PACKET, SOCK_DGRAM, 0)};
    int netlink = socket(AF_NETLINK, SOCK_RAW, 0);
    char parameters[120] = {0};
    int ring = syscall(SYS_io_uring_setup, 4, parameters);
    printf("%d %d %d %d %d\n", raw >= 0, icmp >= 0, (packet[0] >= 0) + (packet[1] >= 0),
           netlink >= 0, ring >= 0);
    fflush(stdout);
    /* Its traffic is not a message: it goes to itself, so that it comes back. */
    struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[8] = {8, 0, 0xf7, 0xff}, answer[64];
    if (raw < 0 || sendto(raw, request, sizeof request, 0, (void *)&self, sizeof self) != 8)
        return 1;
    if (recv(raw, answer, sizeof answer, 0) < 8)
        return 2;
    return 0;
}
