#include "socket.h"

#include <sys/resource.h>

#include "answers.h"
#include "lifecycle.h"
#include "naming.h"
#include "options.h"
#include "rights.h"
#include "sys.h"
#include "text.h"

/* ---- socket file ------------------------------------------------------------------------------- */

#define BACKLOG 1024
#define IN_USE (-98)             /* EADDRINUSE */
#define REFUSED (-111)           /* ECONNREFUSED */
#define FILE_MOMENT_NS 10000000u /* from a socket's name to its readiness, for a slow process */

static struct {
    char path[HG_PATH_BYTES];
    int fd;
    uint64_t device, inode; /* 0: there is none of ours */
} g_file;

const char *hg_socket_file_path(void) { return g_file.path; }

void hg_socket_file_start(void) { hg_store(&g_file.inode, 0); }

/* Whether nobody listens there any more. */
static bool is_dead(const char *path) {
    int fd = hg_sys_socket();
    if (fd < 0) return false;
    int result = hg_sys_connect(fd, path);
    hg_sys_close(fd);
    return result == REFUSED;
}

static bool is_own_socket(const char *path, struct stat *stat) {
    return hg_sys_stat_link(path, stat) >= 0 && S_ISSOCK(stat->st_mode) &&
           stat->st_uid == hg_rights_user();
}

/* Remove what a process of this user that is gone has left there: a socket, and nothing else. Looked
 * at twice: one that is being made refuses too, for a moment. */
static bool remove_stale(const char *path) {
    struct stat before, after;
    if (!is_own_socket(path, &before) || !is_dead(path)) return false;
    hg_sys_sleep(FILE_MOMENT_NS);
    if (!is_dead(path) || !is_own_socket(path, &after)) return false;
    if (before.st_dev != after.st_dev || before.st_ino != after.st_ino) return false;
    return hg_sys_unlink(path) >= 0;
}

static int bind_at(int fd, const char *path) {
    int error = hg_sys_bind(fd, path);
    if (error == IN_USE && remove_stale(path)) error = hg_sys_bind(fd, path);
    return error < 0 ? error : hg_sys_listen(fd, BACKLOG);
}

static void remember_file(const char *path) {
    struct stat stat;
    g_file.inode = 0;
    if (hg_sys_stat_link(path, &stat) < 0 || !S_ISSOCK(stat.st_mode)) return;
    g_file.device = stat.st_dev;
    hg_store_release(&g_file.inode, stat.st_ino);
}

static enum hg_create take(const char *path, int *error) {
    g_file.fd = hg_sys_socket();
    *error = g_file.fd < 0 ? g_file.fd : bind_at(g_file.fd, path);
    if (*error >= 0) {
        remember_file(path);
        return HG_CREATED;
    }
    if (g_file.fd >= 0) hg_sys_close(g_file.fd);
    return *error == IN_USE ? HG_CREATE_EXISTS : HG_CREATE_FAILED;
}

int hg_socket_file_create(void) {
    int error = 0;
    const char *template = g_options.socket;
    int32_t taken = hg_naming_claim(template, hg_lifecycle_identity(), hg_naming_first(template),
                                    g_file.path, take, &error);
    return taken < 0 ? error : g_file.fd;
}

int hg_socket_file_create_again(void) {
    int error = 0;
    return take(g_file.path, &error) == HG_CREATED ? g_file.fd : error;
}

void hg_socket_file_remove(void) {
    struct stat stat;
    uint64_t inode = hg_load_acquire(&g_file.inode);
    if (!inode || hg_sys_stat_link(g_file.path, &stat) < 0) return;
    if (stat.st_dev != g_file.device || stat.st_ino != inode) return;
    hg_sys_unlink(g_file.path);
    hg_store(&g_file.inode, 0);
}

/* ---- socket ------------------------------------------------------------------------------------ */

