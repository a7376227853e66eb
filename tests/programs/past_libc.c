/* Talks to itself over TCP with raw system calls. As a library (-DLIBRARY) it exports `talk`.
 *
 * usage: past_libc [close [ring | wait]]
 *   close: closes the sockets; ring: sets up io_uring, too; wait: prints that it is done, and waits
 *   to be killed */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifdef ANY
/* One function for all calls, which receives the number. */
__attribute__((noinline))
#else
/* The number is a constant at the call. */
__attribute__((always_inline)) inline
#endif
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static int failed(long result)
{
    return result < 0;
}

int talk(int closes)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    char got[5];
    int listener = call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0, 0);
    int client = call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0, 0);
    if (failed(call(SYS_bind, listener, (long)&name, sizeof name, 0, 0, 0)))
        return 1;
    if (failed(call(SYS_listen, listener, 1, 0, 0, 0, 0)))
        return 2;
    call(SYS_getsockname, listener, (long)&name, (long)&length, 0, 0, 0);
    if (failed(call(SYS_connect, client, (long)&name, sizeof name, 0, 0, 0)))
        return 3;
    int server = call(SYS_accept4, listener, 0, 0, 0, 0, 0);
    if (call(SYS_sendto, client, (long)"hello", 5, 0, 0, 0) != 5)
        return 4;
    if (call(SYS_recvfrom, server, (long)got, 5, 0, 0, 0) != 5 || memcmp(got, "hello", 5) != 0)
        return 5;
    if (closes) {
        call(SYS_close, listener, 0, 0, 0, 0, 0);
        call(SYS_close, client, 0, 0, 0, 0, 0);
        call(SYS_close, server, 0, 0, 0, 0, 0);
    }
    return 0;
}

#ifndef LIBRARY
int main(int count, char **arguments)
{
    int closes = count > 1 && strcmp(arguments[1], "close") == 0;
    if (count > 2 && strcmp(arguments[2], "ring") == 0) {
        char parameters[120] = {0};
        if (failed(call(SYS_io_uring_setup, 4, (long)parameters, 0, 0, 0, 0)))
            return 6;
    }
    int result = talk(closes);
    if (count > 2 && strcmp(arguments[2], "wait") == 0) {
        printf("done\n");
        fflush(stdout);
        while (1)
            call(SYS_pause, 0, 0, 0, 0, 0, 0);
    }
    return result;
}
#endif
