/* A program that uses the GS base itself, as emulators of other programs do. */
#include <asm/prctl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static long own[] = {0x5ca1ab1e, 0, 0, 0};

int main(void)
{
    int pair[2];
    long read_back;
    char bytes[8];
    syscall(SYS_arch_prctl, ARCH_SET_GS, own);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 1;
    for (int turn = 0; turn < 100; turn++) {
        if (write(pair[0], "hello", 5) != 5 || read(pair[1], bytes, sizeof bytes) != 5)
            return 2;
        asm volatile("mov %%gs:0, %0" : "=r"(read_back));
        if (read_back != own[0])
            return 3;
    }
    puts("its own");
    return 0;
}
