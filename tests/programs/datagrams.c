// Sends datagrams to changing peers, from the program and from a signal handler that interrupts it,
// on one socket. A datagram to peer number N is 100 + N bytes long. Prints the peers' ports, then
// the number of sent datagrams.
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { PEERS = 4 };
static int from, to[PEERS];
static struct sockaddr_in peers[PEERS];
static volatile long sent;
static char buffer[256];

static void send_to(int peer) {
    if (sendto(from, buffer, 100 + peer, 0, (void *)&peers[peer], sizeof peers[peer]) == 100 + peer) sent++;
    if (recv(to[peer], buffer, sizeof buffer, 0) != 100 + peer) abort();
}

static void handler(int signal) {
    static int turn;
    (void)signal;
    // To the program's peers and to one of its own; one and several at a time.
    turn++;
    for (int n = 0; n <= turn % 3; n++) send_to(turn / 3 % 2 ? 3 : turn / 6 % 3);
}

int main(void) {
    socklen_t length = sizeof peers[0];
    from = socket(AF_INET, SOCK_DGRAM, 0);
    for (int n = 0; n < PEERS; n++) {
        to[n] = socket(AF_INET, SOCK_DGRAM, 0);
        peers[n].sin_family = AF_INET;
        peers[n].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (bind(to[n], (void *)&peers[n], length) || getsockname(to[n], (void *)&peers[n], &length)) return 2;
        printf("%d ", ntohs(peers[n].sin_port));
    }
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int n = 0; n < 300000; n++) {
        // Only the send is interrupted: the handler would receive what it sent.
        int peer = n / 5 % 3;
        if (sendto(from, buffer, 100 + peer, 0, (void *)&peers[peer], length) != 100 + peer) abort();
        if (recv(to[peer], buffer, sizeof buffer, 0) != 100 + peer) abort();
        sigprocmask(SIG_BLOCK, &alarms, NULL);
        sent++;
        sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    }
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("%ld\n", sent);
    return 0;
}
