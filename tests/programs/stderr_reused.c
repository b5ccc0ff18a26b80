/* The number of stderr becomes a file's, `data`, on which the program writes: `at_start`: before its first
 * allocation (it was started without a stderr); `in_child`: before it forks a child that cannot be recorded, as it
 * may not make files.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "site.h"

static void take_number(void) {
    static const char text[] = "precious\n";
    MUST(open("data", O_WRONLY | O_CREAT, 0666) == 2);
    MUST(write(2, text, sizeof text - 1) == sizeof text - 1);
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    if (!strcmp(argv[1], "at_start")) {
        take_number();
        KEEP(argv);
        return malloc(10) ? 3 : 4;
    }
    struct rlimit little = {64, 64};
    int status = 0;
    MUST(malloc(10) != NULL);
    close(2);
    take_number();
    setrlimit(RLIMIT_FSIZE, &little);
    if (!fork()) _exit(malloc(20) ? 5 : 6);
    wait(&status);
    return WEXITSTATUS(status);
}
