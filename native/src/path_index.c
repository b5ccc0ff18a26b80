#include "path_index.h"

#include "recording.h"
#include "sys.h"

#define FIRST_SLOTS 4096u
#define MAX_TABLES 15u /* each twice the one before: enough for all nodes */
#define HUGE_FROM (UINT64_C(4) << 20)
#define DROPPED 1u

/* A slot is taken by its hash and means something once it has a value, which any thread that wants
 * this path may give it: nobody waits for the one that took it. It is never freed: what is dropped
 * gets a hash that no path has. */
struct slot {
    uint64_t hash;
    uint64_t value; /* node | site << 32 */
};

/* An open-addressed table. Past eleven sixteenths it is followed by a larger one, into which everything is
 * moved, by one thread at a time, table after table; until that is done a search looks in all of them,
 * the newest first. A table that has been moved is given back, and who is late may still write there:
 * what was read counts only if the table still stood afterwards. Whoever changes a table looks
 * afterwards whether there is a newer one, and changes that, too. */
struct table {
    struct slot *slots;
    uint32_t mask;
    uint32_t filled;
};

static struct {
    struct table tables[MAX_TABLES];
    uint32_t count;  /* of tables made so far; the last one is the newest */
    uint32_t oldest; /* number of the oldest one that still has to be looked at */
    /* If its thread leaves in the middle, by a jump out of a handler, nothing is moved any more. */
    bool is_moving;
} g_index;

static uint32_t first_slot(uint64_t hash) { return (uint32_t)(hash >> 32); }

/* Put a value into a table that has room. Returns the slot that holds the hash now: another thread
 * may have been quicker. */
static struct slot *put(struct table *table, uint64_t hash, uint64_t value) {
    uint32_t mask = hg_load(&table->mask);
    for (uint32_t i = first_slot(hash) & mask;; i = (i + 1) & mask) {
        struct slot *slot = &hg_load(&table->slots)[i];
        uint64_t seen = hg_load_acquire(&slot->hash), none = 0;
        if (!seen && hg_swap(&slot->hash, &seen, hash)) {
            hg_add_shared(&table->filled, 1);
        } else if (seen != hash) {
            continue;
        }
        hg_swap(&slot->value, &none, value);
        return slot;
    }
}

static struct hg_path read_value(uint64_t value) {
    return (struct hg_path){(uint32_t)value, (uint32_t)(value >> 32)};
}

static bool add_table(uint32_t number) {
    if (number >= MAX_TABLES) return false;
    uint32_t slots = FIRST_SLOTS << number;
    if (number && !hg_recording_lets(slots * sizeof(struct slot))) return false;
    struct slot *made = hg_sys_map_private(slots * sizeof *made), *none = NULL;
    if (!made) return false;
    /* All of it is used, and at random: as small pages each search would miss the TLB, too. */
    if (slots * sizeof *made >= HUGE_FROM) hg_sys_advise_huge(made, slots * sizeof *made);
    hg_store(&g_index.tables[number].mask, slots - 1);
    bool is_first = hg_swap(&g_index.tables[number].slots, &none, made);
    if (!is_first) hg_sys_unmap(made, slots * sizeof *made); /* another thread was quicker */
    uint32_t count = number;
    hg_swap(&g_index.count, &count, number + 1);
    return true;
}

/* The next table after one that fills up. Without a next one it goes on with this, but not to the end:
 * searches in a full table would not end either. NULL: no room. */
static HG_NOINLINE struct table *next_table(struct table *table) {
    if (add_table((uint32_t)(table - g_index.tables) + 1)) {
        return &g_index.tables[hg_load_acquire(&g_index.count) - 1];
    }
    uint32_t mask = hg_load(&table->mask);
    return hg_load(&table->filled) < mask - mask / 8 ? table : NULL;
}

/* The newest table, which is made when the one before fills up; NULL when all are full. */
HG_INLINE struct table *newest(void) {
    struct table *table = &g_index.tables[hg_load_acquire(&g_index.count) - 1];
    bool has_room = hg_load(&table->filled) <= hg_load(&table->mask) / 16 * 11;
    return HG_LIKELY(has_room) ? table : next_table(table);
}

static struct slot *search(const struct table *table, uint64_t hash) {
    uint32_t mask = hg_load(&table->mask);
    for (uint32_t i = first_slot(hash) & mask;; i = (i + 1) & mask) {
        struct slot *slot = &hg_load(&table->slots)[i];
        uint64_t seen = hg_load_acquire(&slot->hash);
        if (seen == hash) return slot;
        if (!seen) return NULL;
    }
}

/* Whether a table has not been given back, so that what was read in it before this is true. */
static bool stands(uint32_t number) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return hg_load_acquire(&g_index.oldest) <= number;
}

/* Where a path is, and what was there. */
struct found {
    struct slot *slot;
    uint64_t value;
};

