/* The program of a tutorial about memory dumps: two large blocks with text, some small ones. It
 * prints where they are and waits for the end of its input. */
#include "site.h"

struct __attribute__((packed)) my_struct19 {
    char start;
    char text[17];
    char end;
};

SITE struct my_struct19 *make_struct19(void) {
    struct my_struct19 *made = calloc(1, sizeof *made);
    made->start = made->end = 0x19;
    strcpy(made->text, "19rtyui19");
    return made;
}

int main(void) {
    char *big = malloc(100 << 20);
    char *ten = malloc(10 << 20);
    strcpy(big, "big100Mb. A lot of data");
    strcpy(ten, "big10Mb. A lot of data");
    struct my_struct19 *small = make_struct19();
    char *unused = malloc(500);
    free(malloc(300));
    say("Pid %d 0 big100Mb is %p; addr10Mb is %p", getpid(), (void *)big, (void *)ten);
    char line[128];
    while (read(0, line, sizeof line) > 0) continue;
    free(big), free(ten), free(small), free(unused);
    return 0;
}
