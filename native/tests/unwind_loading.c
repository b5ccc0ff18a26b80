/* Objects that come and go: code at a reused address, many threads meeting a new object at once, and
 * an object without unwind information.
 *
 * Usage: unwind_loading PLUGIN1 PLUGIN2 BARE, all from unwind_plugin.c: the first two are equal but
 * for their frames, the third has frame pointers and nothing to unwind by. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "unwind_check.h"

#define THREADS 6

typedef int plugin_function(void (*)(const char *), const char *);

static void *open_plugin(const char *path, plugin_function **call) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    *call = (plugin_function *)dlsym(handle, "plugin_call");
    return handle;
}

static uint64_t g_wrong;

/* Like check(), but only counts. */
static __attribute__((noinline)) void count_wrong(const char *what) {
    (void)what;
    void *reference[64];
    struct hg_caller caller = CALLER_OF_THIS_FUNCTION();
    hg_walk(&tls_walker, &caller, 60);
    int count = backtrace(reference, 64) - 1;
    bool same = (int)tls_walker.depth == count;
    for (int i = 0; same && i < count; i++)
        same = tls_walker.frames[i] == (uintptr_t)reference[i + 1];
    g_wrong += !same;
}

static uintptr_t call_plugin(const char *path, void (*body)(const char *)) {
    plugin_function *call;
    void *handle = open_plugin(path, &call);
    call(body, "plugin");
    dlclose(handle);
    return (uintptr_t)call;
}

/* Rules of an unloaded object are gone once the loader's change was looked at. */
static void check_reused_address(const char *one, const char *two) {
    uint32_t retired = g_retired_modules;
    uint64_t generation = g_modules_generation;
    uintptr_t place = 0;
    for (int i = 0; i < 40; i++) {
        uintptr_t here = call_plugin(i % 2 ? two : one, check);
        EXPECT(!place || here == place, "not mapped where the other one was: %lx, %lx", here,
               place);
        place = here;
        hg_modules_check_unloaded();
    }
    EXPECT(g_retired_modules == retired + 40, "%u retired", g_retired_modules - retired);
    EXPECT(g_retired_ranges == g_retired_modules, "%u ranges", g_retired_ranges);
    EXPECT(g_modules_generation == generation + 40 * HG_GENERATION, "generation %lx",
           g_modules_generation);
    for (uint32_t i = 0; i < g_module_count; i++) {
        bool plugin = strstr(g_module_paths[i], "plugin") != NULL;
        EXPECT((g_modules[i].node_end != UINT32_MAX) == plugin, "%s", g_module_paths[i]);
        EXPECT(!plugin || g_modules[i].node_first < g_modules[i].node_end ||
                   g_modules[i].node_first == g_modules[i].node_end,
               "%s", g_module_paths[i]);
    }
}

/* The same without looking must give wrong stacks, or the test above has tested nothing: the second
 * plugin is walked by the first one's rules. */
static void check_that_it_matters(const char *one, const char *two) {
    g_wrong = 0;
    for (int i = 0; i < 4; i++) call_plugin(i % 2 ? two : one, count_wrong);
    EXPECT(g_wrong == 2, "%lu wrong stacks without the check", (unsigned long)g_wrong);
    hg_modules_check_unloaded();
}

static pthread_barrier_t g_barrier;

static void *meet_object(void *call) {
    pthread_barrier_wait(&g_barrier);
    ((plugin_function *)call)(check, "all at once");
    return NULL;
}

static void check_many_threads(const char *path) {
    plugin_function *call;
    uint32_t before = g_module_count;
    void *handle = open_plugin(path, &call);
    pthread_t threads[THREADS];
    pthread_barrier_init(&g_barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, meet_object, (void *)call);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&g_barrier);
    EXPECT(g_module_count == before + 1, "%u modules for one object", g_module_count - before);
    dlclose(handle);
    hg_modules_check_unloaded();
}

/* A stack in an object that is not told about: found again at once, without a check. */
static void check_reload(const char *path) {
    plugin_function *call;
    void *handle = open_plugin(path, &call);
    call(check, "first load");
    uint32_t modules = g_module_count;
    hg_modules_check_unloaded();
    call(check, "still loaded");
    EXPECT(g_module_count == modules, "an object that stayed was taken for a new one");
    dlclose(handle);
    hg_modules_check_unloaded();
}

/* backtrace() stops in such an object; the walk goes on to main by the frame pointer. */
static void check_bare(const char *path) {
    uint64_t extended = g_extended;
    plugin_function *call;
    void *handle = open_plugin(path, &call);
    call(check, "bare");
    EXPECT(g_extended == extended + 1, "no further than backtrace()");
    bool found = false;
    for (uint32_t i = 0; i < tls_walker.depth; i++) {
        const struct hg_code *code = hg_modules_find(tls_walker.frames[i]);
        found |= code && !code->eh.header;
    }
    EXPECT(found, "no frame in an object without unwind information");
    dlclose(handle);
    hg_modules_check_unloaded();
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: unwind_loading PLUGIN1 PLUGIN2 BARE\n");
        return 2;
    }
    start_unwinder();
    call_plugin(argv[1], check); /* the loader's and libc's own objects are known after this */
    hg_modules_check_unloaded();
    check_reused_address(argv[1], argv[2]);
    check_that_it_matters(argv[1], argv[2]);
    for (int i = 0; i < 20; i++) check_many_threads(argv[i % 2 + 1]);
    check_reload(argv[1]);
    check_bare(argv[3]);
    return report("loading");
}