/* While a path is moved its copy may not have the site yet that it has just got in the older table. */
static struct found find(uint64_t hash) {
    struct found found;
    uint32_t oldest;
    do {
        found = (struct found){0};
        oldest = hg_load_acquire(&g_index.oldest);
        for (uint32_t n = hg_load_acquire(&g_index.count); n-- > oldest;) {
            struct slot *slot = search(&g_index.tables[n], hash);
            uint64_t value = slot ? hg_load_acquire(&slot->value) : 0;
            if (!value || !stands(n)) continue;
            if (read_value(value).site) return (struct found){slot, value};
            if (!found.slot) found = (struct found){slot, value};
        }
    } while (!stands(oldest)); /* what was there may have been moved behind our back */
    return found;
}

HG_INLINE void give_site(struct slot *slot, uint32_t site) {
    uint64_t seen = hg_load_acquire(&slot->value);
    while (site && !read_value(seen).site) {
        if (hg_swap(&slot->value, &seen, seen | (uint64_t)site << 32)) return;
    }
}

/* Put the path of a slot of the oldest table into a newer one. If it stands in one that is not the
 * newest it is moved from there in its turn. NULL: no room. */
static struct slot *copy_of(uint64_t hash, uint64_t value) {
    struct table *to = newest();
    for (struct table *table = &g_index.tables[g_index.oldest + 1]; table < to; table++) {
        struct slot *slot = search(table, hash);
        if (slot && hg_load_acquire(&slot->value)) return slot;
    }
    return to ? put(to, hash, value) : NULL;
}

/* Who drops a path, or gives it a site, does so here and then in its copy if that can be seen; if not,
 * what was done can be seen here. False: no room. */
static bool move(const struct slot *slot) {
    uint64_t hash = hg_load_acquire(&slot->hash), value = hg_load_acquire(&slot->value);
    if (hash <= DROPPED || !value) return true;
    struct slot *copy = copy_of(hash, value);
    if (!copy) return false;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    give_site(copy, read_value(hg_load_acquire(&slot->value)).site);
    if (hg_load(&slot->hash) == DROPPED) hg_store(&copy->hash, DROPPED);
    return true;
}

static bool move_table(const struct table *table) {
    for (uint32_t i = 0; i <= hg_load(&table->mask); i++) {
        if (!move(&hg_load(&table->slots)[i])) return false;
    }
    return true;
}

static bool is_behind(void) {
    return hg_load(&g_index.oldest) + 1 < hg_load_acquire(&g_index.count);
}

/* Move what stands in older tables into the newest. What is asked for while a thread is at it, that
 * thread looks for again when it is done. */
static void catch_up(void) {
    bool is_free = false, has_moved = true;
    while (has_moved && is_behind() && hg_swap(&g_index.is_moving, &is_free, true)) {
        while (is_behind() && (has_moved = move_table(&g_index.tables[g_index.oldest]))) {
            struct table *moved = &g_index.tables[g_index.oldest];
            hg_store_release(&g_index.oldest, g_index.oldest + 1);
            hg_sys_discard(hg_load(&moved->slots),
                           (hg_load(&moved->mask) + 1) * sizeof *moved->slots);
        }
        hg_store_release(&g_index.is_moving, false);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
}

bool hg_path_index_start(void) {
    __builtin_memset(&g_index, 0, sizeof g_index);
    return add_table(0);
}

struct hg_path hg_path_find(uint64_t hash) { return read_value(find(hash).value); }

/* A path stands in at most one slot of a table, and goes into the newest one only after the others have
 * been looked at: it has one node, whoever enters it. */
struct hg_path hg_path_enter(uint64_t hash, struct hg_path path) {
    uint64_t value = path.node | (uint64_t)path.site << 32;
    for (;;) {
        struct table *table = newest();
        if (!table) return (struct hg_path){0};
        struct found found = {0};
        if (is_behind()) found = find(hash);
        if (found.slot) value = found.value;
        uint64_t entered = hg_load_acquire(&put(table, hash, value)->value);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (hg_load_acquire(&g_index.count) - 1 != (uint32_t)(table - g_index.tables)) continue;
        catch_up();
        return read_value(entered);
    }
}

/* Looks again after each attempt: another thread may have been quicker, or have moved the path. */
uint32_t hg_path_set_site(uint64_t hash, uint32_t site) {
    for (;;) {
        struct found found = find(hash);
        if (!found.slot) return site;
        uint32_t seen = read_value(found.value).site;
        if (seen) return seen;
        hg_swap(&found.slot->value, &found.value, found.value | (uint64_t)site << 32);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
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
            uint64_t value = hg_load_acquire(&slot->value); /* and the node that it tells of */
            if (!value || hg_load_acquire(&slot->hash) < 2) continue;
            if (is_gone(read_value(value).node, start, end)) hg_store(&slot->hash, DROPPED);
        }
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
}
