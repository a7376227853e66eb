/* A program without threads, and (with PLUG_IN) a plug-in for it that starts one. Both are linked
 * by hand with another system's libraries, so there are no start files. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef PLUG_IN
static void *run(void *argument) {
    return argument;
}

int start(void) {
    pthread_t thread;
    void *result = 0;
    return pthread_create(&thread, 0, run, &thread) || pthread_join(thread, &result) ||
           result != &thread;
}
#else
extern int __libc_start_main(int (*)(int, char **), int, char **, void (*)(void), void (*)(void),
                             void (*)(void), void *);

static int run(int count, char **arguments) {
    void *plug_in = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : 0;
    if (!plug_in) {
        puts(dlerror());
        return 1;
    }
    int (*start)(void) = (int (*)(void))dlsym(plug_in, "start");
    puts(start() ? "no thread" : "a thread ran");
    exit(0);
}

static void nothing(void) {}

__attribute__((used)) static void begin(long *stack) {
    __libc_start_main(run, *stack, (char **)(stack + 1), nothing, nothing, nothing, stack);
}

__asm__(".globl _start\n_start:\nxor %ebp, %ebp\nmov %rsp, %rdi\nand $-16, %rsp\ncall begin\nhlt\n");
#endif
