#include "stacks.h"

#include "recording.h"
#include "sys.h"
#include "table.h"

#define ID_BITS 24u
#define ID_MASK ((1u << ID_BITS) - 1)
#define MAX_NODES ID_MASK /* the last id is not used: see RETIRED */
#define FIRST_INDEX_SLOTS 8192u
#define GROWTH_SHIFT 2u
#define MAX_INDEXES 7u /* each four times the one before: enough for MAX_NODES at half load */
#define RETIRED UINT32_MAX

/* The index of nodes by (parent, address): a chain of open-addressed tables, each four times as
 * large as the one before. Nothing ever moves: a table past half full is followed by a new one, and
 * a search looks through all of them, newest first. Slots hold a node's id and, above it, eight bits
 * of its hash, so that hardly any other node is looked at; 0 is empty, RETIRED gone. */
struct index {
    uint32_t *slots;
    uint32_t mask;
    uint32_t filled;
};

static struct {
    struct hg_table nodes;
    struct hg_table sites;
    struct index indexes[MAX_INDEXES];
    uint32_t index_count;
} g_stacks;

static bool add_index(uint32_t number) {
    if (number >= MAX_INDEXES) return false;
    uint32_t slots = FIRST_INDEX_SLOTS << GROWTH_SHIFT * number;
    uint32_t *made = hg_sys_map_private(slots * sizeof *made), *none = NULL;
    if (!made) return false;
    hg_store(&g_stacks.indexes[number].mask, slots - 1);
    if (!hg_swap(&g_stacks.indexes[number].slots, &none, made)) {
        hg_sys_unmap(made, slots * sizeof *made); /* another thread was quicker */
    }
    uint32_t count = number;
    hg_swap(&g_stacks.index_count, &count, number + 1);
    return true;
}

/* Its low bits say where in an index, its high ones are kept there. */
static uint32_t hash(uint32_t parent, uint64_t address) {
    uint64_t h = (address ^ (uint64_t)parent << 40) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 32;
    h = (h + parent) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32);
}

static struct hg_node *node_at(uint32_t id) { return hg_table_at(&g_stacks.nodes, id); }

static bool is_node(uint32_t id, uint32_t parent, uint64_t address) {
    const struct hg_node *node = node_at(id);
    return node->address == address && node->parent == parent;
}

/* The id in a slot if it is that of this node, else 0. */
static uint32_t match(uint32_t slot, uint32_t h, uint32_t parent, uint64_t address) {
    if ((slot ^ h) >> ID_BITS || slot == RETIRED) return 0;
    uint32_t id = slot & ID_MASK;
    return is_node(id, parent, address) ? id : 0;
}

static uint32_t search(const struct index *index, uint32_t h, uint32_t parent, uint64_t address) {
    uint32_t mask = hg_load(&index->mask);
    for (uint32_t i = h & mask;; i = (i + 1) & mask) {
        uint32_t slot = hg_load_acquire(&index->slots[i]);
        if (!slot) return 0;
        uint32_t id = match(slot, h, parent, address);
        if (id) return id;
    }
}

/* The next record of a table whose size stands in the header; 0 when there is no room. Once a
 * table is full its count stays put, so it can never wrap. */
static uint32_t hand_out(struct hg_table *table, uint32_t *count, uint32_t limit) {
    uint32_t id = hg_load(count);
    do {
        if (id >= limit || !hg_table_slot(table, id)) return 0;
    } while (!hg_swap(count, &id, id + 1));
    return id;
}

static uint32_t new_node(uint32_t parent, uint64_t address) {
    uint32_t id = hand_out(&g_stacks.nodes, &g_header->nodes, MAX_NODES);
    if (!id) return 0;
    struct hg_node *node = node_at(id);
    node->parent = parent;
    hg_store_release(&node->address, address);
    return id;
}

/* Put a new node into the newest index. Another thread may have put the same one in just before:
 * then that one is the answer and ours stays an unused record. */
