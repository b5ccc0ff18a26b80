#include "socket.h"

#include "answers.h"
#include "live_table.h"
#include "options.h"
#include "rights.h"
#include "socket_file.h"
#include "sys.h"
#include "sys_socket.h"
#include "text.h"

#define MAX_CLIENTS 120u
#define REQUEST_BYTES 256u
#define MOMENT_NS 100000000u               /* for a request to come; then the text is sent */
#define STUCK_NS UINT64_C(10000000000)     /* without a byte taken: the client is dropped */
#define STEP_NS 20000000u                  /* ... between looks while somebody is served */
#define LOOK_NS UINT64_C(1000000000)       /* ... and while nobody is */
#define MOST_WAITING (UINT64_C(256) << 20) /* bytes of answers, of all clients */
#define AGAIN (-11)                        /* EAGAIN */

#define TOO_MANY "heapglass: too many clients at once; ask again\n"
#define TOO_BUSY "heapglass: too much waits to be read by others; ask again\n"
#define NOT_YOURS "heapglass: this answers only the user who runs the program, and root\n"
#define NO_MEMORY "heapglass: no memory for the answer\n"

struct client {
    char request[REQUEST_BYTES];
    uint32_t request_length;
    uint64_t limit; /* when the request, or the next byte, must have gone */
    struct hg_answer answer;
    size_t sent;
};

static struct {
    /* The listening socket first, then the clients'. */
    struct pollfd polled[1 + MAX_CLIENTS];
    struct client clients[MAX_CLIENTS];
    uint32_t count;
    uint64_t waiting;      /* bytes of answers */
    int error;             /* why there is no socket */
    uint32_t is_answering; /* to a client who reads */
    uint32_t is_lapsed;    /* its file is gone, and must be made anew */
} g_socket;

/* ---- clients -------------------------------------------------------------------------------------- */

/* One line to somebody who gets no more: it fits into any socket. */
static void refuse(int fd, const char *line) {
    size_t length = 0;
    while (line[length]) length++;
    hg_sys_send(fd, line, length);
    hg_sys_close(fd);
}

/* What is unread when a socket is closed would make its other end fail instead of end. */
static void drain(int fd) {
    char rest[1024];
    for (uint32_t i = 0; i < 64 && hg_sys_receive(fd, rest, sizeof rest) > 0; i++) continue;
}

static void drop_client(uint32_t i) {
    struct client *client = &g_socket.clients[i];
    int fd = g_socket.polled[1 + i].fd;
    hg_sys_end_sending(fd);
    drain(fd);
    hg_sys_close(fd);
    g_socket.waiting -= client->answer.mapped;
    hg_answer_drop(&client->answer);
    g_socket.count--;
    g_socket.clients[i] = g_socket.clients[g_socket.count];
    g_socket.polled[1 + i] = g_socket.polled[1 + g_socket.count];
}

