#include "filter.h"

struct hg_filter g_filter;

void hg_filter_clear(void) { __builtin_memset(&g_filter, 0, sizeof g_filter); }

void hg_filter_see_shadow(void) {
    if (!hg_load(&g_filter.has_shadow)) hg_store(&g_filter.has_shadow, true);
}

static void raise(uint8_t *counter) {
    uint8_t seen = hg_load(counter);
    while (seen != HG_FILTER_TOP && !hg_swap(counter, &seen, (uint8_t)(seen + 1))) continue;
}

static void lower(uint8_t *counter) {
    uint8_t seen = hg_load(counter);
    while (seen && seen != HG_FILTER_TOP && !hg_swap(counter, &seen, (uint8_t)(seen - 1))) continue;
}

void hg_filter_add(const void *block) {
    raise(hg_filter_finely_at(block));
    raise(hg_filter_at(block));
}

void hg_filter_remove(const void *block) {
    lower(hg_filter_at(block));
    lower(hg_filter_finely_at(block));
}

void hg_filter_mark(const void *place) { hg_store(hg_filter_at(place), HG_FILTER_TOP); }
