/* Many live blocks: live BLOCKS PAIRS ROUNDS
 *
 * Builds BLOCKS list nodes of 24 bytes (build_ns each), then frees and replaces random ones (ns per
 * pair); PAIRS 0 only builds. The nodes are
 * most of the memory, so the process's size shows what a tool adds per block. */
#include "report.h"

struct node {
    struct node *next;
    uint64_t payload[2];
};

__attribute__((noinline, noclone)) static struct node *make_node(struct node *next) {
    struct node *node = seen(malloc(sizeof *node));
    *node = (struct node){next, {1, 2}};
    return node;
}

static struct node *build(long blocks) {
    struct node *first = NULL;
    for (long i = 0; i < blocks; i++) first = make_node(first);
    return first;
}

static void replace(struct node **nodes, long blocks, long pairs, uint64_t *state) {
    for (long i = 0; i < pairs; i++) {
        struct node **node = &nodes[next_random(state) % (uint64_t)blocks];
        free(*node);
        *node = make_node(NULL);
    }
}

int main(int argc, char **argv) {
    long blocks = argument(argc, argv, 1, 1000), pairs = argument(argc, argv, 2, 100000);
    struct rounds rounds = rounds_of(argument(argc, argv, 3, 10));
    uint64_t state = 88172645463325252u;
    double start = cpu_ns();
    struct node *first = build(blocks);
    double build_ns = (cpu_ns() - start) / (double)blocks;
    if (pairs) {
        struct node **nodes = malloc((size_t)blocks * sizeof *nodes);
        if (!nodes) return 1;
        for (long i = 0; i < blocks; i++, first = first->next) nodes[i] = first;
        for (long round = 0; round < rounds.wanted; round++) {
            round_start(&rounds);
            replace(nodes, blocks, pairs, &state);
            round_end(&rounds, pairs);
        }
        report(&rounds, pairs);
    } else {
        printf("operations %ld\n", blocks);
    }
    printf("build_ns %.3f\n", build_ns);
    fflush(stdout);
    _Exit(0); /* ending is not what is measured */
}
