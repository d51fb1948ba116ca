#include "machine/switch.hpp"

// The frame that a left stack holds, from its saved stack pointer upwards:
//
//   x86-64                          AArch64
//   [sp + 0]   r15                  [sp + 0]    x19 x20
//   [sp + 8]   r14                  [sp + 16]   x21 x22
//   [sp + 16]  r13                  [sp + 32]   x23 x24
//   [sp + 24]  r12                  [sp + 48]   x25 x26
//   [sp + 32]  rbx                  [sp + 64]   x27 x28
//   [sp + 40]  rbp                  [sp + 80]   x29 x30 (where to go on)
//   [sp + 48]  where to go on       [sp + 96]   d8 d9 ... [sp + 144] d14 d15
//
// The last step is an indirect jump, not a `ret`: the return predictor would expect the caller of
// this stack's own past, and a wrong guess costs five times the switch.
//
// The trampoline, on which every fresh stack starts, ends the chain of frames: its return address
// is declared undefined and its frame pointer is null, so that unwinders, debuggers and profilers
// stop there. The nop before the label keeps "return address minus one" inside it.

#if defined(__x86_64__)

asm(R"(
    .text
    .p2align 4
    .globl bulkhead_switch
    .type bulkhead_switch, @function
bulkhead_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
    .size bulkhead_switch, .-bulkhead_switch

    .p2align 4
    .globl bulkhead_jump
    .type bulkhead_jump, @function
bulkhead_jump:
    movq %rdi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
    .size bulkhead_jump, .-bulkhead_jump

    .p2align 4
    .globl bulkhead_enter
    .type bulkhead_enter, @function
bulkhead_enter:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    movq %rcx, %rdi
    jmp bulkhead_trampoline
    .size bulkhead_enter, .-bulkhead_enter

    .p2align 4
    .globl bulkhead_restart
    .type bulkhead_restart, @function
bulkhead_restart:
    movq %rdi, %rsp
    movq %rdx, %rdi
    movq %rsi, %rdx
    jmp bulkhead_trampoline
    .size bulkhead_restart, .-bulkhead_restart

    .p2align 4
    .type bulkhead_trampoline_frame, @function
bulkhead_trampoline_frame:
    .cfi_startproc
    .cfi_undefined rip
    nop
bulkhead_trampoline:
    xorl %ebp, %ebp
    callq *%rdx
    ud2
    .cfi_endproc
    .size bulkhead_trampoline_frame, .-bulkhead_trampoline_frame
    .section .note.GNU-stack,"",@progbits
    .text
)");

#elif defined(__aarch64__)

asm(R"(
    .text
    .p2align 4
    .globl bulkhead_switch
    .type bulkhead_switch, %function
bulkhead_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov x0, x1
    b bulkhead_jump
    .size bulkhead_switch, .-bulkhead_switch

    .p2align 4
    .globl bulkhead_jump
    .type bulkhead_jump, %function
bulkhead_jump:
    mov sp, x0
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    br x30
    .size bulkhead_jump, .-bulkhead_jump

    .p2align 4
    .globl bulkhead_enter
    .type bulkhead_enter, %function
bulkhead_enter:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    mov x0, x3
    mov x1, x2
    b bulkhead_trampoline
    .size bulkhead_enter, .-bulkhead_enter

    .p2align 4
    .globl bulkhead_restart
    .type bulkhead_restart, %function
bulkhead_restart:
    mov sp, x0
    mov x0, x2
    b bulkhead_trampoline
    .size bulkhead_restart, .-bulkhead_restart

    .p2align 4
    .type bulkhead_trampoline_frame, %function
bulkhead_trampoline_frame:
    .cfi_startproc
    .cfi_undefined x30
    nop
bulkhead_trampoline:
    mov x29, xzr
    mov x30, xzr
    blr x1
    brk #0
    .cfi_endproc
    .size bulkhead_trampoline_frame, .-bulkhead_trampoline_frame
    .section .note.GNU-stack,"",%progbits
    .text
)");

#else
#error "bulkhead: stacks can be switched on x86-64 and AArch64 Linux only"
#endif
