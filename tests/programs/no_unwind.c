/* Allocates from code that has neither unwind information nor a frame pointer: what called it cannot
 * be known.
 *
 * losses: stack_no_rule=50
 */
#include <stdlib.h>

void *bare_malloc(size_t size);

/* An assembler function without .cfi_ lines; rbp holds anything but a frame. */
__asm__(
    ".text\n"
    ".globl bare_malloc\n"
    ".type bare_malloc, @function\n"
    "bare_malloc:\n"
    "    push %rbp\n"
    "    mov $1, %ebp\n"
    "    call malloc@PLT\n"
    "    pop %rbp\n"
    "    ret\n"
    ".size bare_malloc, . - bare_malloc\n"
    ".section .note.GNU-stack,\"\",@progbits\n"
    ".text\n");

int main(void) {
    for (int i = 0; i < 50; i++) free(bare_malloc(100));
    for (int i = 0; i < 50; i++) free(malloc(100));
    return 0;
}
