#define _GNU_SOURCE
#include "modules.h"

#include <link.h>

#include "image.h"
#include "light.h"
#include "recording.h"
#include "rules.h"
#include "stacks.h"
#include "sys.h"

/* ---- module record ----------------------------------------------------------------------------- */

/* Describing a module. Once per object, so it may ask the kernel; the working space is mapped for
 * the time of the call, because hooks run on stacks of 16 KiB. */

#define PATH_SIZE 4096u

struct workspace {
    struct hg_module module;
    struct stat stat;
    size_t length; /* of the path */
    char path[2 * PATH_SIZE];
};

/* Append `text` to the path, cut at its end. */
static void append(struct workspace *w, const char *text) {
    while (*text && w->length + 1 < sizeof w->path) w->path[w->length++] = *text++;
}

/* A name the program may have given relative to its directory at that time. */
static void put_absolute(struct workspace *w, const char *name) {
    long size = name[0] == '/' ? 0 : hg_sys_getcwd(w->path, PATH_SIZE);
    if (size > 1) {
        w->length = (size_t)size - 1;
        if (w->length > 1) append(w, "/");
        if (name[0] == '.' && name[1] == '/') name += 2;
    }
    append(w, name);
}

static void put_program(struct workspace *w) {
    /* Started by the kernel; otherwise by a loader run by hand, and the link names that one. */
    bool direct = hg_auxv(AT_BASE) != 0;
    long length = direct ? hg_sys_readlink("/proc/self/exe", w->path, PATH_SIZE - 1) : -1;
    const char *name = (const char *)hg_auxv(AT_EXECFN);
    if (length <= 0 && name) put_absolute(w, name);
}

static void put_path(struct workspace *w, const struct hg_object *object) {
    if (object->flags & HG_MODULE_VDSO) {
        append(w, "[vdso]");
    } else if (object->flags & HG_MODULE_MAIN) {
        put_program(w);
    } else if (object->name) {
        put_absolute(w, object->name);
    }
}

static void put_file(struct workspace *w) {
    if (w->path[0] != '/' || hg_sys_stat(w->path, &w->stat) < 0) return;
    const struct timespec *changed = &w->stat.st_mtim;
    w->module.file_size = (uint64_t)w->stat.st_size;
    w->module.file_mtime_ns =
        (uint64_t)changed->tv_sec * UINT64_C(1000000000) + (uint64_t)changed->tv_nsec;
}

uint32_t hg_module_record(const struct hg_object *object, uint32_t node_first) {
    struct workspace *w = hg_sys_map_private(sizeof *w);
    if (!w) return UINT32_MAX;
    w->module.start = object->image.start;
    w->module.end = object->image.end;
    w->module.bias = object->image.bias;
    w->module.node_first = node_first;
    w->module.node_end = UINT32_MAX;
    w->module.flags = object->flags;
    w->module.build_id_length = hg_image_build_id(&object->image, w->module.build_id);
    put_path(w, object);
    put_file(w);
    uint32_t index = hg_recording_add_module(&w->module, w->path);
    hg_sys_unmap(w, sizeof *w);
    return index;
}

/* ---- modules ----------------------------------------------------------------------------------- */

/* The list of loaded objects.
 *
 * Slots are claimed by swapping the object's start address into them, so two threads that meet the
 * same object at once get one slot: the winner writes the module record, both fill in the same
 * facts. A retired slot is free again; whoever still holds a pointer to it finds another start.
 *
 * Without _dl_find_object (glibc before 2.35, other libcs) the list is filled by dl_iterate_phdr
 * when an address is met that no known object holds, once per page of such addresses. That call
 * takes the loader's lock. It is never made on behalf of the loader's own allocations, which is
 * where musl, whose lock is not recursive, would stop for ever. The risk that remains: a program
 * whose dl_iterate_phdr callback waits for a lock that another thread holds while it allocates from
 * an object not seen before. */

#define MAX_OBJECTS 4096u
#define RETIRING 1u
#define MISSED_PAGES 64u

/* What _dl_find_object fills in; declared here because older headers do not have it. */
struct found_object {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};
extern int find_object(void *address, struct found_object *result) __asm__("_dl_find_object")
    __attribute__((weak));