#define MAX_CLIENTS 120u /* at once; others wait for their turn */
#define OWN_DESCRIPTORS 6u
#define REQUEST_BYTES 256u
#define MOMENT_NS 250000000u               /* for a request to come; then the text is sent */
#define STUCK_NS UINT64_C(10000000000)     /* without a byte taken: the client is dropped */
#define STEP_NS 20000000u                  /* between looks while somebody is served */
#define LOOK_NS UINT64_C(1000000000)       /* ... and while nobody is */
#define MOST_WAITING (UINT64_C(256) << 20) /* bytes of answers, of all clients */
#define AGAIN (-11)                        /* EAGAIN */

#define TOO_BUSY "heapglass: too much waits to be read by others; ask again\n"
#define NOT_YOURS "heapglass: this answers only the user who runs the program, and root\n"
#define NO_MEMORY "heapglass: no memory for the answer\n"

/* Clients who asked the same at the same moment share what they get. */
struct shared_answer {
    struct hg_answer answer;
    uint32_t readers; /* 0: a free slot */
};

struct client {
    char request[REQUEST_BYTES];
    uint32_t request_length;
    uint64_t limit;               /* when the request, or the next byte, must have gone */
    struct shared_answer *answer; /* NULL: it is still asking */
    size_t sent;
};

static struct {
    /* The listening socket first, then the clients'. */
    struct pollfd polled[1 + MAX_CLIENTS];
    struct client clients[MAX_CLIENTS];
    struct shared_answer answers[MAX_CLIENTS];
    uint32_t count;
    uint32_t most;         /* clients at once */
    uint64_t waiting;      /* bytes of answers */
    int error;             /* why there is no socket */
    bool is_named;         /* its file has a name, though there may be none now */
    uint32_t is_answering; /* to a client who reads */
    uint32_t is_lapsed;    /* its file is gone, and must be made anew */
    /* The table in full as it was made in this round, for others who ask for it in the same one. */
    struct shared_answer *text, *json;
} g_socket;

/* ---- clients -------------------------------------------------------------------------------------- */

/* What is unread when a socket is closed would make its other end fail instead of end. */
static void hang_up(int fd) {
    char rest[1024];
    hg_sys_shut(fd);
    for (uint32_t i = 0; i < 256 && hg_sys_receive(fd, rest, sizeof rest) > 0; i++) continue;
    hg_sys_close(fd);
}

/* One line to somebody who gets no more: it fits into any socket. */
static void refuse(int fd, const char *line) {
    size_t length = 0;
    while (line[length]) length++;
    hg_sys_send(fd, line, length);
}

static void release(struct shared_answer *shared) {
    if (!shared || --shared->readers) return;
    g_socket.waiting -= shared->answer.mapped;
    hg_answer_drop(&shared->answer);
    if (g_socket.text == shared) g_socket.text = NULL;
    if (g_socket.json == shared) g_socket.json = NULL;
}

static void drop_client(uint32_t i) {
    hang_up(g_socket.polled[1 + i].fd);
    release(g_socket.clients[i].answer);
    g_socket.count--;
    g_socket.clients[i] = g_socket.clients[g_socket.count];
    g_socket.polled[1 + i] = g_socket.polled[1 + g_socket.count];
}

