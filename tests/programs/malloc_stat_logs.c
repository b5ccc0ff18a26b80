/* A program written for malloc-stat that reads its own log, as that one's test does, through pipes: what comes
 * is entries alone. With an argument its log is off and on again where it is, and last goes to stdout. Nothing here
 * knows of heapglass.
 * build: -I../../native/include */
#include <malloc-stat/api.h>

#include <poll.h>
#include <string.h>

static int g_ends[2];

static void open_pipe(void) {
    int made = pipe(g_ends);
    assert(made == 0);
}

/* What is in the pipe now; a log is written by itself, so something that must come is waited for. */
static const char *heard(int patience_ms) {
    static char text[4096];
    struct pollfd polled = {g_ends[0], POLLIN, 0};
    memset(text, 0, sizeof text);
    if (poll(&polled, 1, patience_ms) > 0 && read(g_ends[0], text, sizeof text - 1) < 0) abort();
    return text;
}

static void use(size_t size) {
    volatile char *p = malloc(size);
    *p = 0;
    free((void *)p);
}

/* As many entries of that name, and no line that is not an entry's. */
static int count(const char *text, const char *name) {
    int found = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        assert(strchr(line, '\n'));
        assert(line[0] == '+' || line[0] == '-' || line[0] == '0');
        found += line[0] == '+' && !strncmp(line + 2, name, strlen(name));
    }
    return found;
}

static void switch_off_and_on(void) {
    use(100);
    MALLOC_STAT_DISABLE_LOG();
    use(200);
    MALLOC_STAT_ENABLE_LOG();
    use(300);
}

static void follow(void) {
    /* Which is open says nothing of what is on. */
    open_pipe();
    MALLOC_STAT_SET_LOG_FD(g_ends[1]);
    use(100);
    assert(!*heard(200));

    MALLOC_STAT_ENABLE_LOG();
    volatile char *p = malloc(32);
    *p = 0;
    assert(count(heard(10000), "malloc 32 ") == 1);
    MALLOC_STAT_DISABLE_LOG();
    heard(0);
    use(200);
    assert(!*heard(200));
    MALLOC_STAT_ENABLE_LOG();
    p = realloc((void *)p, 64);
    assert(count(heard(10000), "realloc-realloc 64 ") == 1);

    /* Over to another, while it is on. */
    open_pipe();
    MALLOC_STAT_SET_LOG_FD(g_ends[1]);
    use(300);
    assert(count(heard(10000), "malloc 300 ") == 1);
    MALLOC_STAT_DISABLE_LOG();
}

int main(int argc, char **argv) {
    (void)argv;
    setvbuf(stdout, NULL, _IONBF, 0);
    assert(MALLOC_STAT_GET_STAT_FNPTR());
    if (argc > 1) switch_off_and_on();
    else follow();
    MALLOC_STAT_SET_LOG_FD(STDOUT_FILENO);
    use(400);
    MALLOC_STAT_ENABLE_LOG();
    use(500);
    return 3;
}