extern struct r_debug loader_debug __asm__("_r_debug") __attribute__((weak));
extern const char *glibc_version(void) __asm__("gnu_get_libc_version") __attribute__((weak));

static struct hg_code *g_objects; /* MAX_OBJECTS slots */
static uint32_t g_used;           /* slots from here on were never used */
static uintptr_t *g_missed;       /* pages that dl_iterate_phdr did not know either */
static unsigned long long g_adds; /* the loader's count when dl_iterate_phdr was last asked */
static bool g_may_unload;         /* this libc unmaps objects */

#ifdef HG_OLD_LOADER /* set by a test: behave as on a libc without _dl_find_object */
static bool has_find_object(void) { return false; }
#else
static bool has_find_object(void) { return find_object != NULL; }
#endif

static bool holds(const struct hg_code *code, uintptr_t address) {
    uintptr_t start = hg_load_acquire(&code->start);
    return start > RETIRING && address - start < hg_load_acquire(&code->end) - start;
}

/* The listed object that holds `address`; with `permanent_only` one that can never go away. */
static struct hg_code *listed(uintptr_t address, bool permanent_only) {
    uint32_t used = hg_load_acquire(&g_used);
    for (uint32_t i = 0; i < used; i++) {
        struct hg_code *code = &g_objects[i];
        if (holds(code, address) && (code->permanent || !permanent_only)) return code;
    }
    return NULL;
}

/* ---- leaving ------------------------------------------------------------------------------- */

static void retire(struct hg_code *code) {
    uintptr_t start = hg_load(&code->start), end = hg_load(&code->end);
    if (start <= RETIRING || !hg_swap(&code->start, &start, RETIRING)) return;
    hg_light_unloaded(code->link_map);
    hg_rules_forget(start, end);
    if (code->module != UINT32_MAX) hg_recording_retire_module(code->module, hg_stacks_nodes());
    hg_stacks_retire(start, end);
    hg_add_shared(&g_modules_generation, HG_GENERATION);
    hg_store(&code->end, 0);
    hg_store_release(&code->start, 0);
}

static bool still_loaded(const struct hg_code *code, uintptr_t start) {
    /* The loader forgets an object, then unmaps it, then frees its records. */
    if (!has_find_object()) return hg_sys_readable(start);
    struct found_object found;
    return find_object((void *)start, &found) == 0 && (uintptr_t)found.map_start == start &&
           (uintptr_t)found.map_end == hg_load(&code->end) && found.link_map == code->link_map;
}

void hg_modules_check_unloaded(void) {
    if (!g_may_unload) return;
    for (uint32_t i = 0; i < MISSED_PAGES; i++) hg_store(&g_missed[i], 0);
    uint32_t used = hg_load_acquire(&g_used);
    for (uint32_t i = 0; i < used; i++) {
        struct hg_code *code = &g_objects[i];
        uintptr_t start = hg_load_acquire(&code->start);
        if (start <= RETIRING || code->permanent || hg_load(&code->end) == 0) continue;
        if (!still_loaded(code, start)) retire(code);
    }
}

static bool same(const struct hg_code *code, const struct hg_object *object) {
    uintptr_t end = hg_load(&code->end);
    /* No end yet: claimed a moment ago by another thread, for this very object. */
    return hg_load_acquire(&code->start) == object->image.start &&
           (end == 0 || (end == object->image.end && code->link_map == object->link_map));
}

/* Whatever is listed where another object now lies has gone unnoticed. */
static void retire_overlapped(const struct hg_object *object) {
    uint32_t used = hg_load_acquire(&g_used);
    for (uint32_t i = 0; i < used; i++) {
        struct hg_code *code = &g_objects[i];
        uintptr_t start = hg_load_acquire(&code->start), end = hg_load(&code->end);
        bool apart = start <= RETIRING || end <= object->image.start || start >= object->image.end;
        if (!apart && !code->permanent && !same(code, object)) retire(code);
    }
}

/* ---- entering ------------------------------------------------------------------------------ */

