#include "stacks.h"

#include "recording.h"
#include "table.h"

#define MAX_NODES ((1u << 24) - 1)
#define MARKED UINT64_C(0x71d67fffeda60001) /* where the hashes of marked stacks' paths begin */

static struct {
    struct hg_table nodes;
    struct hg_table sites;
    uint32_t node_count;
    uint32_t site_count;
} g_stacks;

/* Of a node that was handed out. */
static struct hg_node *node_at(uint32_t id) { return hg_table_at(&g_stacks.nodes, id); }

/* The next record of a table, whose size the header says, too; 0 when there is no room. Once a
 * table is full its count stays put, so it can never wrap. */
static uint32_t hand_out(struct hg_table *table, uint32_t *count, uint32_t *said, uint32_t limit) {
    uint32_t id = hg_load(count);
    do {
        if (id >= limit || !hg_table_slot(table, id)) return 0;
    } while (!hg_swap(count, &id, id + 1));
    hg_raise(said, id + 1);
    return id;
}

static uint32_t new_node(uint32_t parent, uint64_t address) {
    uint32_t id = hand_out(&g_stacks.nodes, &g_stacks.node_count, &g_header->nodes, MAX_NODES);
    if (!id) return 0;
    struct hg_node *node = node_at(id);
    node->parent = parent;
    hg_store_release(&node->address, address);
    return id;
}

static uint32_t new_site(uint32_t node, uint32_t depth, uint64_t now_ns) {
    uint32_t id = hand_out(&g_stacks.sites, &g_stacks.site_count, &g_header->sites, HG_MAX_SITES);
    if (!id) return 0;
    struct hg_site *site = hg_table_at(&g_stacks.sites, id);
    site->depth = (uint16_t)depth;
    site->first_seen = now_ns;
    hg_store_release(&site->node, node);
    return id;
}

/* The new path of one more frame, `address`, inside of `parent`, with a site if it is a whole stack. A
 * path that another thread has just entered has its own node; a site only if it is a stack there too. */
static struct hg_path new_path(uint64_t hash, uint32_t parent, uint64_t address, uint32_t depth,
                               uint64_t now_ns) {
    struct hg_path made = {new_node(parent, address), 0};
    if (made.node && depth) made.site = new_site(made.node, depth, now_ns);
    if (!made.node || (depth && !made.site)) return (struct hg_path){0};
    struct hg_path entered = hg_path_enter(hash, made);
    if (entered.site) hg_store_release(&node_at(entered.node)->site, entered.site);
    return entered;
}

/* A path that is known, but not as a whole stack. */
static uint32_t add_site(uint64_t hash, uint32_t node, uint32_t depth, uint64_t now_ns) {
    uint32_t made = new_site(node, depth, now_ns);
    if (!made) return HG_SITE_OTHER;
    uint32_t site = hg_path_set_site(hash, made);
    if (site == made) hg_store_release(&node_at(node)->site, made);
    return site;
}

/* The site of the stack that has frames[0..count) inside of a known path. */
static uint32_t site_within(uint64_t hash, struct hg_path path, const uintptr_t *frames,
                            uint32_t count, uint32_t depth, uint64_t now_ns) {
    /* Each search waits for memory; together they wait once. */
    uint64_t next = hash;
    for (uint32_t i = count; i-- > 0;) hg_path_expect(next = hg_path_add(next, frames[i]));
    bool is_known = true; /* what is inside of a new path is new, too */
    for (uint32_t i = count; i-- > 0;) {
        uint32_t parent = path.node;
        hash = hg_path_add(hash, frames[i]);
        if (is_known) path = hg_path_find(hash);
        is_known = is_known && path.node;
        if (!is_known) path = new_path(hash, parent, frames[i], i ? 0 : depth, now_ns);
        if (!path.node) return HG_SITE_OTHER;
    }
    if (path.site || !path.node) return path.node ? path.site : HG_SITE_OTHER;
    return add_site(hash, path.node, depth, now_ns);
}

uint32_t hg_stacks_site_under(uint64_t outer, const uintptr_t *frames, uint32_t count,
                              uint32_t depth, uint64_t now_ns) {
    struct hg_path path = {0};
    if (outer != HG_PATH_ROOT) path = hg_path_find(outer);
    if (!path.node && outer != HG_PATH_ROOT) return 0;
    return site_within(outer, path, frames, count, depth, now_ns);
}

uint64_t hg_stacks_path(const uintptr_t *frames, uint32_t depth, uint32_t end) {
    uint64_t path = end ? hg_path_add(HG_PATH_ROOT, end) : HG_PATH_ROOT;
    for (uint32_t i = depth; i-- > 0;) path = hg_path_add(path, frames[i]);
    return path;
}

