/* A chain of inlined functions, a stretch of code without a name, and one without debug lines. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

static inline void *leaf(size_t size)
{
    return malloc(size);
}

static inline void *middle(size_t size)
{
    return leaf(size + 1);
}

__attribute__((noinline)) void *outer(size_t size)
{
    void *block = middle(size);
    if (!block)
        puts("no memory");
    return block;
}

static __attribute__((noinline)) void *hidden(size_t size)
{
    void *block = outer(size * 2);
    return block ? block : outer(1);
}

/* `nameless` has no size: nothing may claim its addresses, least of all what stands before it. */
void *nameless_call(size_t size);
void *assembled(size_t size);
__asm__(".text\n"
        ".p2align 4\n"
        "nameless:\n"
        "    sub $8, %rsp\n"
        "    call malloc@PLT\n"
        "    add $8, %rsp\n"
        "    ret\n"
        ".globl nameless_call\n"
        "nameless_call:\n"
        "    jmp nameless\n"
        ".globl assembled\n"
        ".type assembled, @function\n"
        "assembled:\n"
        "    sub $8, %rsp\n"
        "    call malloc@PLT\n"
        "    add $8, %rsp\n"
        "    ret\n"
        ".size assembled, .-assembled\n");

void *entry(size_t size)
{
    free(assembled(size));
    free(nameless_call(size));
    free(hidden(size));
    return hidden(size + 3);
}

int main(int argc, char **argv)
{
    (void)argv;
    free(entry((size_t)argc));
    return 0;
}
