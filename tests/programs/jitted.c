/* Code made at run time, as a JIT compiler makes it: in an anonymous mapping, without unwind
 * information. It calls malloc. With an argument it has that name in /tmp/perf-PID.map, which stays.
 *
 * losses: stack_no_rule=10
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "site.h"

/* push %rbp; mov %rsp,%rbp; movabs $malloc,%rax; call *%rax; pop %rbp; ret */
static const unsigned char g_code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,    0,    0,
                                       0,    0,    0,    0,    0,    0xff, 0xd0, 0x5d, 0xc3};
enum { OPERAND = 6, PAGE = 4096 };

typedef void *(*allocate)(size_t size);

static allocate compile(void) {
    unsigned char *code =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(code != MAP_FAILED);
    void *(*target)(size_t) = malloc;
    memcpy(code, g_code, sizeof g_code);
    memcpy(code + OPERAND, &target, sizeof target);
    MUST(!mprotect(code, PAGE, PROT_READ | PROT_EXEC));
    return (allocate)(uintptr_t)code;
}

static void publish(allocate code, const char *name) {
    char path[64], line[128];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    int length = snprintf(line, sizeof line, "%lx %zx %s\n", (unsigned long)(uintptr_t)code,
                          sizeof g_code, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    MUST(fd >= 0);
    MUST(write(fd, line, (size_t)length) == length);
    MUST(!close(fd));
}

static SITE void site_calls_jitted(allocate code) {
    for (int i = 0; i < 10; i++) {
        void *block = code(1000);
        KEEP(block);
    }
}

int main(int argc, char **argv) {
    allocate code = compile();
    if (argc > 1) publish(code, argv[1]);
    site_calls_jitted(code);
    return 0;
}
