/* Everything the core asks of the kernel. Results are as the kernel gives them: a negative errno
 * on failure; errno itself is never touched. */
#ifndef HG_SYS_H
#define HG_SYS_H

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base.h"

/* ---- sys --------------------------------------------------------------------------------------- */

/* Private zeroed memory that a forked child does not inherit; NULL when refused. Counted. */
void *hg_sys_map_private(size_t size);
/* Private zeroed memory that a forked child finds zeroed again; NULL when refused. Counted. */
void *hg_sys_map_wiped(size_t size);
/* Let a forked child find these whole pages, of the library's own zeroed data, zeroed again. */
int hg_sys_wipe_on_fork(void *memory, size_t size);
/* Whether a forked child gets all that, too, and the mapped file, as they are; but for this one. */
void hg_sys_leave_to_child(bool is_left, const void *but_for);
void hg_sys_leave_file_to_child(void *file, uint64_t size, bool is_left);
/* Where the file is mapped, a copy that nobody else sees; if it can be had. */
void hg_sys_copy_of_file(int fd, void *file, uint64_t size);
/* In place of what is mapped there: zeroed memory of no file, that a forked child does not inherit. */
bool hg_sys_map_over(void *memory, size_t size);
void hg_sys_unmap(void *memory, size_t size);
/* Whether the library's own read-only data may be written to. False: it stays as it is. */
bool hg_sys_let_write(uintptr_t start, size_t size, bool is_let);
/* Bytes really in memory of what the two above gave since hg_sys_start_maps(). A walk over page
 * tables: not for the hot path. */
uint64_t hg_sys_private_bytes(void);
/* The most that was ever resident, as the kernel tells it: see timeline.h. 0: it does not. */
uint64_t hg_sys_greatest_rss(void);
/* Forget what was mapped for another recording, and make room for a new one. */
void hg_sys_start_maps(void);
/* There will be no recording: nothing of it is in use, or will be. */
void hg_sys_end_maps(void);

int hg_sys_open(const char *path, int flags, uint32_t mode);
int hg_sys_close(int fd);
long hg_sys_read(int fd, void *buffer, size_t size);
long hg_sys_read_at(int fd, void *buffer, size_t size, uint64_t offset);
long hg_sys_write(int fd, const void *buffer, size_t size);
long hg_sys_write_at(int fd, const void *buffer, size_t size, uint64_t offset);
int hg_sys_truncate_fd(int fd, uint64_t size);
int hg_sys_allocate_fd(int fd, uint64_t size);
int hg_sys_unlink(const char *path);
int hg_sys_stat(const char *path, struct stat *out);
int hg_sys_stat_fd(int fd, struct stat *out);
/* The magic number of the file system it is on; see statfs(2). */
long hg_sys_file_system(int fd);
/* Ask a copy-on-write file system to write this new file in place. Best effort. */
void hg_sys_write_in_place(int fd);
/* Map `size` bytes of a file shared and writable, at an address that is a multiple of `alignment`,
 * not inherited over fork; NULL when refused. */
void *hg_sys_map_file(int fd, uint64_t size, uint64_t alignment);
/* In place of that, private memory of which nothing may be touched yet. */
void *hg_sys_map_hidden(uint64_t size, uint64_t alignment);
/* Let a part of it be touched, or give the part back. */
int hg_sys_show(void *memory, uint64_t size);
void hg_sys_hide(void *memory, uint64_t size);
/* Make sure stores to this range cannot fail; 0, or a negative errno (EFAULT: no space). */
/* Whether a core dump may take this range along, if it takes mappings of files at all. */
void hg_sys_dump(void *memory, size_t size, bool wanted);
/* Give a private range's memory back; it reads as zero then. */
void hg_sys_discard(void *memory, size_t size);
/* Ask for huge pages in a range; no more than a wish. */
void hg_sys_advise_huge(void *memory, size_t size);
int hg_sys_populate(void *memory, size_t size);
long hg_sys_readlink(const char *path, char *buffer, size_t size);
/* Current directory into `buffer`, with its NUL; its length with the NUL, or a negative errno. */
long hg_sys_getcwd(char *buffer, size_t size);
/* Soft limit of `resource`, UINT64_MAX when there is none. */
uint64_t hg_sys_limit(int resource);
/* How many bytes of addresses the process may map yet; UINT64_MAX while no limit is known. It is looked for at
 * hg_sys_start_maps(). */
