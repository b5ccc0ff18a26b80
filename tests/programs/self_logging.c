/* Writes a text log of calls it makes itself, with its maps and its own return addresses, so that
 * a reader must find its functions again. Not for the recorder: it allocates nothing of note.
 * build: -fno-inline */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int g_number = 1;

static __attribute__((noinline)) void write_entry(const char *call, size_t size, void *block,
                                                  void *caller) {
    printf("+ %s %zu %p %d %d %d\n%p\n%p\n-\n", call, size, block, getpid(), getpid(), ++g_number,
           __builtin_return_address(0), caller);
}

static __attribute__((noinline)) void *leaky_function(size_t size) {
    void *block = malloc(size);
    write_entry("malloc", size, block, __builtin_return_address(0));
    return block;
}

static __attribute__((noinline)) void careful_function(size_t size) {
    void *block = malloc(size);
    write_entry("malloc", size, block, __builtin_return_address(0));
    write_entry("free", size, block, __builtin_return_address(0));
    free(block);
}

static void copy_maps(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    int octet;
    while (maps && (octet = fgetc(maps)) != EOF) putchar(octet);
    if (maps) fclose(maps);
}

int main(int argc, char **argv) {
    (void)argc;
    printf("# PID %d\n# EXE %s\n# MAPS\n", getpid(), argv[0]);
    copy_maps();
    printf("+ INIT 0 0x0 %d %d 1\n-\n", getpid(), getpid());
    void *first = leaky_function(1000);
    careful_function(50000);
    void *second = leaky_function(24);
    printf("+ FINI 0 0x0 %d %d %d\n-\n", getpid(), getpid(), ++g_number);
    return first == second;
}
