#include "bedrock.h"

#include "modules.h"
#include "rules.h"

/* Frames of the C library between a program's entry and main: one, or since glibc 2.34 two. Of a
 * thread's: the system call's, and the one that calls its function. More could be of code that calls one
 * function from several places. */
#define MOST_BELOW_MAIN 2u
#define BELOW_A_THREAD 2u

/* Any function of glibc's; of other C libraries nothing is known here. */
extern const char *glibc_version(void) __asm__("gnu_get_libc_version") __attribute__((weak));

/* It is never unloaded. */
static bool is_in_libc(uintptr_t pc) {
    static struct {
        uintptr_t start, size;
    } libc;
    uintptr_t size = hg_load_acquire(&libc.size);
    if (HG_UNLIKELY(!size)) {
        uintptr_t function = (uintptr_t)glibc_version;
        const struct hg_code *code = function ? hg_modules_find(function) : NULL;
        if (!code) return false;
        size = code->end - hg_load(&code->start);
        hg_store(&libc.start, hg_load(&code->start));
        hg_store_release(&libc.size, size);
    }
    return pc - hg_load(&libc.start) < size;
}

static uint32_t count_in_libc(const struct hg_step *outermost, uint32_t most) {
    uint32_t count = 0;
    while (count < most && is_in_libc(outermost[count].at.pc)) count++;
    return count;
}

uint32_t hg_bedrock_frames(const struct hg_transcript *t) {
    const struct hg_step *outermost = &t->steps[1];
    uint32_t frames = 0;
    if (hg_rules_is_entry(outermost->at.pc)) {
        uint32_t below = count_in_libc(outermost + 1, MOST_BELOW_MAIN);
        frames = below ? 1 + below : 0;
    } else if (count_in_libc(outermost, BELOW_A_THREAD) == BELOW_A_THREAD) {
        frames = BELOW_A_THREAD;
    }
    return t->depth > frames + 1 ? frames : 0;
}
