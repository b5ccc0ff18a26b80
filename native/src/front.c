#include "front.h"

#define HOT __attribute__((section(".data.hot")))

HOT __attribute__((aligned(64))) struct hg_header *g_header;
HOT uint64_t g_modules_generation;
HOT uint32_t g_peak_mode;
HOT bool g_peak_may_fall;
HOT bool g_peak_has_saved;
HOT uint32_t g_peak_epoch;
HOT int64_t g_peak_noted;
HOT int64_t g_usable_high;
HOT uintptr_t g_loader_start;
HOT uintptr_t g_loader_size;
HOT bool g_is_short_way_open;
HOT bool g_is_other_way_open;
