#include "residency.h"

#include <fcntl.h>

#include "hot.h"
#include "sys.h"
#include "text.h"

#define STATUS_FILE "/proc/self/status"
#define STATUS_BYTES 1536u   /* more than there is before that line */
#define PEAK_LINE "\nVmHWM:" /* in KiB */

static struct {
    uint64_t inherited;  /* bytes: what the kernel tells is this program's only above */
    uint64_t file_bytes; /* ours in the file, when the greatest was noted */
    bool is_unmeasured;  /* what we have outside of the file was not measured since then */
} g_residency;

/* Of this program alone; 0 if it cannot be known. */
static uint64_t read_peak(void) {
    char text[STATUS_BYTES];
    int fd = hg_sys_open(STATUS_FILE, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    long length = hg_sys_read(fd, text, sizeof text - 1);
    hg_sys_close(fd);
    text[length > 0 ? length : 0] = 0;
    const char *at = hg_text_find(text, PEAK_LINE);
    if (!at) return 0;
    at += sizeof PEAK_LINE - 1;
    while (*at == ' ' || *at == '\t') at++;
    uint64_t kib = 0;
    for (; *at >= '0' && *at <= '9'; at++) kib = kib * 10 + (uint64_t)(*at - '0');
    return kib << 10;
}

/* Pages of the file stay, once they are reserved; where all of it was reserved at once not all was touched. */
static uint64_t file_bytes(void) {
    uint64_t reserved = hg_load(&g_header->file_reserved_bytes), used = hg_load(&g_header->used);
    return reserved < used ? reserved : used;
}

static void keep(uint64_t greatest) {
    g_residency.file_bytes = file_bytes();
    g_residency.is_unmeasured = true;
    hg_store(&g_header->greatest_rss, greatest);
    hg_store(&g_header->greatest_rss_ours,
             g_residency.file_bytes + hg_load(&g_header->private_bytes));
}

void hg_residency_start(void) {
    uint64_t known = read_peak(), told = hg_sys_greatest_rss();
    g_residency.inherited = told > known ? told : 0;
    hg_store(&g_header->unknown_rss, g_residency.inherited);
    keep(known);
}

void hg_residency_note(void) {
    uint64_t told = hg_sys_greatest_rss();
    if (told > g_residency.inherited && told > hg_load(&g_header->greatest_rss)) keep(told);
}

void hg_residency_measured(void) {
    if (!g_residency.is_unmeasured) return;
    g_residency.is_unmeasured = false;
    hg_store(&g_header->greatest_rss_ours,
             g_residency.file_bytes + hg_load(&g_header->private_bytes));
}

void hg_residency_end(void) {
    if (hg_load(&g_header->greatest_rss) > g_residency.inherited) return;
    uint64_t known = read_peak();
    if (!known) return;
    keep(known);
    hg_store(&g_header->unknown_rss, 0);
}
