/* A small key-value server with three habits worth finding with heapglass:
 *
 *   - its cache only ever grows (live memory that is wanted, but has no limit);
 *   - its connection handler forgets the request line when a request is refused (a leak);
 *   - it builds each answer in a buffer that lives for microseconds (temporary churn).
 *
 * It serves itself: client threads connect over loopback, send requests, and the program ends.
 *
 *   cc -g -O2 -pthread leaky_server.c -o leaky_server
 *   heapglass run -- ./leaky_server [requests per client]
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 4, KEYS = 2000, BUCKETS = 256 };

/* ---- the cache: grows and never forgets ---- */

struct entry {
    struct entry *next;
    char *key;
    char *value;
};

static struct entry *cache[BUCKETS];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned hash_key(const char *key) {
    unsigned hash = 5381;
    while (*key) hash = hash * 33 + (unsigned char)*key++;
    return hash % BUCKETS;
}

static struct entry *cache_find(const char *key) {
    struct entry *entry = cache[hash_key(key)];
    while (entry && strcmp(entry->key, key) != 0) entry = entry->next;
    return entry;
}

static void cache_insert(const char *key, const char *value) {
    struct entry *entry = calloc(1, sizeof *entry);
    entry->key = strdup(key);
    entry->value = strdup(value);
    entry->next = cache[hash_key(key)];
    cache[hash_key(key)] = entry;
}

static void cache_put(const char *key, const char *value) {
    pthread_mutex_lock(&cache_lock);
    struct entry *entry = cache_find(key);
    if (entry) {
        free(entry->value);
        entry->value = strdup(value);
    } else {
        cache_insert(key, value);
    }
    pthread_mutex_unlock(&cache_lock);
}

/* ---- answers: built in a buffer that is gone at once ---- */

static char *render_answer(const char *status, const char *body) {
    char *answer = malloc(strlen(status) + strlen(body) + 64);
    sprintf(answer, "%s %zu\n%s\n", status, strlen(body), body);
    return answer;
}

static void send_answer(int connection, const char *status, const char *body) {
    char *answer = render_answer(status, body);
    size_t length = strlen(answer);
    if (write(connection, answer, length) != (ssize_t)length) perror("write");
    free(answer);
}

static void answer_get(int connection, const char *key) {
    pthread_mutex_lock(&cache_lock);
    struct entry *entry = cache_find(key);
    char *copy = entry ? strdup(entry->value) : NULL;
    pthread_mutex_unlock(&cache_lock);
    send_answer(connection, copy ? "OK" : "MISSING", copy ? copy : "");
    free(copy);
}

/* ---- connections ---- */

/* `line` belongs to this function. It is freed on every path but one. */
static void handle_request(int connection, char *line) {
    char key[64], value[512];
    if (sscanf(line, "PUT %63s %511s", key, value) == 2) {
        cache_put(key, value);
        send_answer(connection, "STORED", key);
    } else if (sscanf(line, "GET %63s", key) == 1) {
        answer_get(connection, key);
    } else {
        send_answer(connection, "REFUSED", "what is that?");
        return; /* the leak: `line` is not freed here */
    }
    free(line);
}

static void *serve_connection(void *argument) {
    int connection = (int)(long)argument;
    FILE *stream = fdopen(dup(connection), "r");
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stream) > 0) {
        handle_request(connection, line);
        line = NULL;
        size = 0;
    }
    free(line);
    fclose(stream);
    close(connection);
    return NULL;
}

/* ---- clients ---- */

static struct sockaddr_in address;
static int requests = 3000;

static void make_request(char *line, size_t size, unsigned *seed) {
    unsigned number = rand_r(seed), key = number / 8 % KEYS;
    if (number % 8 < 3) {
        snprintf(line, size, "PUT key%u %0*u\n", key, (int)(20 + number % 200), number);
    } else if (number % 8 < 7) {
        snprintf(line, size, "GET key%u\n", key);
    } else {
        snprintf(line, size, "DROP key%u\n", key);
    }
}

static void read_answer(FILE *stream) {
    char line[1024];
    for (int i = 0; i < 2; i++) {
        if (!fgets(line, sizeof line, stream)) return;
    }
}

static void *run_client(void *argument) {
    unsigned seed = (unsigned)(long)argument;
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("connect");
        exit(1);
    }
    FILE *stream = fdopen(connection, "r+");
    for (int i = 0; i < requests; i++) {
        char line[1024];
        make_request(line, sizeof line, &seed);
        if (write(connection, line, strlen(line)) < 0) perror("write");
        read_answer(stream);
    }
    fclose(stream);
    return NULL;
}

static int listen_on_loopback(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, CLIENTS) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        perror("listen");
        exit(1);
    }
    return listener;
}

int main(int argc, char **argv) {
    pthread_t clients[CLIENTS], servers[CLIENTS];
    int listener = listen_on_loopback();
    if (argc > 1) requests = atoi(argv[1]);
    for (long i = 0; i < CLIENTS; i++) {
        pthread_create(&clients[i], NULL, run_client, (void *)(i + 1));
        pthread_setname_np(clients[i], "client");
        int connection = accept(listener, NULL, NULL);
        pthread_create(&servers[i], NULL, serve_connection, (void *)(long)connection);
        pthread_setname_np(servers[i], "server");
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i], NULL);
        pthread_join(servers[i], NULL);
    }
    printf("served %d requests\n", CLIENTS * requests);
    return 0;
}
