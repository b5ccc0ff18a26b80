#include "recording.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "clock.h"
#include "options.h"
#include "sys.h"
#include "table.h"

/* An address range, not memory: enough for the ledger of a 250 GB heap. */
#define CAPACITY (UINT64_C(64) << 30)
/* The file is sparse, but programs that read whole directories read its holes too: it starts small
 * and grows, through its path. That can fail later (chroot, fewer rights), so not too small. */
#define FIRST_SIZE (UINT64_C(256) << 20)
#define GROWTH 4u
/* In memory only what may be touched counts against the program's limits (RLIMIT_DATA, strict overcommit): little,
 * and it grows by little. */
#define FIRST_SIZE_IN_MEMORY (UINT64_C(32) << 20)
#define GROWTH_IN_MEMORY 2u
#define IN_MEMORY INT32_MAX    /* in place of a descriptor */
#define WAIT_FOR_GROWTH 10000u /* yields */
#define CAPACITY_LEAST (UINT64_C(1) << 20)
/* Kernels before 5.14 cannot reserve through the mapping: this much is reserved up front. */
#define CAPACITY_UP_FRONT (UINT64_C(256) << 20)
/* The header, and a directory block of a hundred extents: most programs need no second one. */
#define START_BYTES (2 * HG_PAGE)
/* A core dump may take mappings of files along (HEAPGLASS_CORE, or the user's own filter). Of ours it
 * takes what is used, in such pieces: a dump of the whole mapping would take seconds, all of it holes. */
#define DUMP_PIECE (UINT64_C(1) << 20)
#define STEPS_AFTER_CUT 16u
#define MAX_BLOCKS 1024u /* of the directory: enough for extents of one step each */
#define ENTRIES(bytes) (((bytes) - sizeof(struct hg_directory)) / sizeof(struct hg_extent))
#define FIRST_ENTRIES ENTRIES(START_BYTES - HG_PAGE)
#define BLOCK_ENTRIES ENTRIES(HG_STEP)

/* What is mapped, in a page that a forked child finds zeroed: there something else may lie at that place. */
static union {
    struct {
        uintptr_t start;
        uint64_t size;
    } range;
    uint8_t page[HG_PAGE];
} g_mapped __attribute__((aligned(HG_PAGE)));

static struct {
    /* Steps used (low half) and steps there are (high half) in one word, so that a cut at exit
     * and a thread taking an extent cannot miss each other. */
    uint64_t space;
    uint64_t limit;    /* steps that are mapped: the file may grow that far */
    uint32_t resizing; /* a thread is changing the file's size */
    uint64_t dumped;   /* bytes, from the start, that a core dump may take along */
    const char *path;  /* NULL: it is no file, but memory */
    uint64_t budget;
    uint64_t measure_at; /* bytes reserved at which our other memory is asked for */
    bool full;           /* a reservation failed: none is tried again */
    bool up_front;       /* everything is reserved already */
    bool is_let_go;      /* the file is not ours any more */
    uint64_t device, inode;
    struct hg_directory *blocks[MAX_BLOCKS]; /* of the directory, in their order */
    uint64_t listed;                         /* entries of the directory handed out */
    uint32_t module_count;
    uint64_t strings_used;
    struct hg_table modules;
    struct hg_table strings; /* of single bytes */
} g_file;

/* A limit is the program's; take a small part of what it leaves. */
static uint64_t part_of(uint64_t left) { return left / 16 > CAPACITY ? CAPACITY : left / 16; }

/* Growing a file past RLIMIT_FSIZE raises SIGXFSZ. */
static uint64_t largest_size(void) { return g_file.path ? hg_sys_limit(RLIMIT_FSIZE) : UINT64_MAX; }

static uint64_t wanted_capacity(void) {
    uint64_t capacity = part_of(hg_sys_left()), largest = largest_size();
    if (largest < capacity) capacity = largest;
    return capacity & ~(uint64_t)(HG_STEP - 1);
}

static uint64_t first_size(uint64_t capacity) {
    uint64_t first = g_file.path ? FIRST_SIZE : FIRST_SIZE_IN_MEMORY;
    return capacity < first ? capacity : first;
}

/* Make the file that long. A program may have given up the right to set a file's length (xz does before
 * its first allocation); a byte written at the end needs only that to write. */