static struct hg_code *known(const struct hg_object *object) {
    uint32_t used = hg_load_acquire(&g_used);
    for (uint32_t i = 0; i < used; i++) {
        if (same(&g_objects[i], object)) return &g_objects[i];
    }
    return NULL;
}

static void raise_used(uint32_t count) {
    uint32_t used = hg_load(&g_used);
    while (used < count && !hg_swap(&g_used, &used, count)) continue;
}

/* A slot for the object; *won says whether this thread is the one to describe it. NULL: no room. A
 * slot freed at this very moment can give one object two slots and two equal records: harmless. */
static struct hg_code *claim(const struct hg_object *object, bool *won) {
    *won = false;
    for (uint32_t i = 0; i < MAX_OBJECTS; i++) {
        uintptr_t start = hg_load_acquire(&g_objects[i].start);
        if (start == 0) {
            raise_used(i + 1);
            *won = hg_swap(&g_objects[i].start, &start, object->image.start);
            if (*won) return &g_objects[i];
        }
        if (start == object->image.start) return &g_objects[i];
    }
    return NULL;
}

/* The same stores by every thread that meets the object, so none has to wait for another. `end` is
 * last: it makes the slot answer for addresses. */
static void fill(struct hg_code *code, const struct hg_object *object) {
    struct hg_eh_frame eh;
    hg_image_eh_frame(&object->image, object->eh_frame_hdr, &eh);
    hg_store(&code->bias, object->image.bias);
    hg_store(&code->eh.header, eh.header);
    hg_store(&code->eh.header_end, eh.header_end);
    hg_store(&code->eh.lo, eh.lo);
    hg_store(&code->eh.hi, eh.hi);
    hg_store(&code->link_map, object->link_map);
    hg_store(&code->permanent, object->flags != 0);
    hg_store_release(&code->end, object->image.end);
}

static HG_NOINLINE const struct hg_code *add(const struct hg_object *object) {
    retire_overlapped(object);
    /* Before the slot can be seen: nodes made by a thread that sees it must not be older. */
    uint32_t node_first = object->flags ? 0 : hg_stacks_nodes();
    bool won;
    struct hg_code *code = claim(object, &won);
    if (!code) return NULL;
    fill(code, object);
    if (won && !code->permanent) hg_light_loaded(code->link_map);
    if (won) hg_store(&code->module, hg_module_record(object, node_first));
    return code;
}

/* ---- asking the loader ----------------------------------------------------------------------- */

/* The program, if that is what lies at `start`. Where there are gaps between its segments the loader
 * gives one segment at a time, because other objects may be mapped in between. */
static bool open_program(uintptr_t start, uintptr_t bias, struct hg_image *image) {
    return hg_image_of_program(image) && image->bias == bias &&
           start - image->start < image->end - image->start;
}

/* Program headers if they agree with the loader, those behind the mapped ELF header or the program's;
 * else only the range. */
static void open_image(struct hg_object *object, uintptr_t start, uintptr_t end, uintptr_t bias) {
    struct hg_image *image = &object->image;
    bool agrees = hg_image_open(start, image) && image->bias == bias && image->end <= end;
    if (!agrees) agrees = open_program(start, bias, image);
    if (!agrees) *image = (struct hg_image){.bias = bias};
    image->start = start;
    image->end = end;
}

static uint32_t flags_of(const struct hg_object *object) {
    uintptr_t start = object->image.start, size = object->image.end - start;
    if (hg_auxv(AT_SYSINFO_EHDR) - start < size) return HG_MODULE_VDSO;
    if (g_loader_start - start < size) return HG_MODULE_LOADER;
    bool nameless = !object->name || !object->name[0];
    return nameless || hg_auxv(AT_ENTRY) - start < size ? HG_MODULE_MAIN : 0;
}

static HG_NOINLINE const struct hg_code *find_now(uintptr_t address) {
    struct found_object found;
    if (find_object((void *)address, &found) != 0) return NULL;
    struct hg_object object = {.image.start = (uintptr_t)found.map_start,
                               .image.end = (uintptr_t)found.map_end,
                               .link_map = found.link_map};
    if (address - object.image.start >= object.image.end - object.image.start) return NULL;
    struct hg_code *code = known(&object);
    if (code && hg_load(&code->end)) return code;
    open_image(&object, object.image.start, object.image.end, found.link_map->l_addr);
    object.eh_frame_hdr = (uintptr_t)found.eh_frame;
    object.name = found.link_map->l_name;
    object.flags = flags_of(&object);
    return add(&object);
}