uint64_t hg_sys_left(void);
/* There is going to be a limit: what it leaves besides `ours`, which are mapped already. */
uint64_t hg_sys_left_under(uint64_t limit, uint64_t ours);

struct timespec;
/* Of any clock; whether the program's sandbox lets clocks be asked for; and whether the calling thread may read the
 * processor's time-stamp counter. */
int hg_sys_clock(int id, struct timespec *out);
bool hg_sys_lets_clock(void);
bool hg_sys_has_counter(void);

uint32_t hg_sys_pid(void);
uint32_t hg_sys_parent_pid(void);
uint32_t hg_sys_tid(void);
uint32_t hg_sys_uid(void);
/* False only when this process surely has no such thread any more. */
bool hg_sys_thread_alive(uint32_t pid, uint32_t tid);
void hg_sys_thread_name(char name[16]);
void hg_sys_host_name(char *buffer, size_t size);
void hg_sys_yield(void);
void hg_sys_exit(int status);

/* Hold signals back from this thread, for work that must not be left half-way by a handler that
 * jumps out of it; returns what to restore. */
uint64_t hg_sys_block_signals(void);
void hg_sys_restore_signals(uint64_t mask);

/* What the kernel does on a signal, as it has it. */
struct hg_action {
    uintptr_t handler;
    uint64_t flags;
    uintptr_t restorer;
    uint64_t mask;
};
int hg_sys_action(int signal, const struct hg_action *to, struct hg_action *before);
/* A signal that came, once more, as it was: to the calling thread, or to the process. (`info`: a siginfo_t.) */
int hg_sys_send_again(int signal, const void *info, bool to_process);

/* Whether a signal that is held back waits to be delivered; take it away if so. */
bool hg_sys_is_pending(int signal);
void hg_sys_take_signal(int signal);

/* Whether the 8 bytes at `address` can be read; never faults. */
bool hg_sys_readable(uintptr_t address);
/* The same of a range of eight bytes or more; fewer never can. */
bool hg_sys_range_readable(uintptr_t address, size_t size);

/* Whether the calling thread is on its alternate signal stack, and where that is. */
bool hg_sys_on_signal_stack(uintptr_t *start, uintptr_t *size);

/* ---- sys descriptor ---------------------------------------------------------------------------- */

/* What outputs ask of the kernel about descriptors, in the manner of sys.h. */

/* As fcntl(F_GETFL) has them. */
int hg_sys_descriptor_flags(int fd);
/* The same open file under the lowest free number from `least` on, closed by exec. */
int hg_sys_duplicate(int fd, uint32_t least);
/* Let a pipe hold so many bytes before its writers must wait; a wish. */
void hg_sys_widen_pipe(int fd, uint32_t bytes);
/* Whether surely about half of a pipe's pages are free, whatever lies in the others. */
bool hg_sys_pipe_is_half_free(int fd);
bool hg_sys_is_terminal(int fd);
/* A write that raises no signal, to a pipe nobody reads or beyond the limit of a file's size; signals
 * must be held back. */
long hg_sys_write_quietly(int fd, const char *text, size_t size);

/* ---- sys thread -------------------------------------------------------------------------------- */

/* What the service thread asks of the kernel, in the manner of sys.h. */

/* Hold all signals back, also those that faults raise; returns what to restore. */
uint64_t hg_sys_block_all_signals(void);
/* Let nothing be read or written there. */
void hg_sys_guard(void *memory, size_t size);
void hg_sys_set_thread_name(const char *name);
/* Close every descriptor of this thread's table. */
void hg_sys_close_all(void);
/* A descriptor of a thread, and, through it, one of its descriptors as one of our own. Of threads other than the
 * main one not before Linux 6.9. */