static int lengthen(int fd, uint64_t size) {
    if (fd == IN_MEMORY) return hg_sys_show(g_header, size);
    if (g_file.up_front) return hg_sys_allocate_fd(fd, size);
    int error = hg_sys_truncate_fd(fd, size);
    if (error != -13 /* EACCES */) return error;
    long written = hg_sys_write_at(fd, "", 1, size - 1);
    return written < 0 ? (int)written : 0;
}

/* Size and map the open file, the largest way that works. */
static struct hg_header *map_largest(int fd, uint64_t *capacity, int *error) {
    *error = -27; /* EFBIG */
    for (; *capacity >= CAPACITY_LEAST; *capacity = *capacity / 2 & ~(uint64_t)(HG_STEP - 1)) {
        *error = lengthen(fd, first_size(*capacity));
        if (*error < 0) continue;
        struct hg_header *header = hg_sys_map_file(fd, *capacity, HG_HUGE);
        if (header) return header;
        *error = -12; /* ENOMEM */
    }
    return NULL;
}

/* Memory in place of the file, as much as can be had. */
static int map_memory(uint64_t *capacity) {
    for (; *capacity >= CAPACITY_LEAST; *capacity = *capacity / 2 & ~(uint64_t)(HG_STEP - 1)) {
        g_header = hg_sys_map_hidden(*capacity, HG_HUGE);
        if (g_header && lengthen(IN_MEMORY, first_size(*capacity)) >= 0) return 0;
        if (g_header) hg_sys_unmap(g_header, *capacity);
    }
    g_header = NULL;
    return -12; /* ENOMEM */
}

/* Reserve what every recording needs of the first step; where the kernel cannot do that through a mapping, the whole file. */
static int reserve_start(int fd, struct hg_header *header, uint64_t *capacity) {
    int error = hg_sys_populate(header, START_BYTES);
    if (error == -14 /* EFAULT */) return -28; /* ENOSPC, by the name that all know */
    if (error != -22 /* EINVAL */) return error;
    if (*capacity > CAPACITY_UP_FRONT) *capacity = CAPACITY_UP_FRONT;
    g_file.up_front = true;
    return hg_sys_allocate_fd(fd, *capacity);
}

static void start_directory(struct hg_directory *first) {
    __builtin_memset(g_file.blocks, 0, sizeof g_file.blocks);
    g_file.listed = 0;
    first->capacity = FIRST_ENTRIES;
    hg_store_release(&g_file.blocks[0], first);
}

/* Let a core dump take the file along until `end`. */
static void dump_until(uint64_t end) {
    uint64_t seen = hg_load(&g_file.dumped), limit = hg_load(&g_file.limit) * HG_STEP;
    if (end <= seen) return;
    end = (end + DUMP_PIECE - 1) & ~(DUMP_PIECE - 1);
    if (end > limit) end = limit;
    hg_sys_dump((uint8_t *)g_header + seen, end - seen, true);
    while (seen < end && !hg_swap(&g_file.dumped, &seen, end)) continue;
}

static void start_dumping(uint64_t capacity) {
    g_file.dumped = 0;
    hg_sys_dump(g_header, capacity, false);
    dump_until(HG_STEP);
}

static void note_mapped(uint64_t size) {
    hg_store(&g_mapped.range.size, size);
    hg_store_release(&g_mapped.range.start, (uintptr_t)g_header);
}

bool hg_recording_holds(uintptr_t address) {
    uintptr_t start = hg_load_acquire(&g_mapped.range.start);
    return start && address - start < hg_load(&g_mapped.range.size);
}

static bool start_header(uint64_t capacity) {
    if (hg_sys_wipe_on_fork(&g_mapped, sizeof g_mapped) >= 0) note_mapped(capacity);
    g_file.limit = capacity / HG_STEP;
    g_file.space = first_size(capacity) / HG_STEP << 32 | 1;
    start_dumping(capacity);
    g_file.budget = g_options.memory_budget;
    g_file.measure_at = 0;
    g_header->capacity = first_size(capacity);
    g_header->used = HG_STEP;
    g_header->file_reserved_bytes = g_file.up_front ? capacity : START_BYTES;
    g_header->directory = HG_PAGE;
    if (g_file.up_front) g_header->flags |= HG_FLAG_NO_POPULATE;
    start_directory((struct hg_directory *)((uint8_t *)g_header + HG_PAGE));
    g_file.module_count = 0;
    g_header->strings_used = g_file.strings_used = 1; /* offset 0 is the empty string */
    hg_tables_start();
    return hg_table_start(&g_file.modules, HG_KIND_MODULES, 0, sizeof(struct hg_module),
                          HG_MODULES) &&
           hg_table_start(&g_file.strings, HG_KIND_STRINGS, 0, 1, 64u << 20);
}

