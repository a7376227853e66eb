// Makes children that end at once, and prints the least number of page faults that one had.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    long least = -1;
    for (int i = 0; i < 50; i++) {
        struct rusage used;
        int status;
        pid_t child = fork();
        if (child == 0) _exit(0);
        if (wait4(child, &status, 0, &used) != child || status != 0) return 1;
        if (least < 0 || used.ru_minflt < least) least = used.ru_minflt;
    }
    printf("%ld\n", least);
    return 0;
}