int hg_sys_open_thread(uint32_t pid, uint32_t tid);
int hg_sys_borrow(int thread, int fd);

int hg_sys_open_in(int directory, const char *path, int flags);
/* Names in a directory, one behind the other, into an aligned buffer; the bytes used, 0 at the end. */
struct hg_listed {
    uint64_t inode, offset;
    uint16_t size; /* of this one */
    uint8_t type;
    char name[];
};
long hg_sys_list(int directory, void *buffer, size_t size);

/* A descriptor that can be read while the calling thread holds back such a signal that was sent to it. */
int hg_sys_signal_descriptor(int signal);
void hg_sys_send_signal(uint32_t pid, uint32_t tid, int signal);
/* After a thread has ended, until the kernel has done what it does about that. */
void hg_sys_await_bookkeeping(void);

int hg_sys_poll(struct pollfd *polled, uint32_t count, uint64_t timeout_ns);
void hg_sys_sleep(uint64_t ns);

/* Users and groups of the calling thread: real, effective, saved, and of the file system. */
void hg_sys_ids(uint32_t users[3], uint32_t groups[3]);
int hg_sys_set_users(const uint32_t users[4]);
int hg_sys_set_groups(const uint32_t groups[4], const uint32_t *others, uint32_t count);
int hg_sys_capabilities(struct __user_cap_header_struct *header,
                        struct __user_cap_data_struct data[2]);
int hg_sys_set_capabilities(struct __user_cap_header_struct *header,
                            const struct __user_cap_data_struct data[2]);

/* ---- sys socket -------------------------------------------------------------------------------- */

/* What the socket asks of the kernel, in the manner of sys.h. Sockets are local streams that never
 * make their thread wait. */

int hg_sys_socket(void);
/* Make the socket's file: readable and writable by its owner, at no moment by others. */
int hg_sys_bind(int fd, const char *path);
int hg_sys_connect(int fd, const char *path);
int hg_sys_listen(int fd, int backlog);
int hg_sys_accept(int fd);
/* The user who connected. */
int hg_sys_peer_user(int fd, uint32_t *user);
/* What it takes at once; no signal. */
long hg_sys_send(int fd, const void *bytes, size_t length);
long hg_sys_receive(int fd, void *buffer, size_t size);
/* Both ways: what the other side sends from now on is refused. */
void hg_sys_shut(int fd);

/* Of the file itself, also if it is a symbolic link. */
int hg_sys_stat_link(const char *path, struct stat *out);

/* Memory for a moment, not inherited over fork and not counted as the recording's; NULL when
 * refused. */
void *hg_sys_map_scratch(size_t size);
void *hg_sys_grow_scratch(void *memory, size_t size, size_t larger);
void hg_sys_unmap_scratch(void *memory, size_t size);

/* ---- probe ------------------------------------------------------------------------------------- */

/* Reading a word at an address that may be anything. */

/* The 8 bytes at `at`, if they can be read. The kernel's word counts, not a sanitizer's: what
 * unwind information points to need not be an object of ours. */
static __attribute__((noinline, no_sanitize_address, unused)) bool hg_probe_word(uintptr_t at,
                                                                                 uintptr_t *value) {
    struct unaligned {
        uintptr_t word;
    } __attribute__((packed, may_alias));
    if (!hg_sys_readable(at)) return false;
    *value = ((const struct unaligned *)at)->word;
    return true;
}

/* ---- auxv -------------------------------------------------------------------------------------- */

/* What the kernel told the program when it started it. */

/* The entry of this type, 0 when there is none. Keeps errno, which getauxval sets then. */
static inline uintptr_t hg_auxv(unsigned long type) {
    int saved = errno;
    uintptr_t value = getauxval(type);
    errno = saved;
    return value;
}

#endif