static void remember_identity(int fd) {
    struct stat file;
    if (hg_sys_stat_fd(fd, &file) < 0) return;
    g_file.device = file.st_dev;
    g_file.inode = file.st_ino;
}

static bool is_ours(int fd) {
    struct stat file;
    return hg_sys_stat_fd(fd, &file) >= 0 && file.st_dev == g_file.device &&
           file.st_ino == g_file.inode;
}

static void start_file(const char *path) {
    g_file.space = 0, g_file.full = false, g_file.up_front = false, g_file.resizing = 0;
    g_file.is_let_go = false;
    g_file.path = path;
}

enum hg_create hg_recording_create_in_memory(int *error) {
    start_file(NULL);
    uint64_t capacity = wanted_capacity();
    *error = map_memory(&capacity);
    if (*error < 0) return HG_CREATE_FAILED;
    if (start_header(capacity)) return HG_CREATED;
    *error = -12; /* ENOMEM */
    hg_recording_abandon();
    return HG_CREATE_FAILED;
}

enum hg_create hg_recording_create(const char *path, int *error) {
    start_file(path);
    int fd = hg_sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        *error = fd;
        return fd == -17 /* EEXIST */ ? HG_CREATE_EXISTS : HG_CREATE_FAILED;
    }
    hg_sys_write_in_place(fd);
    remember_identity(fd);
    uint64_t capacity = wanted_capacity();
    g_header = map_largest(fd, &capacity, error);
    if (g_header) *error = reserve_start(fd, g_header, &capacity);
    hg_sys_close(fd);
    if (g_header && *error >= 0) {
        if (start_header(capacity)) return HG_CREATED;
        *error = -12; /* ENOMEM */
    }
    hg_recording_abandon();
    return HG_CREATE_FAILED;
}

void hg_recording_abandon(void) {
    /* The mapping stays: a thread may still hold an address in it. It is not counted or used. */
    if (g_file.path) hg_sys_unlink(g_file.path);
    g_header = NULL;
}

uint64_t hg_recording_most(uint64_t bytes) { return hg_load(&g_file.limit) * HG_STEP / bytes; }

/* One thread at a time changes the file's size. Nobody waits for long. */
static bool try_resizing(void) {
    for (uint32_t i = 0; i < WAIT_FOR_GROWTH; i++) {
        if (!hg_exchange(&g_file.resizing, 1)) return true;
        hg_sys_yield();
    }
    return false;
}

int hg_recording_open(void) {
    if (!g_file.path) return -2; /* ENOENT: there is none */
    int fd = hg_sys_open(g_file.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0 || is_ours(fd)) return fd;
    hg_sys_close(fd);
    return -2; /* ENOENT: another file has its name now */
}

static int open_again(void) { return g_file.path ? hg_recording_open() : IN_MEMORY; }

static void close_again(int fd) {
    if (fd != IN_MEMORY) hg_sys_close(fd);
}

static void publish_size(uint64_t size) {
    hg_store(&g_header->capacity, size);
    if (g_file.up_front) hg_store(&g_header->file_reserved_bytes, size);
}

static bool is_shorter(int fd, uint64_t bytes) {
    struct stat file;
    return hg_sys_stat_fd(fd, &file) < 0 || (uint64_t)file.st_size < bytes;
}

/* Only ever called by the thread that is resizing, so the file never shrinks meanwhile. */
static bool grow_to(uint64_t wanted) {
    uint64_t seen = hg_load(&g_file.space);
    if (largest_size() < wanted * HG_STEP) return false;
    int fd = open_again();
    if (fd < 0) return false;
    /* Someone may have cut it short: made longer again it would look whole. */
    bool is_cut = fd != IN_MEMORY && is_shorter(fd, (seen >> 32) * HG_STEP);
    bool grown = !is_cut && lengthen(fd, wanted * HG_STEP) >= 0;
    close_again(fd);
    while (grown && !hg_swap(&g_file.space, &seen, wanted << 32 | (uint32_t)seen)) continue;
    if (grown) publish_size(wanted * HG_STEP);
    return grown;
}

