#include "path_index.h"

#include "sys.h"

#define FIRST_SLOTS 4096u
#define MAX_TABLES 15u /* each twice the one before: enough for all nodes */
#define HUGE_FROM (UINT64_C(4) << 20)
#define DROPPED 1u
#define WAIT_FOR_HASH 1000u

/* A slot is taken by its value and visible by its hash. It is never freed: what is dropped gets a
 * hash that no path has. */
struct slot {
    uint64_t hash;
    uint64_t value; /* node | site << 32 */
};

/* An open-addressed table. Past five eighths it is followed by a larger one, into which the thread that
 * made it moves everything; until it is done a search looks in both. Whoever changes the old one looks
 * afterwards whether there is a new one, and changes that, too. */
struct table {
    struct slot *slots;
    uint32_t mask;
    uint32_t filled;
};

static struct {
    struct table tables[MAX_TABLES];
    uint32_t count;  /* of tables made so far; the last one is the newest */
    uint32_t oldest; /* number of the oldest one that still has to be looked at */
} g_index;

static uint32_t first_slot(uint64_t hash) { return (uint32_t)(hash >> 32); }

/* The hash of a slot that is taken, as soon as it is there. If the thread that took it is stopped just
 * now it is not waited for: the path may then stand in the table twice, and the first one is found. */
static uint64_t hash_of_taken(const struct slot *slot) {
    uint64_t hash = hg_load_acquire(&slot->hash);
    for (uint32_t i = 0; i < WAIT_FOR_HASH && !hash; i++) hash = hg_load_acquire(&slot->hash);
    return hash;
}

/* Put a value into a table that has room. Returns the slot that holds the hash now: another thread
 * may have been quicker. */
static struct slot *put(struct table *table, uint64_t hash, uint64_t value) {
    uint32_t mask = hg_load(&table->mask);
    for (uint32_t i = first_slot(hash) & mask;; i = (i + 1) & mask) {
        struct slot *slot = &hg_load(&table->slots)[i];
        uint64_t none = 0;
        if (!hg_swap(&slot->value, &none, value)) {
            if (hash_of_taken(slot) == hash) return slot;
            continue;
        }
        hg_store_release(&slot->hash, hash);
        hg_add_shared(&table->filled, 1);
        return slot;
    }
}

/* What is dropped while it is moved is dropped in both: whoever drops looks at the new table last. */
static void move(const struct slot *slot, struct table *to) {
    uint64_t hash = hg_load_acquire(&slot->hash);
    if (hash <= DROPPED) return;
    struct slot *moved = put(to, hash, hg_load_acquire(&slot->value));
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (hg_load(&slot->hash) == DROPPED) hg_store(&moved->hash, DROPPED);
}

static void move_all(const struct table *from, struct table *to) {
    for (uint32_t i = 0; i <= hg_load(&from->mask); i++) move(&hg_load(&from->slots)[i], to);
}

static bool add_table(uint32_t number) {
    if (number >= MAX_TABLES) return false;
    uint32_t slots = FIRST_SLOTS << number;
    struct slot *made = hg_sys_map_private(slots * sizeof *made), *none = NULL;
    if (!made) return false;
    /* All of it is used, and at random: as small pages each search would miss the TLB, too. */
    if (slots * sizeof *made >= HUGE_FROM) hg_sys_advise_huge(made, slots * sizeof *made);
    hg_store(&g_index.tables[number].mask, slots - 1);
    bool is_first = hg_swap(&g_index.tables[number].slots, &none, made);
    if (!is_first) hg_sys_unmap(made, slots * sizeof *made); /* another thread was quicker */
    uint32_t count = number;
    hg_swap(&g_index.count, &count, number + 1);
    if (!is_first || !number) return true;
    move_all(&g_index.tables[number - 1], &g_index.tables[number]);
    hg_store_release(&g_index.oldest, number);
    /* Who is still looking there finds nothing, and at the worst enters a path a second time. */
    struct table *old = &g_index.tables[number - 1];
    hg_sys_discard(hg_load(&old->slots), (hg_load(&old->mask) + 1) * sizeof *made);
    return true;
}

