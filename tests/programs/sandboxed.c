/* Locks itself in as xz does: before its first allocation it gives up the right to truncate files, then
 * all others to files, by Landlock. Where the kernel has none, it is recorded like any other.
 * expect: site_first allocations=1 frees=1 bytes=100
 * expect: site_later allocations=1000 frees=1000 bytes=40000
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "site.h"

/* linux/landlock.h, whose older versions lack the right to truncate. */
#define EVERY_FILE_RIGHT 0x1fffULL
#define TRUNCATE (1ULL << 14)

static void give_up(uint64_t rights) {
    int rules = (int)syscall(SYS_landlock_create_ruleset, &rights, sizeof rights, 0);
    if (rules < 0) {
        MUST(errno == EINVAL /* a right it does not know */ || errno == ENOSYS ||
             errno == EOPNOTSUPP);
        return;
    }
    MUST(!syscall(SYS_landlock_restrict_self, rules, 0));
    close(rules);
}

SITE void site_first(void) {
    void *p = malloc(100);
    KEEP(p);
    free(p);
}

SITE void site_later(void) {
    void *p[1000];
    for (int i = 0; i < 1000; i++) p[i] = malloc(40);
    for (int i = 0; i < 1000; i++) free(p[i]);
}

int main(void) {
    MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    give_up(TRUNCATE);
    site_first();
    give_up(EVERY_FILE_RIGHT | TRUNCATE);
    site_later();
    say("done");
    return 0;
}