static bool grow_locked(uint64_t steps) {
    uint64_t seen = hg_load(&g_file.space), used = (uint32_t)seen, size = seen >> 32;
    if (used + steps <= size) return true; /* another thread was quicker */
    uint64_t wanted = size * (g_file.path ? GROWTH : GROWTH_IN_MEMORY);
    if (wanted < used + steps) wanted = used + steps;
    if (wanted > hg_load(&g_file.limit)) wanted = hg_load(&g_file.limit);
    return used + steps <= wanted && grow_to(wanted);
}

enum growth { GROWN, BUSY, CANNOT };

static enum growth grow(uint64_t steps) {
    bool may_grow = !hg_load(&g_file.is_let_go);
    if (!may_grow || hg_load(&g_header->ladder) != HG_LADDER_RECORDING) return CANNOT;
    uint64_t signals = hg_sys_block_signals();
    enum growth growth = BUSY;
    if (try_resizing()) {
        growth = grow_locked(steps) ? GROWN : CANNOT;
        hg_store_release(&g_file.resizing, 0);
    }
    hg_sys_restore_signals(signals);
    return growth;
}

static enum hg_reason why_full(uint64_t steps) {
    uint64_t used = (uint32_t)hg_load(&g_file.space);
    bool is_mapped = used + steps <= hg_load(&g_file.limit);
    return is_mapped ? HG_REASON_CANNOT_GROW : HG_REASON_BUDGET;
}

/* Take `steps` steps that start at a multiple of `alignment` steps, a power of two. */
static enum growth take_aligned(uint64_t steps, uint64_t alignment, uint64_t *offset) {
    uint64_t seen = hg_load(&g_file.space), skipped;
    if (hg_load(&g_file.is_let_go)) return CANNOT;
    do {
        while (skipped = -(uint64_t)(uint32_t)seen & (alignment - 1),
               (uint32_t)seen + skipped + steps > seen >> 32) {
            enum growth growth = grow(skipped + steps);
            if (growth != GROWN) return growth;
            seen = hg_load(&g_file.space);
        }
        *offset = ((uint32_t)seen + skipped) * HG_STEP;
    } while (!hg_swap(&g_file.space, &seen, seen + skipped + steps));
    hg_raise(&g_header->used, *offset + steps * HG_STEP);
    dump_until(*offset + steps * HG_STEP);
    return GROWN;
}

/* NULL when there is no space; while another thread is changing that, the event is lost and the next
 * one tries again. */
static void *take_steps(uint64_t steps, uint64_t *offset) {
    enum growth growth = take_aligned(steps, 1, offset);
    if (growth == CANNOT) hg_recording_step_down(HG_LADDER_DROPPING, why_full(steps));
    return growth == GROWN ? (uint8_t *)g_header + *offset : NULL;
}

/* Where entries of the directory stand, by its blocks as we know them: what the file says of them may be anything by
 * now. */
static uint32_t block_of(uint64_t entry) {
    return entry < FIRST_ENTRIES ? 0 : 1 + (uint32_t)((entry - FIRST_ENTRIES) / BLOCK_ENTRIES);
}

static uint64_t place_in_block(uint64_t entry) {
    return entry < FIRST_ENTRIES ? entry : (entry - FIRST_ENTRIES) % BLOCK_ENTRIES;
}

static struct hg_directory *block_at(uint32_t number);

/* Link a new directory block behind the one before; some thread's wins. */
static struct hg_directory *add_block(uint32_t number) {
    uint64_t offset;
    struct hg_directory *before = block_at(number - 1), *none = NULL;
    struct hg_directory *made = before ? take_steps(1, &offset) : NULL;
    if (!made || !hg_recording_reserve(made, HG_STEP)) return NULL;
    made->capacity = BLOCK_ENTRIES;
    if (!hg_swap(&g_file.blocks[number], &none, made)) return none;
    hg_store_release(&before->next, offset);
    return made;
}