bool hg_path_index_start(void) {
    __builtin_memset(&g_index, 0, sizeof g_index);
    return add_table(0);
}

static struct slot *search(const struct table *table, uint64_t hash) {
    uint32_t mask = hg_load(&table->mask);
    for (uint32_t i = first_slot(hash) & mask;; i = (i + 1) & mask) {
        struct slot *slot = &hg_load(&table->slots)[i];
        if (hg_load_acquire(&slot->hash) == hash) return slot;
        if (!hg_load(&slot->value)) return NULL;
    }
}

/* Without a next table one could fill up and searches in it never end: refuse before that. */
static bool has_room(const struct table *table) {
    uint32_t mask = hg_load(&table->mask);
    return hg_load(&table->filled) < mask - mask / 8;
}

/* The newest table, which is made when the one before fills up; NULL when all are full. */
static struct table *newest(void) {
    uint32_t count = hg_load_acquire(&g_index.count);
    struct table *table = &g_index.tables[count - 1];
    if (hg_load(&table->filled) > hg_load(&table->mask) / 8 * 5 && add_table(count)) {
        table = &g_index.tables[hg_load_acquire(&g_index.count) - 1];
    }
    return has_room(table) ? table : NULL;
}

static struct slot *find(uint64_t hash) {
    uint32_t oldest = hg_load_acquire(&g_index.oldest);
    for (uint32_t n = hg_load_acquire(&g_index.count); n-- > oldest;) {
        struct slot *slot = search(&g_index.tables[n], hash);
        if (slot) return slot;
    }
    return NULL;
}

static struct hg_path read_value(uint64_t value) {
    return (struct hg_path){(uint32_t)value, (uint32_t)(value >> 32)};
}

struct hg_path hg_path_find(uint64_t hash) {
    const struct slot *slot = find(hash);
    return slot ? read_value(hg_load_acquire(&slot->value)) : (struct hg_path){0};
}

/* Whether `count` is no longer that of the tables, now that what was changed can be seen. */
static bool has_grown(uint32_t count) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return hg_load_acquire(&g_index.count) != count;
}

struct hg_path hg_path_enter(uint64_t hash, struct hg_path path) {
    uint64_t value = path.node | (uint64_t)path.site << 32;
    uint32_t count;
    do {
        struct table *table = newest();
        if (!table) return (struct hg_path){0};
        count = (uint32_t)(table - g_index.tables) + 1;
        uint64_t entered = hg_load_acquire(&put(table, hash, value)->value);
        if (entered) value = entered; /* else the table has been given back since */
    } while (has_grown(count));
    return read_value(value);
}

uint32_t hg_path_set_site(uint64_t hash, uint32_t site) {
    uint32_t count;
    do {
        count = hg_load_acquire(&g_index.count);
        struct slot *slot = find(hash);
        uint64_t seen = slot ? hg_load_acquire(&slot->value) : 0;
        while (slot && !read_value(seen).site) {
            if (hg_swap(&slot->value, &seen, seen | (uint64_t)site << 32)) break;
        }
        if (slot && read_value(seen).site) site = read_value(seen).site;
    } while (has_grown(count));
    return site;
}

void hg_path_expect(uint64_t hash) {
    const struct table *table = &g_index.tables[hg_load_acquire(&g_index.count) - 1];
    __builtin_prefetch(&hg_load(&table->slots)[first_slot(hash) & hg_load(&table->mask)], 1);
}

void hg_path_drop(bool (*is_gone)(uint32_t node, uintptr_t start, uintptr_t end), uintptr_t start,
                  uintptr_t end) {
    for (uint32_t n = hg_load_acquire(&g_index.oldest); n < hg_load_acquire(&g_index.count); n++) {
        struct table *table = &g_index.tables[n];
        for (uint32_t i = 0; i <= hg_load(&table->mask); i++) {
            struct slot *slot = &hg_load(&table->slots)[i];
            uint64_t value = hg_load(&slot->value);
            if (!value || hg_load_acquire(&slot->hash) < 2) continue;
            if (is_gone(read_value(value).node, start, end)) hg_store(&slot->hash, DROPPED);
        }
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
}
