#include "marks.h"

#include "clock.h"
#include "lifecycle.h"
#include "recording.h"
#include "snapshots.h"
#include "sys.h"
#include "table.h"
#include "text.h"

#define NAME_BYTES 256u

static struct hg_table g_marks;

bool hg_marks_start(void) {
    return hg_table_start(&g_marks, HG_KIND_MARKS, 0, sizeof(struct hg_mark), HG_MARKS);
}

static void add(const char *name, uint64_t now_ns) {
    char kept[NAME_BYTES];
    uint32_t index = hg_add_shared(&g_header->marks, 1);
    struct hg_mark *mark = index < HG_MARKS ? hg_table_slot(&g_marks, index) : NULL;
    if (!mark) return;
    hg_text_copy(kept, sizeof kept, name && *name ? name : "mark");
    mark->time = now_ns;
    mark->tid = hg_sys_tid();
    hg_store_release(&mark->name, hg_recording_add_string(kept));
}

/* The point of the timeline that it adds is where a curve can be marked. */
HG_EXPORT void heapglass_mark(const char *name) {
    if (!hg_lifecycle_start()) return;
    uint64_t now = hg_clock_now();
    add(name, now);
    hg_snapshots_add_point(now);
}
