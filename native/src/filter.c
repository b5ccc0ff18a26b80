#include "filter.h"

struct hg_filter g_filter;

void hg_filter_clear(void) { __builtin_memset(&g_filter, 0, sizeof g_filter); }

void hg_filter_see_shadow(void) {
    if (!hg_load(&g_filter.has_shadow)) hg_store(&g_filter.has_shadow, true);
}

void hg_filter_add(const void *block) {
    uint8_t *counter = hg_filter_at(block), seen = hg_load(counter);
    while (seen != HG_FILTER_TOP && !hg_swap(counter, &seen, (uint8_t)(seen + 1))) continue;
}

void hg_filter_remove(const void *block) {
    uint8_t *counter = hg_filter_at(block), seen = hg_load(counter);
    while (seen && seen != HG_FILTER_TOP && !hg_swap(counter, &seen, (uint8_t)(seen - 1))) continue;
}

void hg_filter_mark(const void *place) { hg_store(hg_filter_at(place), HG_FILTER_TOP); }