static uint32_t insert(uint32_t h, uint32_t parent, uint64_t address) {
    uint32_t id = new_node(parent, address);
    if (!id) return 0;
    uint32_t number = hg_load_acquire(&g_stacks.index_count) - 1;
    struct index *index = &g_stacks.indexes[number];
    uint32_t mask = hg_load(&index->mask), mine = id | (h & ~ID_MASK);
    for (uint32_t i = h & mask;; i = (i + 1) & mask) {
        uint32_t seen = hg_load_acquire(&index->slots[i]);
        if (!seen && hg_swap(&index->slots[i], &seen, mine)) break;
        uint32_t other = match(seen, h, parent, address);
        if (other) return other;
    }
    uint32_t filled = hg_add_shared(&index->filled, 1);
    /* One thread makes the next index; if it is slow, any other that comes by does. */
    bool is_late = filled > mask / 8 * 5 && hg_load(&g_stacks.index_count) == number + 1;
    if (filled == mask / 2 || is_late) add_index(number + 1);
    return id;
}

/* Without a next index a table could fill up and searches in it never end: refuse before that. */
static bool has_room(void) {
    const struct index *index = &g_stacks.indexes[hg_load(&g_stacks.index_count) - 1];
    return hg_load(&index->filled) < hg_load(&index->mask) - hg_load(&index->mask) / 8;
}

uint32_t hg_stacks_child(uint32_t parent, uint64_t address) {
    uint32_t h = hash(parent, address);
    for (uint32_t n = hg_load_acquire(&g_stacks.index_count); n-- > 0;) {
        uint32_t id = search(&g_stacks.indexes[n], h, parent, address);
        if (id) return id;
    }
    return has_room() ? insert(h, parent, address) : 0;
}

static uint32_t new_site(uint32_t node, uint32_t depth, uint64_t now_ns) {
    uint32_t id = hand_out(&g_stacks.sites, &g_header->sites, HG_MAX_SITES);
    if (!id) return 0;
    struct hg_site *site = hg_table_at(&g_stacks.sites, id);
    site->depth = depth;
    site->first_seen = now_ns;
    hg_store_release(&site->node, node);
    return id;
}

uint32_t hg_stacks_site_of(uint32_t node, uint32_t depth, uint64_t now_ns) {
    struct hg_node *record = node_at(node);
    uint32_t site = hg_load_acquire(&record->site);
    if (site) return site;
    uint32_t made = new_site(node, depth, now_ns);
    if (!made) return HG_SITE_OTHER;
    return hg_swap(&record->site, &site, made) ? made : site;
}

uint32_t hg_stacks_site(const uintptr_t *frames, uint32_t depth, uint32_t end, uint64_t now_ns) {
    uint32_t node = end ? hg_stacks_child(0, end) : 0;
    if (end && !node) return HG_SITE_OTHER;
    for (uint32_t i = depth; i-- > 0;) {
        node = hg_stacks_child(node, frames[i]);
        if (!node) return HG_SITE_OTHER;
    }
    return node ? hg_stacks_site_of(node, depth, now_ns) : HG_SITE_OTHER;
}

void hg_stacks_retire(uintptr_t start, uintptr_t end) {
    for (uint32_t n = hg_load_acquire(&g_stacks.index_count); n-- > 0;) {
        struct index *index = &g_stacks.indexes[n];
        for (uint32_t i = 0; i <= hg_load(&index->mask); i++) {
            uint32_t slot = hg_load_acquire(&index->slots[i]);
            if (!slot || slot == RETIRED) continue;
            uint64_t address = node_at(slot & ID_MASK)->address;
            if (address >= start && address < end) hg_store(&index->slots[i], RETIRED);
        }
    }
}

uint32_t hg_stacks_nodes(void) { return hg_load(&g_header->nodes); }

bool hg_stacks_start(void) {
    __builtin_memset(&g_stacks, 0, sizeof g_stacks);
    if (!hg_table_start(&g_stacks.nodes, HG_KIND_NODES, 0, sizeof(struct hg_node), MAX_NODES) ||
        !hg_table_start(&g_stacks.sites, HG_KIND_SITES, 0, sizeof(struct hg_site), HG_MAX_SITES) ||
        !add_index(0)) {
        return false;
    }
    g_header->nodes = 1; /* the root has no record */
    g_header->sites = 1; /* no site */
    uint32_t other = hg_stacks_child(0, HG_PSEUDO_OTHER);
    return other && hg_stacks_site_of(other, 0, 0) == HG_SITE_OTHER;
}