/* NULL: there is no room for it. */
static struct hg_directory *block_at(uint32_t number) {
    struct hg_directory *block =
        number < MAX_BLOCKS ? hg_load_acquire(&g_file.blocks[number]) : NULL;
    return block || number >= MAX_BLOCKS ? block : add_block(number);
}

static bool list_extent(enum hg_kind kind, const struct hg_extent *extent) {
    uint64_t number = hg_add_shared(&g_file.listed, 1);
    struct hg_directory *block = block_at(block_of(number));
    if (!block) return false;
    struct hg_extent *entry = &block->entries[place_in_block(number)];
    hg_store(&entry->owner, extent->owner);
    hg_store(&entry->offset, extent->offset);
    hg_store(&entry->length, extent->length);
    hg_store(&entry->first, extent->first);
    hg_store_release(&entry->kind, kind);
    hg_raise(&block->count, place_in_block(number) + 1);
    return true;
}

void *hg_recording_extent(enum hg_kind kind, uint32_t owner, uint64_t first, uint64_t length) {
    struct hg_extent extent = {HG_KIND_NONE, owner, 0, length, first};
    if (hg_load(&g_file.full)) return NULL;
    void *memory = take_steps((length + HG_STEP - 1) / HG_STEP, &extent.offset);
    if (!memory || !list_extent(kind, &extent)) return NULL;
    return memory;
}

bool hg_recording_list(enum hg_kind kind, uint32_t owner, uint64_t first, void *memory,
                       uint64_t length) {
    uint64_t offset = (uint64_t)((uint8_t *)memory - (uint8_t *)g_header);
    return list_extent(kind, &(struct hg_extent){HG_KIND_NONE, owner, offset, length, first});
}

/* Our memory outside the file is asked for anew whenever the file has grown by a 64th of the budget: it grows
 * together with that, and asking takes a walk over page tables. */
static uint64_t private_bytes(uint64_t reserved) {
    uint64_t due = hg_load(&g_file.measure_at);
    if (reserved >= due && hg_swap(&g_file.measure_at, &due, reserved + g_file.budget / 64))
        hg_store(&g_header->private_bytes, hg_sys_private_bytes());
    return hg_load(&g_header->private_bytes);
}

static bool is_within_budget(uint64_t reserved) {
    return !g_file.budget || reserved + private_bytes(reserved) <= g_file.budget;
}

bool hg_recording_lets(uint64_t bytes) {
    if (!g_file.budget) return true;
    hg_store(&g_header->private_bytes, hg_sys_private_bytes());
    bool is_let = is_within_budget(hg_load(&g_header->file_reserved_bytes) + bytes);
    if (!is_let) hg_recording_step_down(HG_LADDER_DROPPING, HG_REASON_BUDGET);
    return is_let;
}

enum reserving { RESERVED, REFUSED, OVER_BUDGET, DISK_FULL, NO_MEMORY, CONFINED, CUT_SHORT };

/* Whether the file ends before so many bytes: what a full disk says of a page is said of those beyond the end, too. */
static bool ends_before(uint64_t bytes) {
    int fd = hg_recording_open();
    if (fd < 0) return false;
    bool ends = is_shorter(fd, bytes);
    hg_sys_close(fd);
    return ends;
}

static enum reserving try_reserving(void *memory, size_t size) {
    if (hg_load(&g_file.full)) return REFUSED;
    if (g_file.up_front) return RESERVED;
    uintptr_t start = (uintptr_t)memory & ~(uintptr_t)(HG_PAGE - 1);
    size_t length = ((uintptr_t)memory + size - start + HG_PAGE - 1) & ~(size_t)(HG_PAGE - 1);
    uint64_t before = hg_add_shared(&g_header->file_reserved_bytes, length);
    bool within = is_within_budget(before + length);
    int error = within ? hg_sys_populate((void *)start, length) : 0;
    if (error == -22 /* EINVAL */ && !g_file.path) error = 0; /* memory comes when it is touched */
    if (within && error >= 0) return RESERVED;
    hg_add_shared(&g_header->file_reserved_bytes, -(uint64_t)length);
    if (!within) return OVER_BUDGET;
    if (error == -1 /* EPERM */) return CONFINED;
    if (!g_file.path) return NO_MEMORY;
    return ends_before(start + length - (uintptr_t)g_header) ? CUT_SHORT : DISK_FULL;
}

