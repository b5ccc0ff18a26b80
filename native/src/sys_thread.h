/* What the service thread asks of the kernel, in the manner of sys.h. */
#ifndef HG_SYS_THREAD_H
#define HG_SYS_THREAD_H

#include <linux/capability.h>
#include <poll.h>

#include "base.h"

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

#endif
