/* A heap that says itself what is in it, to compare a core with. It obeys the lines of its input:
 * `list` prints every block as "block ADDRESS ASKED USABLE SITE" and malloc's own sums, `more`
 * frees some blocks and makes others, `fill` has its threads make large ones, `break` makes some
 * behind memory that is not malloc's, `crash` aborts. The first argument is a number of threads.
 *
 * build: -pthread */
#include <malloc.h>
#include <pthread.h>

#include "site.h"

enum { MOST = 4096 };
static struct {
    char *address;
    size_t asked;
    const char *site;
} blocks[MOST];
static int count;
static pthread_barrier_t made;
static volatile int wanted_fill;

static void keep(void *block, size_t asked, const char *site) {
    int at = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    MUST(at < MOST && block);
    memset(block, 'x', asked < 64 ? asked : 64);
    blocks[at].address = block;
    blocks[at].asked = asked;
    blocks[at].site = site;
}

SITE void site_small(int number) {
    size_t asked = 1 + (size_t)number * 37 % 2000;
    void *kept = malloc(asked), *freed = malloc(asked + 16);
    keep(kept, asked, "site_small");
    free(freed);
    if (number % 3 == 0) keep(malloc(24), 24, "site_small");
}

SITE void site_large(int number) {
    size_t asked = 200000 + (size_t)number * 70000;
    keep(malloc(asked), asked, "site_large");
}

SITE void site_thread(int number) {
    size_t asked = 40 + (size_t)number * 8;
    void *between = malloc(3000);
    keep(malloc(asked), asked, "site_thread");
    free(between);
}

SITE void site_fill(void) {
    for (int i = 0; i < 1000; i++) keep(malloc(100000), 100000, "site_fill");
}

static void *work(void *unused) {
    for (int i = 0; i < 50; i++) site_thread(i);
    free(malloc(24)); /* into its cache: newer glibcs make one only then */
    pthread_barrier_wait(&made);
    while (!wanted_fill) usleep(1000);
    site_fill();
    pthread_barrier_wait(&made);
    pause(); /* or its cache would be given back */
    return unused;
}

static void start_threads(int threads) {
    pthread_barrier_init(&made, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, work, NULL) == 0);
    }
    pthread_barrier_wait(&made);
}

static void list(void) {
    struct mallinfo2 info = mallinfo2();
    for (int i = 0; i < count; i++) {
        if (!blocks[i].address) continue;
        say("block %lx %zu %zu %s", (unsigned long)blocks[i].address, blocks[i].asked,
            malloc_usable_size(blocks[i].address), blocks[i].site);
    }
    say("free %zu", info.fordblks);
    say("mapped %zu", info.hblks);
    say("end");
}

static void more(void) {
    for (int i = 0; i < count; i += 4) {
        free(blocks[i].address);
        blocks[i].address = NULL;
    }
    for (int i = 0; i < 100; i++) site_small(i);
    say("end");
}

/* Memory for more than one heap of an arena, by the threads. */
static void fill(void) {
    wanted_fill = 1;
    pthread_barrier_wait(&made);
    say("end");
}

static void move_break(void) {
    MUST(sbrk(8192) != (void *)-1);
    for (int i = 0; i < 300; i++) site_small(i);
    say("end");
}

int main(int argc, char **argv) {
    char line[64];
    for (int i = 0; i < 300; i++) site_small(i);
    for (int i = 0; i < 3; i++) site_large(i);
    if (argc > 1 && atoi(argv[1]) > 0) start_threads(atoi(argv[1]));
    for (;;) {
        ssize_t length = read(0, line, sizeof line - 1);
        if (length <= 0) return 0;
        line[length] = 0;
        if (!strcmp(line, "list\n")) list();
        else if (!strcmp(line, "more\n")) more();
        else if (!strcmp(line, "fill\n")) fill();
        else if (!strcmp(line, "break\n")) move_break();
        else abort();
    }
}