void *hg_recording_take_huge(void) {
    uint64_t offset, steps = HG_HUGE / HG_STEP;
    if (hg_load(&g_file.full) || take_aligned(steps, steps, &offset) != GROWN) return NULL;
    uint8_t *memory = (uint8_t *)g_header + offset;
    hg_sys_advise_huge(memory, HG_HUGE);
    return try_reserving(memory, HG_HUGE) == RESERVED ? memory : NULL;
}

void hg_recording_drop(const void *extent) {
    uint64_t offset = (uint64_t)((const uint8_t *)extent - (const uint8_t *)g_header);
    for (uint64_t i = 0, count = hg_load(&g_file.listed); i < count; i++) {
        uint32_t number = block_of(i);
        struct hg_directory *block =
            number < MAX_BLOCKS ? hg_load_acquire(&g_file.blocks[number]) : NULL;
        if (!block) return;
        struct hg_extent *entry = &block->entries[place_in_block(i)];
        if (hg_load_acquire(&entry->kind) && entry->offset == offset)
            hg_store(&entry->kind, HG_KIND_NONE);
    }
}

bool hg_recording_reserve(void *memory, size_t size) {
    static const enum hg_reason reasons[] = {[OVER_BUDGET] = HG_REASON_BUDGET,
                                             [DISK_FULL] = HG_REASON_DISK_FULL,
                                             [NO_MEMORY] = HG_REASON_NO_MEMORY,
                                             [CONFINED] = HG_REASON_CANNOT_GROW,
                                             [CUT_SHORT] = HG_REASON_FILE_LOST};
    enum reserving result = try_reserving(memory, size);
    if (result == RESERVED) return true;
    if (result == REFUSED) return false;
    hg_store(&g_file.full, true);
    hg_recording_step_down(HG_LADDER_DROPPING, reasons[result]);
    return false;
}

void hg_recording_step_down(enum hg_ladder to, enum hg_reason reason) {
    uint32_t seen = hg_load(&g_header->ladder);
    while (seen < (uint32_t)to) {
        if (!hg_swap(&g_header->ladder, &seen, (uint32_t)to)) continue;
        hg_store(&g_header->ladder_ns, hg_clock_now());
        hg_store_release(&g_header->ladder_reason, reason);
        return;
    }
}

uint32_t hg_recording_add_string(const char *text) {
    size_t length = 0;
    while (text[length]) length++;
    if (!length || length >= HG_STEP) return 0;
    /* Whole in one extent, so that a reader needs no seams. */
    uint64_t seen = hg_load(&g_file.strings_used), offset;
    do {
        offset = seen;
        if (offset / HG_STEP != (offset + length) / HG_STEP)
            offset = (offset / HG_STEP + 1) * HG_STEP;
    } while (!hg_swap(&g_file.strings_used, &seen, offset + length + 1));
    hg_raise(&g_header->strings_used, offset + length + 1);
    char *at = NULL;
    for (size_t i = 0; i <= length; i++) {
        at = hg_table_slot(&g_file.strings, (uint32_t)(offset + i));
        if (!at) return 0;
        *at = text[i];
    }
    return (uint32_t)offset;
}

uint32_t hg_recording_add_module(const struct hg_module *module, const char *path) {
    uint32_t index = hg_add_shared(&g_file.module_count, 1);
    hg_raise(&g_header->modules, index + 1);
    struct hg_module *slot = hg_table_slot(&g_file.modules, index);
    if (!slot) return UINT32_MAX;
    struct hg_module record = *module;
    uint64_t start = record.start;
    record.start = 0;
    record.path = hg_recording_add_string(path);
    *slot = record;
    hg_store_release(&slot->start, start);
    return index;
}

void hg_recording_retire_module(uint32_t index, uint32_t node_end) {
    struct hg_module *slot = hg_table_at(&g_file.modules, index);
    hg_store_release(&slot->node_end, node_end);
}

const struct hg_module *hg_recording_module(uint32_t index) {
    const struct hg_module *slot = hg_table_find(&g_file.modules, index);
    return slot && hg_load_acquire(&slot->start) ? slot : NULL;
}

uint32_t hg_recording_modules(void) {
    uint32_t count = hg_load_acquire(&g_file.module_count);
    return count < HG_MODULES ? count : HG_MODULES;
}