static void greet(int fd, uint64_t now) {
    uint32_t user = 0;
    if (hg_sys_peer_user(fd, &user) < 0 || (user && user != hg_rights_user())) {
        refuse(fd, NOT_YOURS);
        hang_up(fd);
        return;
    }
    struct client *client = &g_socket.clients[g_socket.count];
    client->request_length = 0;
    client->sent = 0;
    client->limit = now + MOMENT_NS;
    client->answer = NULL;
    g_socket.polled[1 + g_socket.count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* ---- requests ------------------------------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The line as a string without the blanks around it. */
static const char *trim(struct client *client) {
    char *text = client->request;
    uint32_t length = 0;
    while (length < client->request_length && text[length] != '\n') length++;
    while (length && is_space(text[length - 1])) length--;
    text[length] = 0;
    while (is_space(*text)) text++;
    return text;
}

/* Take what has come of a request; whether it is all there. */
static bool take_request(struct client *client, int fd) {
    /* The last byte stays free for the end of the string. */
    size_t room = REQUEST_BYTES - 1 - client->request_length;
    char *to = client->request + client->request_length;
    long length = hg_sys_receive(fd, to, room);
    if (length == AGAIN) return false;
    if (length <= 0) return true; /* it has closed its side */
    client->request_length += (uint32_t)length;
    for (long i = 0; i < length; i++) {
        if (to[i] == '\n') return true;
    }
    return client->request_length == REQUEST_BYTES - 1;
}

/* ---- answers -------------------------------------------------------------------------------------- */

static bool is_word(const char *text, const char *word) {
    while (*word && *text == *word) text++, word++;
    return !*word && !*text;
}

/* Where an answer is kept that others may ask for too; NULL: nowhere. */
static struct shared_answer **place_of(const char *request) {
    if (!*request || is_word(request, "text")) return &g_socket.text;
    return is_word(request, "json") ? &g_socket.json : NULL;
}

static struct shared_answer *free_slot(void) {
    struct shared_answer *slot = g_socket.answers;
    while (slot->readers) slot++; /* there are as many as clients */
    return slot;
}

/* NULL, and one line to the client, when there is no room for it. */
static struct shared_answer *answer_to(const char *request, int fd) {
    struct shared_answer **place = place_of(request), *slot = free_slot();
    /* What an order changes, those who ask after it shall see. */
    if (hg_answer_is_order(request)) g_socket.text = g_socket.json = NULL;
    if (place && *place) {
        (*place)->readers++;
        return *place;
    }
    bool is_busy = g_socket.waiting > MOST_WAITING;
    if (!is_busy) hg_answer_make(&slot->answer, request);
    if (is_busy || !slot->answer.bytes) {
        refuse(fd, is_busy ? TOO_BUSY : NO_MEMORY);
        return NULL;
    }
    slot->readers = 1;
    g_socket.waiting += slot->answer.mapped;
    if (place) *place = slot;
    return slot;
}

static bool begin_answer(uint32_t i, uint64_t now) {
    struct client *client = &g_socket.clients[i];
    struct pollfd *polled = &g_socket.polled[1 + i];
    const char *request = trim(client);
    bool has_left = polled->revents & POLLHUP;
    if (has_left && !hg_answer_is_order(request)) return false;
    client->answer = answer_to(request, polled->fd);
    client->limit = now + STUCK_NS;
    polled->events = POLLOUT;
    return client->answer;
}

/* Send what the client takes now; false when all is sent, or it has gone. */
static bool send_more(uint32_t i, uint64_t now) {
    struct client *client = &g_socket.clients[i];
    const struct hg_answer *answer = &client->answer->answer;
    while (client->sent < answer->length) {
        long sent = hg_sys_send(g_socket.polled[1 + i].fd, answer->bytes + client->sent,
                                answer->length - client->sent);
        if (sent == AGAIN) return true;
        if (sent <= 0) return false;
        client->sent += (size_t)sent;
        client->limit = now + STUCK_NS;
    }
    return false;
}

/* What a client's state and events ask for; false when it is done with. */
static bool serve(uint32_t i, uint64_t now) {
    struct client *client = &g_socket.clients[i];
    const struct pollfd *polled = &g_socket.polled[1 + i];
    bool is_late = now >= client->limit;
    if (client->answer) return polled->revents ? send_more(i, now) : !is_late;
    bool is_asked = polled->revents && take_request(client, polled->fd);
    if (!is_asked && !is_late) return true;
    return begin_answer(i, now) && send_more(i, now);
}

static void serve_all(uint64_t now) {
    g_socket.text = g_socket.json = NULL;
    for (uint32_t i = g_socket.count; i-- > 0;) {
        if (!serve(i, now)) drop_client(i);
    }
}

/* ---- the job -------------------------------------------------------------------------------------- */

static bool start(void) {
    if (!*g_options.socket) return false;
    __builtin_memset(&g_socket, 0, sizeof g_socket);
    hg_live_table_start();
    hg_socket_file_start();
    g_socket.polled[0] = (struct pollfd){.fd = -1};
    uint64_t limit = hg_sys_limit(RLIMIT_NOFILE);
    g_socket.most = limit > OWN_DESCRIPTORS ? (uint32_t)(limit - OWN_DESCRIPTORS) : 1;
    if (limit > MAX_CLIENTS + OWN_DESCRIPTORS) g_socket.most = MAX_CLIENTS;
    return true;
}

static void listen_on(int fd) {
    g_socket.error = fd < 0 ? fd : 0;
    g_socket.polled[0] = (struct pollfd){.fd = fd < 0 ? -1 : fd, .events = POLLIN};
}

static void open_socket(void) {
    listen_on(g_socket.is_named ? hg_socket_file_create_again() : hg_socket_file_create());
    g_socket.is_named = true;
    g_socket_job.polled = g_socket.polled;
    g_socket_job.polled_count = 1;
    g_socket_job.due = hg_service_now() + LOOK_NS;
}

static void say(void) {
    char number[24];
    bool is_too_long = g_socket.error == -36; /* ENAMETOOLONG */
    if (!g_socket.error) return;
    HG_SAY("cannot listen on ", hg_socket_file_path(), " (",
           is_too_long ? "a socket's name has 107 bytes at most"
                       : hg_text_error(number, g_socket.error),
           "); there will be no socket");
}

/* Accept who waits, as far as there is room; false: somebody goes on waiting. */
static bool accept_all(uint64_t now) {
    while (g_socket.count < g_socket.most) {
        int fd = hg_sys_accept(g_socket.polled[0].fd);
        if (fd < 0) return fd == AGAIN;
        greet(fd, now);
    }
    return false;
}

static void renew_file(void) {
    if (!hg_exchange(&g_socket.is_lapsed, 0)) return;
    if (g_socket.polled[0].fd >= 0) hg_sys_close(g_socket.polled[0].fd);
    listen_on(hg_socket_file_create_again());
}

/* Whether a client takes what it is sent: such a one is waited for when the process ends. */
static bool is_quick(const struct client *client, uint64_t now) {
    return !client->answer || client->limit - STUCK_NS + MOMENT_NS > now;
}

static bool has_quick_clients(uint64_t now) {
    for (uint32_t i = 0; i < g_socket.count; i++) {
        if (is_quick(&g_socket.clients[i], now)) return true;
    }
    return false;
}

static uint64_t next_due(uint64_t now, bool is_soon) {
    uint64_t due = now + (is_soon ? STEP_NS : LOOK_NS);
    for (uint32_t i = 0; i < g_socket.count; i++) {
        if (g_socket.clients[i].limit < due) due = g_socket.clients[i].limit;
    }
    return due;
}

static void run(uint64_t now) {
    bool has_news = g_socket.polled[0].revents & POLLIN;
    renew_file();
    serve_all(now);
    bool must_wait = (has_news || !g_socket.polled[0].events) && !accept_all(now);
    g_socket.polled[0].events = must_wait ? 0 : POLLIN;
    g_socket_job.polled_count = 1 + g_socket.count;
    bool is_answering = has_quick_clients(now);
    g_socket_job.due = next_due(now, is_answering || must_wait);
    hg_store_release(&g_socket.is_answering, is_answering);
}

static void close_socket(void) {
    while (g_socket.count) drop_client(g_socket.count - 1);
    hg_socket_file_remove();
    listen_on(-1);
}

struct hg_job g_socket_job = {.start = start,
                              .open = open_socket,
                              .say = say,
                              .close = close_socket,
                              .run = run,
                              .due = UINT64_MAX};

/* ---- the end of the process ----------------------------------------------------------------------- */

void hg_socket_await(void) { hg_service_await(&g_socket.is_answering); }

void hg_socket_finish(void) {
    hg_socket_await();
    hg_socket_file_remove();
}

void hg_socket_return(void) { hg_store_release(&g_socket.is_lapsed, 1); }
