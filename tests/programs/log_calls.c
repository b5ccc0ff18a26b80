/* Each call that the text log knows, once, in an order that the test knows too. */
#include <malloc.h>

#include "site.h"

SITE void site_calls(void) {
    void *p = malloc(40), *q = calloc(3, 7);
    KEEP(p);
    KEEP(q);
    void *a = memalign(64, 100), *b = NULL, *c = valloc(11), *d = pvalloc(12);
    MUST(posix_memalign(&b, 128, 200) == 0);
    void *e = aligned_alloc(32, 64);
    KEEP(e);
    void *f = realloc(NULL, 50);
    f = realloc(f, 49);
    void *wall = malloc(10); /* so that the next one cannot grow in place */
    KEEP(wall);
    f = realloc(f, 50000);
    f = realloc(f, 0);
    MUST(!f);
    void *volatile none = malloc((size_t)1 << 62);
    MUST(!none);
    volatile size_t many = (size_t)1 << 40; /* or the compiler complains */
    none = calloc(many, many);
    MUST(!none);
    none = realloc(p, (size_t)1 << 62);
    MUST(!none);
    free(NULL);
    free(p);
    free(q);
    free(a);
    free(b);
    free(c);
    free(d);
    free(e);
    free(reallocarray(wall, 2, 5));
}

int main(void) {
    site_calls();
    say("done");
    return 5;
}
