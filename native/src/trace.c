#include "trace.h"

#include "mode.h"
#include "modules.h"
#include "options.h"
#include "recording.h"
#include "sink.h"
#include "sys.h"
#include "text.h"

/* ---- event ------------------------------------------------------------------------------------- */

static uint64_t g_number; /* the last one given out */

void hg_events_start(void) { hg_store(&g_number, 0); }

uint64_t hg_event_number(void) { return hg_add_shared(&g_number, 1) + 1; }

uint64_t hg_event_last_number(void) { return hg_load(&g_number); }

const char *hg_event_name(enum hg_call call) {
    static const char *const names[] = {
        [HG_CALL_MALLOC] = "malloc",
        [HG_CALL_CALLOC] = "calloc",
        [HG_CALL_MEMALIGN] = "memalign",
        [HG_CALL_POSIX_MEMALIGN] = "posix_memalign",
        [HG_CALL_VALLOC] = "valloc",
        [HG_CALL_PVALLOC] = "pvalloc",
        [HG_CALL_ALIGNED_ALLOC] = "aligned_alloc",
        [HG_CALL_FREE] = "free",
        [HG_CALL_REALLOC_ALLOC] = "realloc-alloc",
        [HG_CALL_REALLOC_INPLACE] = "realloc-inplace",
        [HG_CALL_REALLOC_MOVED] = "realloc-realloc",
        [HG_CALL_REALLOC_FREE] = "realloc-free",
    };
    return names[call];
}

/* ---- trace ------------------------------------------------------------------------------------- */

#define STDERR 2
#define LINE_BYTES 512u

static struct {
    struct hg_sink sink;
    uint64_t dropped; /* lines, not yet said */
} g_trace;

void hg_trace_start(void) {
    __builtin_memset(&g_trace, 0, sizeof g_trace);
    bool is_on = g_options.trace && hg_sink_use(&g_trace.sink, STDERR);
    if (is_on) hg_mode_watch(HG_WATCHER_TRACE, true);
}

/* ---- the line ----------------------------------------------------------------------------------- */

static void put_address(struct hg_text *text, uintptr_t address) {
    uint32_t digits = (hg_bit_width(address | 1) + 3) / 4;
    hg_text_put(text, "0x");
    while (digits) hg_text_char(text, "0123456789abcdef"[address >> (4 * --digits) & 15]);
}

static void put_block(struct hg_text *text, const void *block) {
    if (block) put_address(text, (uintptr_t)block);
    else hg_text_put(text, "NULL");
}

static const char *what_became(enum hg_call call) {
    switch (call) {
    case HG_CALL_REALLOC_INPLACE: return ", in place";
    case HG_CALL_REALLOC_MOVED: return ", moved";
    case HG_CALL_REALLOC_FREE: return ", freed";
    default: return "";
    }
}

static void put_realloc(struct hg_text *text, const struct hg_event *event) {
    hg_text_put(text, "realloc(");
    put_block(text, event->old.block);
    hg_text_put(text, ", ");
    hg_text_number(text, event->size);
    hg_text_put(text, ") = ");
    put_block(text, event->got.block);
    hg_text_put(text, what_became(event->call));
}

static void put_call(struct hg_text *text, const struct hg_event *event) {
    if (event->call >= HG_CALL_REALLOC_ALLOC) {
        put_realloc(text, event);
        return;
    }
    hg_text_put(text, hg_event_name(event->call));
    hg_text_char(text, '(');
    if (event->call == HG_CALL_FREE) put_block(text, event->old.block);
    else hg_text_number(text, event->size);
    hg_text_char(text, ')');
    if (event->call != HG_CALL_FREE) {
        hg_text_put(text, " = ");
        put_block(text, event->got.block);
    } else if (event->old.block) {
        hg_text_put(text, ", ");
        hg_text_number(text, event->old.requested);
        hg_text_put(text, event->old.requested == 1 ? " byte" : " bytes");
    }
}

/* As addr2line takes it: the module, and the address in its file. */
static void put_caller(struct hg_text *text, uintptr_t pc) {
    const struct hg_code *code = hg_modules_find(pc);
    const struct hg_module *module = code ? hg_recording_module(code->module) : NULL;
    const char *base = module ? hg_recording_string(module->path) : "";
    for (const char *c = base; *c; c++) base = *c == '/' ? c + 1 : base;
    hg_text_put(text, "  from ");
    for (const char *c = base; *c; c++) hg_text_char(text, hg_text_is_control(*c) ? '?' : *c);
    if (*base) hg_text_char(text, '+');
    put_address(text, *base ? pc - code->bias : pc);
}

static void put_dropped(struct hg_text *text) {
    uint64_t dropped = hg_exchange(&g_trace.dropped, 0);
    if (!dropped) return;
    hg_text_put(text, "heapglass: ");
    hg_text_number(text, dropped);
    hg_text_put(text, " lines of the trace could not be written\n");
}

static void count_dropped(void) {
    hg_add_shared(&g_trace.dropped, 1);
    hg_add_shared(&g_header->output_losses, 1);
}

void hg_trace_write(const struct hg_event *event) {
    char line[LINE_BYTES];
    struct hg_text text = {line, sizeof line - 1, 0};
    if (hg_load(&g_trace.dropped)) put_dropped(&text);
    hg_text_put(&text, "heapglass: ");
    hg_text_number(&text, event->thread ? event->thread->record->tid : hg_sys_tid());
    hg_text_put(&text, "  ");
    put_call(&text, event);
    if (event->frame) put_caller(&text, event->frame->pc);
    line[text.length++] = '\n';
    uint64_t signals = hg_sys_block_signals();
    struct hg_opened opened = hg_sink_open(&g_trace.sink, false);
    opened.patience = hg_sink_patience(&g_trace.sink);
    if (opened.fd < 0) hg_mode_watch(HG_WATCHER_TRACE, false); /* it is somebody else's by now */
    else if (hg_sink_write(&g_trace.sink, &opened, line, text.length) < text.length)
        count_dropped();
    hg_sink_close(&opened);
    hg_sys_restore_signals(signals);
}
