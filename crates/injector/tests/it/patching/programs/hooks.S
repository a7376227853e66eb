/* Hooks that count, in place of the library: linked for an address of their own, and loaded by a
   program into which they are written. Each changes rcx, r11 and all flags, as the library may.

   A hook before a call counts it by number, and keeps the stack pointer. A hook after a call counts
   it if the stack pointer is the same. Before exit_group and pidfd_getfd the counts are written
   to the beginning of standard error, a file, by a call that is not counted (pwrite64). */
    .intel_syntax noprefix
    .globl before_c, after_c, before_go, before_goroutine, after_go, ready, stubs, counts
    .text

    .macro before name
\name:
    mov r11, rcx
    cmp rax, 512
    jae 1f
    lea rcx, [rip + counts]
    lock inc qword ptr [rcx + rax * 8]
1:  mov [rip + pending], rsp
    cmp eax, 231
    je write_counts
    cmp eax, 438
    je write_counts
    jmp leave
    .endm

    .macro after name
\name:
    mov r11, rcx
    cmp [rip + pending], rsp
    jne leave
    mov qword ptr [rip + pending], 0
    lock inc qword ptr [rip + came_back]
    jmp leave
    .endm

    before before_c
    before before_go
    before before_goroutine
    after after_c
    after after_go

    /* Counts unblocked goroutines, and changes all registers that it may. */
ready:
    lock inc qword ptr [rip + counts + 511 * 8]
    mov rdx, -1
    mov rdi, rdx
    mov r8, rdx
    mov r13, rdx
    pcmpeqd xmm3, xmm3
    jmp r11

    /* rcx is the address to continue at; r11 and the flags are overwritten. */
leave:
    mov rcx, r11
    mov r11, -1
    add r11, 1
    jmp rcx

write_counts:
    mov [rip + saved], rax
    mov [rip + saved + 8], rdi
    mov [rip + saved + 16], rsi
    mov [rip + saved + 24], rdx
    mov [rip + saved + 32], r10
    mov [rip + saved + 40], r11
    mov eax, 18
    mov edi, 2
    lea rsi, [rip + counts]
    mov edx, 513 * 8
    xor r10d, r10d
    syscall
    mov rax, [rip + saved]
    mov rdi, [rip + saved + 8]
    mov rsi, [rip + saved + 16]
    mov rdx, [rip + saved + 24]
    mov r10, [rip + saved + 32]
    mov r11, [rip + saved + 40]
    jmp leave

    .balign 64
counts:
    .fill 512, 8, 0
came_back:
    .quad 0
pending:
    .quad 0
saved:
    .fill 6, 8, 0
    .balign 4096
stubs:
    .fill 262144, 1, 0xcc
    .section .note.GNU-stack, "", @progbits
