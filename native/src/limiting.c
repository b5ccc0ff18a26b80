/* setrlimit and mlockall, by which a program limits its address space and what it may lock of it: the recording's
 * mapping, 64 GiB as a rule, is in there, and must not be what uses it up. It is made smaller first; the call
 * itself goes on to libc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base.h"
#include "lifecycle.h"
#include "recording.h"
#include "sys.h"

/* Looked up once, early: see leaving.c. */
static struct {
    int (*setrlimit)(__rlimit_resource_t, const struct rlimit *);
    int (*setrlimit64)(__rlimit_resource_t, const struct rlimit64 *);
    int (*prlimit)(pid_t, enum __rlimit_resource, const struct rlimit *, struct rlimit *);
    int (*prlimit64)(pid_t, enum __rlimit_resource, const struct rlimit64 *, struct rlimit64 *);
    int (*mlockall)(int);
} g_libc;

#define FIND(name) g_libc.name = (__typeof__(g_libc.name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void resolve(void) {
    if (g_libc.mlockall) return;
    FIND(setrlimit);
    FIND(setrlimit64);
    FIND(prlimit);
    FIND(prlimit64);
    FIND(mlockall);
}

/* A vfork child shares our memory, but its limits are its own. */
static bool is_recording_here(void) {
    return hg_lifecycle_is_recording() && hg_sys_pid() == hg_lifecycle_identity()->pid;
}

/* `limit`: a struct rlimit, which is the same as a struct rlimit64; a program may give NULL, or what the kernel
 * will refuse. */
static void before_limit(int resource, const rlim_t *limit) {
    int error = errno;
    bool is_concerned = limit && resource == RLIMIT_AS && is_recording_here();
    if (is_concerned && hg_sys_range_readable((uintptr_t)limit, sizeof(struct rlimit)))
        hg_recording_shrink(*limit);
    errno = error;
}

HG_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
    resolve();
    before_limit((int)resource, (const rlim_t *)limit);
    return g_libc.setrlimit(resource, limit);
}

HG_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) {
    resolve();
    before_limit((int)resource, (const rlim_t *)limit);
    return g_libc.setrlimit64(resource, limit);
}

static bool is_own(pid_t pid) { return !pid || (uint32_t)pid == hg_sys_pid(); }

HG_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
                      struct rlimit *old) {
    resolve();
    if (is_own(pid)) before_limit((int)resource, (const rlim_t *)limit);
    return g_libc.prlimit(pid, resource, limit, old);
}

HG_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
                        struct rlimit64 *old) {
    resolve();
    if (is_own(pid)) before_limit((int)resource, (const rlim_t *)limit);
    return g_libc.prlimit64(pid, resource, limit, old);
}

/* What is locked is filled with pages first, the file's holes, too; and without privilege all that is mapped
 * counts. */
HG_EXPORT int mlockall(int flags) {
    int error = errno;
    bool is_ours = is_recording_here();
    resolve();
    if (is_ours && flags & MCL_CURRENT) hg_recording_cut();
    errno = error;
    int result = g_libc.mlockall(flags);
    if (result == 0 || errno != ENOMEM || !is_ours) return result;
    hg_recording_shrink(hg_sys_limit(RLIMIT_MEMLOCK));
    errno = error;
    return g_libc.mlockall(flags);
}
