/* Says where it was called from and how far it was moved: lines of "name address bias". */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uintptr_t g_bias;

static int first_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    g_bias = info->dlpi_addr;
    return 1;
}

__attribute__((noinline)) void report(const char *name)
{
    uintptr_t address = (uintptr_t)__builtin_return_address(0);
    printf("%s %#lx %#lx\n", name, (unsigned long)address, (unsigned long)g_bias);
}

__attribute__((noinline, noreturn)) void report_last(const char *name)
{
    uintptr_t address = (uintptr_t)__builtin_return_address(0);
    printf("%s %#lx %#lx\n", name, (unsigned long)address, (unsigned long)g_bias);
    exit(0);
}

/* The call is its last instruction: the return address is already behind the function. */
__attribute__((noinline, noreturn)) void leaves(void)
{
    report_last("leaves");
}

__attribute__((noinline)) void stays(void)
{
    report("stays");
    __asm__ volatile("");
}

int main(void)
{
    dl_iterate_phdr(first_object, NULL);
    stays();
    leaves();
}
