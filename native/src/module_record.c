/* Describing a module. Once per object, so it may ask the kernel; the working space is mapped for
 * the time of the call, because hooks run on stacks of 16 KiB. */
#include "module_record.h"

#include "auxv.h"
#include "recording.h"
#include "sys.h"

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
