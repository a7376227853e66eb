/* A service with its connection as standard input and output. Its last output is written when it
 * ends. */
#include <stdio.h>

int main(void) {
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        printf("you said %s", line);
        fflush(stdout);
    }
    printf("bye\n");
    return 0;
}