/* A string ends in the extent that it begins in, or it is none. */
const char *hg_recording_string(uint32_t offset) {
    const char *text = offset ? hg_table_find(&g_file.strings, offset) : NULL;
    for (uint32_t i = 0; text && i < HG_STEP - offset % HG_STEP; i++) {
        if (!text[i]) return text;
    }
    return "";
}

/* To so many steps, or as few as can be. No extent can be taken beyond the cut: it is in the word that they
 * are taken from. */
static void cut_open(int fd, uint64_t steps) {
    uint8_t *start = (uint8_t *)g_header;
    uint64_t seen = hg_load(&g_file.space), cut;
    do {
        cut = (uint32_t)seen + STEPS_AFTER_CUT;
        if (cut < steps) cut = steps;
        if (cut >= seen >> 32) return;
    } while (!hg_swap(&g_file.space, &seen, cut << 32 | (uint32_t)seen));
    if (fd == IN_MEMORY) hg_sys_hide(start + cut * HG_STEP, ((seen >> 32) - cut) * HG_STEP);
    else hg_sys_truncate_fd(fd, cut * HG_STEP);
    publish_size(cut * HG_STEP);
}

static void cut_locked(uint64_t steps) {
    int fd = open_again();
    if (fd < 0) return;
    cut_open(fd, steps);
    close_again(fd);
}

void hg_recording_cut(void) {
    if (hg_load(&g_file.is_let_go)) return;
    uint64_t signals = hg_sys_block_signals();
    if (try_resizing()) {
        cut_locked(0);
        hg_store_release(&g_file.resizing, 0);
    }
    hg_sys_restore_signals(signals);
}

void hg_recording_uncut(void) {
    if (hg_load(&g_file.is_let_go)) return;
    uint64_t signals = hg_sys_block_signals();
    if (try_resizing()) {
        uint64_t limit = hg_load(&g_file.limit), wanted = first_size(limit * HG_STEP) / HG_STEP;
        if (wanted > hg_load(&g_file.space) >> 32) grow_to(wanted);
        hg_store_release(&g_file.resizing, 0);
    }
    hg_sys_restore_signals(signals);
}

/* Nothing is ever mapped again where the mapping ends now. */
static void shrink_locked(uint64_t steps) {
    if (hg_load(&g_file.space) >> 32 > steps) cut_locked(steps);
    uint64_t size = hg_load(&g_file.space) >> 32, before = hg_load(&g_file.limit);
    if (steps < size) steps = size;
    if (steps >= before) return;
    hg_store(&g_file.limit, steps);
    note_mapped(steps * HG_STEP);
    hg_sys_unmap((uint8_t *)g_header + steps * HG_STEP, (before - steps) * HG_STEP);
}

void hg_recording_shrink(uint64_t limit) {
    if (g_file.up_front || hg_load(&g_file.is_let_go)) return;
    uint64_t signals = hg_sys_block_signals();
    if (try_resizing()) {
        uint64_t ours = hg_load(&g_file.limit) * HG_STEP;
        shrink_locked(part_of(hg_sys_left_under(limit, ours)) / HG_STEP);
        hg_store_release(&g_file.resizing, 0);
    }
    hg_sys_restore_signals(signals);
}

void hg_recording_leave_to_child(bool is_left) {
    hg_sys_leave_file_to_child(g_header, hg_load(&g_file.limit) * HG_STEP, is_left);
}

bool hg_recording_is_whole(void) { return !ends_before((hg_load(&g_file.space) >> 32) * HG_STEP); }

/* Beyond what is used nothing is ever handed out again. */
bool hg_recording_let_go(void) {
    hg_store(&g_file.full, true);
    hg_store(&g_file.is_let_go, true);
    uint64_t used = (uint32_t)hg_load(&g_file.space) * (uint64_t)HG_STEP;
    return hg_sys_map_over(g_header, used);
}

void hg_recording_part(void) {
    if (!g_file.path) return; /* a child gets a copy of memory as it is */
    int fd = hg_load(&g_file.is_let_go) ? -1 : hg_recording_open();
    if (fd < 0) return;
    note_mapped(hg_load(&g_file.limit) * HG_STEP);
    hg_sys_copy_of_file(fd, g_header, (hg_load(&g_file.space) >> 32) * HG_STEP);
    hg_sys_close(fd);
}