uint32_t hg_stacks_site(const uintptr_t *frames, uint32_t depth, uint32_t end, uint64_t now_ns) {
    struct hg_path path = {0};
    uint64_t outer = hg_stacks_path(NULL, 0, end);
    if (end) path = hg_path_find(outer);
    if (end && !path.node) path = new_path(outer, 0, end, 0, now_ns);
    if (end && !path.node) return HG_SITE_OTHER;
    return site_within(outer, path, frames, depth, depth, now_ns);
}

/* The site with one more, innermost, node, that is a mark, is found by the stack's own site, not by its
 * path: that is long. */
static uint32_t marked(uint32_t site, uint32_t mark, uint64_t now_ns) {
    const struct hg_site *record = hg_table_find(&g_stacks.sites, site);
    if (!record) return HG_SITE_OTHER;
    uint64_t hash = hg_path_add(hg_path_add(MARKED, site), mark);
    struct hg_path path = hg_path_find(hash);
    if (path.site) return path.site;
    if (!path.node) path = new_path(hash, record->node, mark, 0, now_ns);
    return path.node ? add_site(hash, path.node, record->depth, now_ns) : HG_SITE_OTHER;
}

uint32_t hg_stacks_sampled(uint32_t site, uint32_t shift, uint64_t now_ns) {
    return marked(site, HG_PSEUDO_SAMPLED + shift, now_ns);
}

uint32_t hg_stacks_annotated(uint32_t site, uint64_t now_ns) {
    return marked(site, HG_PSEUDO_ANNOTATED, now_ns);
}

bool hg_stacks_is_annotated(uint32_t site) {
    return hg_stacks_node(hg_stacks_innermost(site)).address == HG_PSEUDO_ANNOTATED;
}

uint32_t hg_stacks_sample_shift(uint32_t site) {
    uint64_t shift = hg_stacks_node(hg_stacks_innermost(site)).address - HG_PSEUDO_SAMPLED;
    bool is_mark = shift >= HG_SAMPLE_SHIFT_LEAST && shift <= HG_SAMPLE_SHIFT_MOST;
    return is_mark ? (uint32_t)shift : 0;
}

/* Whether a node, or one it was called from, is code in [start, end). */
static bool is_within(uint32_t node, uintptr_t start, uintptr_t end) {
    for (struct hg_node record; node; node = record.parent) {
        record = hg_stacks_node(node);
        if (record.address - start < end - start) return true;
    }
    return false;
}

void hg_stacks_retire(uintptr_t start, uintptr_t end) { hg_path_drop(is_within, start, end); }

#ifdef HG_CHECK_WALKS
bool hg_stacks_are_same(uint32_t a, uint32_t b) {
    uint32_t i = hg_stacks_innermost(a), j = hg_stacks_innermost(b);
    while (i && j && i != j) {
        struct hg_node one = hg_stacks_node(i), other = hg_stacks_node(j);
        if (one.address != other.address) return false;
        i = one.parent;
        j = other.parent;
    }
    return i == j;
}
#endif

uint32_t hg_stacks_innermost(uint32_t site) {
    const struct hg_site *record = hg_table_find(&g_stacks.sites, site);
    return record ? hg_load_acquire(&record->node) : 0;
}

uint32_t hg_stacks_innermost_frame(uint32_t site) {
    uint32_t node = hg_stacks_innermost(site);
    return node && hg_stacks_sample_shift(site) ? hg_stacks_node(node).parent : node;
}

struct hg_node hg_stacks_node(uint32_t node) {
    const struct hg_node *record = hg_table_find(&g_stacks.nodes, node);
    if (!record || !hg_load_acquire(&record->address)) return (struct hg_node){0};
    struct hg_node copy = {hg_load(&record->address), hg_load(&record->parent), record->site};
    /* A caller is older than what it calls. Where the file says otherwise someone wrote over it, and who follows it
     * would go round for ever. */
    if (copy.parent >= node) copy.parent = 0;
    return copy;
}

uint32_t hg_stacks_nodes(void) { return hg_load(&g_stacks.node_count); }

uint32_t hg_stacks_sites(void) { return hg_load_acquire(&g_stacks.site_count); }

bool hg_stacks_start(void) {
    __builtin_memset(&g_stacks, 0, sizeof g_stacks);
    if (!hg_table_start(&g_stacks.nodes, HG_KIND_NODES, 0, sizeof(struct hg_node), MAX_NODES) ||
        !hg_table_start(&g_stacks.sites, HG_KIND_SITES, 0, sizeof(struct hg_site), HG_MAX_SITES) ||
        !hg_path_index_start()) {
        return false;
    }
    g_header->nodes = g_stacks.node_count = 1; /* the root has no record */
    g_header->sites = g_stacks.site_count = 1; /* no site */
    return hg_stacks_site(NULL, 0, HG_PSEUDO_OTHER, 0) == HG_SITE_OTHER;
}
