#define _GNU_SOURCE
#include "sys_socket.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "sys.h"

#if defined(__x86_64__)
#include "sandbox.h"
#else
#error "heapglass: add sys_<architecture>.h for this machine"
#endif

#define CALL2(n, a, b) hg_syscall((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) hg_syscall((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) hg_syscall((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

int hg_sys_socket(void) {
    return (int)CALL3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static bool name(struct sockaddr_un *address, const char *path) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = 0;
    for (; path[length] && length < sizeof address->sun_path; length++) {
        address->sun_path[length] = path[length];
    }
    return length && length < sizeof address->sun_path;
}

int hg_sys_bind(int fd, const char *path) {
    struct sockaddr_un address;
    if (!name(&address, path)) return -36; /* ENAMETOOLONG */
    /* The file gets the socket's own mode, less the umask: so it is set before there is a file. */
    int error = (int)CALL2(SYS_fchmod, fd, 0600);
    return error < 0 ? error : (int)CALL3(SYS_bind, fd, &address, sizeof address);
}

int hg_sys_connect(int fd, const char *path) {
    struct sockaddr_un address;
    if (!name(&address, path)) return -36;
    return (int)CALL3(SYS_connect, fd, &address, sizeof address);
}

int hg_sys_listen(int fd, int backlog) { return (int)CALL2(SYS_listen, fd, backlog); }

int hg_sys_accept(int fd) {
    return (int)CALL4(SYS_accept4, fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int hg_sys_peer_user(int fd, uint32_t *user) {
    struct ucred peer = {0};
    uint32_t size = sizeof peer;
    int error =
        (int)hg_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&size, 0);
    *user = peer.uid;
    return error;
}

long hg_sys_send(int fd, const void *bytes, size_t length) {
    return hg_syscall(SYS_sendto, fd, (long)bytes, (long)length, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

long hg_sys_receive(int fd, void *buffer, size_t size) {
    return hg_syscall(SYS_recvfrom, fd, (long)buffer, (long)size, MSG_DONTWAIT, 0, 0);
}

void hg_sys_shut(int fd) { CALL2(SYS_shutdown, fd, SHUT_RDWR); }

int hg_sys_stat_link(const char *path, struct stat *out) {
    return (int)CALL4(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

static bool is_error(long result) { return result < 0 && result > -4096; }

void *hg_sys_map_scratch(size_t size) {
    long p = hg_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (is_error(p)) return NULL;
    CALL3(SYS_madvise, p, size, MADV_DONTFORK);
    return (void *)p;
}

void *hg_sys_grow_scratch(void *memory, size_t size, size_t larger) {
    long p = CALL4(SYS_mremap, memory, size, larger, MREMAP_MAYMOVE);
    return is_error(p) ? NULL : (void *)p;
}

void hg_sys_unmap_scratch(void *memory, size_t size) { CALL2(SYS_munmap, memory, size); }