static void greet(int fd, uint64_t now) {
    uint32_t user = 0;
    if (hg_sys_peer_user(fd, &user) < 0 || (user && user != hg_rights_user())) {
        refuse(fd, NOT_YOURS);
        return;
    }
    if (g_socket.count == MAX_CLIENTS) {
        refuse(fd, TOO_MANY);
        return;
    }
    struct client *client = &g_socket.clients[g_socket.count];
    client->request_length = 0;
    client->sent = 0;
    client->limit = now + MOMENT_NS;
    client->answer = (struct hg_answer){0};
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

static bool begin_answer(uint32_t i, uint64_t now) {
    struct client *client = &g_socket.clients[i];
    int fd = g_socket.polled[1 + i].fd;
    const char *trouble = NULL;
    if (g_socket.waiting > MOST_WAITING) trouble = TOO_BUSY;
    else hg_answer_make(&client->answer, trim(client));
    if (!trouble && !client->answer.bytes) trouble = NO_MEMORY;
    if (trouble) {
        hg_sys_send(fd, trouble, __builtin_strlen(trouble));
        return false;
    }
    g_socket.waiting += client->answer.mapped;
    client->limit = now + STUCK_NS;
    g_socket.polled[1 + i].events = POLLOUT;
    return true;
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

/* Send what the client takes now; false when all is sent, or it has gone. */
static bool send_more(uint32_t i, uint64_t now) {
    struct client *client = &g_socket.clients[i];
    while (client->sent < client->answer.length) {
        long sent = hg_sys_send(g_socket.polled[1 + i].fd, client->answer.bytes + client->sent,
                                client->answer.length - client->sent);
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
    if (client->answer.bytes) {
        return polled->revents ? send_more(i, now) : !is_late;
    }
    bool is_asked = polled->revents && take_request(client, polled->fd);
    if (!is_asked && !is_late) return true;
    return begin_answer(i, now) && send_more(i, now);
}

/* ---- the job -------------------------------------------------------------------------------------- */

static bool start(void) {
    __builtin_memset(&g_socket, 0, sizeof g_socket);
    hg_live_table_start();
    hg_socket_file_start();
    g_socket.polled[0] = (struct pollfd){.fd = -1};
    return *g_options.socket;
}

static void listen_on(int fd) {
    g_socket.error = fd < 0 ? fd : 0;
    g_socket.polled[0] = (struct pollfd){.fd = fd < 0 ? -1 : fd, .events = POLLIN};
}

static void open_socket(void) {
    listen_on(hg_socket_file_create());
    g_socket_job.polled = g_socket.polled;
    g_socket_job.polled_count = 1;
    g_socket_job.due = hg_service_now() + LOOK_NS;
}

static void say(void) {
    char number[24];
    if (!g_socket.error) return;
    HG_SAY("cannot listen on ", hg_socket_file_path(), " (",
           g_socket.error == -36 ? "the name is too long for a socket" : "errno ",
           g_socket.error == -36 ? "" : hg_text_decimal(number, (uint64_t)-g_socket.error),
           "); there will be no socket");
}

/* Accept who waits. Without a descriptor left for them they go on waiting, for a moment. */
static bool accept_all(uint64_t now) {
    for (uint32_t i = 0; i < MAX_CLIENTS; i++) {
        int fd = hg_sys_accept(g_socket.polled[0].fd);
        if (fd < 0) return fd == AGAIN;
        greet(fd, now);
    }
    return true;
}

static void renew_file(void) {
    if (!hg_exchange(&g_socket.is_lapsed, 0)) return;
    if (g_socket.polled[0].fd >= 0) hg_sys_close(g_socket.polled[0].fd);
    listen_on(hg_socket_file_create_again());
}

/* Whether a client takes what it is sent: such a one is waited for when the process ends. */
static bool is_quick(const struct client *client, uint64_t now) {
    return !client->answer.bytes || client->limit - STUCK_NS + MOMENT_NS > now;
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
    renew_file();
    for (uint32_t i = g_socket.count; i-- > 0;) {
        if (!serve(i, now)) drop_client(i);
    }
    bool has_accepted = !(g_socket.polled[0].revents & POLLIN) || accept_all(now);
    g_socket.polled[0].events = has_accepted ? POLLIN : 0;
    g_socket_job.polled_count = 1 + g_socket.count;
    bool is_answering = has_quick_clients(now);
    g_socket_job.due = next_due(now, is_answering || !has_accepted);
    hg_store_release(&g_socket.is_answering, is_answering);
}

struct hg_job g_socket_job = {
    .start = start, .open = open_socket, .say = say, .run = run, .due = UINT64_MAX};

/* ---- the end of the process ----------------------------------------------------------------------- */

void hg_socket_finish(void) {
    hg_service_await(&g_socket.is_answering);
    hg_socket_file_remove();
}

void hg_socket_return(void) { hg_store_release(&g_socket.is_lapsed, 1); }