static int take_object(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)unused;
    struct hg_object object = {.name = info->dlpi_name};
    bool has_counts = size >= offsetof(struct dl_phdr_info, dlpi_subs);
    if (has_counts && info->dlpi_adds == g_adds) return 1;
    uintptr_t headers = (uintptr_t)info->dlpi_phdr;
    if (!hg_image_from_headers(headers, info->dlpi_phnum, info->dlpi_addr, &object.image)) return 0;
    object.flags = flags_of(&object);
    if (!known(&object)) add(&object);
    return 0;
}

static int count_adds(struct dl_phdr_info *info, size_t size, void *adds) {
    bool has_counts = size >= offsetof(struct dl_phdr_info, dlpi_subs);
    *(unsigned long long *)adds = has_counts ? info->dlpi_adds : 0;
    return 1;
}

static HG_NOINLINE void refresh(void) {
    unsigned long long adds = 0;
    dl_iterate_phdr(take_object, NULL);
    dl_iterate_phdr(count_adds, &adds);
    g_adds = adds;
}

/* Ask about an unknown address; not twice for one page as long as the loader has not changed
 * anything, or generated code would take its lock at every allocation. */
static const struct hg_code *ask(uintptr_t address) {
    uintptr_t page = address / HG_PAGE, *missed = &g_missed[page % MISSED_PAGES];
    if (hg_load(missed) == page) return NULL;
    refresh();
    const struct hg_code *code = listed(address, false);
    if (!code) hg_store(missed, page);
    return code;
}

const struct hg_code *hg_modules_find_for(uintptr_t address, uintptr_t caller) {
    const struct hg_code *code = listed(address, has_find_object());
    if (code) return code;
    if (has_find_object()) return find_now(address);
    return hg_modules_is_loader(caller) ? NULL : ask(address);
}

const struct hg_code *hg_modules_find(uintptr_t address) {
    return hg_modules_find_for(address, g_loader_start); /* as careful as for the loader itself */
}

/* ---- start --------------------------------------------------------------------------------- */

/* The loader names no range of itself that could be trusted: the kernel says where it put it, or,
 * where it was started as a program of its own, its debugger interface does. */
static void find_loader(struct hg_image *image) {
    uintptr_t base = hg_auxv(AT_BASE);
    if (!base && &loader_debug) base = loader_debug.r_ldbase;
    if (!base || !hg_image_open(base, image)) *image = (struct hg_image){0};
    g_loader_start = image->start;
    g_loader_size = image->end - image->start;
}

static void add_loader(const struct hg_image *image) {
    struct hg_object object = {.image = *image, .flags = HG_MODULE_LOADER};
    struct found_object found;
    bool named = has_find_object() && find_object((void *)image->start, &found) == 0 &&
                 (uintptr_t)found.map_start == image->start;
    struct hg_image program;
    if (named) {
        object.link_map = found.link_map;
        object.name = found.link_map->l_name;
    } else if (hg_image_of_program(&program)) {
        object.name = hg_image_interpreter(&program);
    }
    add(&object);
}

static void add_vdso(void) {
    struct hg_object object = {.flags = HG_MODULE_VDSO};
    if (hg_image_open(hg_auxv(AT_SYSINFO_EHDR), &object.image)) add(&object);
}

bool hg_modules_start(void) {
    size_t size = MAX_OBJECTS * sizeof *g_objects;
    g_objects = hg_sys_map_private(size + MISSED_PAGES * sizeof *g_missed);
    if (!g_objects) return false;
    g_missed = (uintptr_t *)((char *)g_objects + size);
    g_used = 0;
    g_adds = 0;
    g_may_unload = glibc_version != NULL;
    struct hg_image loader;
    find_loader(&loader);
    if (loader.headers) add_loader(&loader);
    add_vdso();
    hg_modules_find(hg_auxv(AT_ENTRY));
    return true;
}
