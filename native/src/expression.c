/* The evaluator: a stack machine over 64-bit words. */
#include "expression.h"

#include "probe.h"

#define DEPTH 16u
#define MAX_STEPS 256u /* branches may go back; the longest expression met has ten operations */

enum operation {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_CONST8U = 0x0e,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

struct machine {
    struct hg_cursor code;
    uintptr_t start; /* of the code: branches go no further back */
    const struct hg_registers *registers;
    uint32_t depth;
    uint64_t stack[DEPTH];
};

static void push(struct machine *m, uint64_t value) {
    if (m->depth == DEPTH) {
        hg_cursor_spoil(&m->code);
    } else {
        m->stack[m->depth++] = value;
    }
}

static uint64_t pop(struct machine *m) {
    if (m->depth == 0) {
        hg_cursor_spoil(&m->code);
        return 0;
    }
    return m->stack[--m->depth];
}

static void pick(struct machine *m, uint32_t index) {
    if (index >= m->depth) {
        hg_cursor_spoil(&m->code);
    } else {
        push(m, m->stack[m->depth - 1 - index]);
    }
}

/* Move the top word below the `below` next ones. */
static void sink(struct machine *m, uint32_t below) {
    if (below >= m->depth) {
        hg_cursor_spoil(&m->code);
        return;
    }
    uint64_t *top = &m->stack[m->depth - 1];
    uint64_t value = *top;
    for (uint32_t i = 0; i < below; i++, top--) *top = top[-1];
    *top = value;
}

static void push_register(struct machine *m, uint64_t column) {
    int64_t offset = hg_cursor_sleb(&m->code);
    if (column >= HG_COLUMNS || !(m->registers->known >> column & 1)) {
        hg_cursor_spoil(&m->code);
    } else {
        push(m, m->registers->value[column] + (uint64_t)offset);
    }
}

static void dereference(struct machine *m, uint32_t size) {
    uintptr_t value, address = pop(m);
    /* Eight bytes are read even for fewer: a value so close to the end of memory is garbage. */
    if (m->code.bad || size == 0 || size > 8 || !hg_probe_word(address, &value)) {
        hg_cursor_spoil(&m->code);
        return;
    }
    push(m, value & (~UINT64_C(0) >> (64 - 8 * size)));
}

static void branch(struct machine *m, bool taken) {
    int64_t distance = (int16_t)hg_cursor_u16(&m->code);
    if (!taken || m->code.bad) return;
    int64_t back = (int64_t)(m->code.at - m->start), ahead = (int64_t)(m->code.end - m->code.at);
    if (distance < -back || distance > ahead) {
        hg_cursor_spoil(&m->code);
    } else {
        m->code.at += (uintptr_t)distance;
    }
}

/* Operations that only push a constant; false when it is not one of them. */
static bool execute_constant(struct machine *m, uint8_t op) {
    static const uint8_t forms[] = {
        [OP_CONST2U] = HG_FORM_U16, [OP_CONST2S] = HG_FORM_S16, [OP_CONST4U] = HG_FORM_U32,
        [OP_CONST4S] = HG_FORM_S32, [OP_CONST8U] = HG_FORM_U64, [OP_CONST8S] = HG_FORM_S64,
        [OP_CONSTU] = HG_FORM_ULEB, [OP_CONSTS] = HG_FORM_SLEB,
    };
    if (op >= OP_LIT0 && op <= OP_LIT31) {
        push(m, op - OP_LIT0);
    } else if (op == OP_CONST1U) {
        push(m, hg_cursor_u8(&m->code));
    } else if (op == OP_CONST1S) {
        push(m, (uint64_t)(int64_t)(int8_t)hg_cursor_u8(&m->code));
    } else if (op >= OP_CONST2U && op <= OP_CONSTS) {
        push(m, hg_cursor_form(&m->code, forms[op]));
    } else if (op == OP_ADDR) {
        push(m, hg_cursor_u64(&m->code));
    } else {
        return false;
    }
    return true;
}

/* Operations of two words; false when it is not one of them. */
static bool binary(uint8_t op, uint64_t a, uint64_t b, uint64_t *out) {
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (op) {
    case OP_AND: *out = a & b; return true;
    case OP_OR: *out = a | b; return true;
    case OP_XOR: *out = a ^ b; return true;
    case OP_PLUS: *out = a + b; return true;
    case OP_MINUS: *out = a - b; return true;
    case OP_MUL: *out = a * b; return true;
    case OP_SHL: *out = b < 64 ? a << b : 0; return true;
    case OP_SHR: *out = b < 64 ? a >> b : 0; return true;
    case OP_SHRA: *out = (uint64_t)(x >> (b < 64 ? b : 63)); return true;
    case OP_EQ: *out = a == b; return true;
    case OP_NE: *out = a != b; return true;
    case OP_GE: *out = x >= y; return true;
    case OP_GT: *out = x > y; return true;
    case OP_LE: *out = x <= y; return true;
    case OP_LT: *out = x < y; return true;
    case OP_DIV:
        if (y == 0 || (y == -1 && x == INT64_MIN)) return false;
        *out = (uint64_t)(x / y);
        return true;
    case OP_MOD:
        if (b == 0) return false;
        *out = a % b;
        return true;
    default: return false;
    }
}

static void execute_binary(struct machine *m, uint8_t op) {
    uint64_t result = 0, b = pop(m), a = pop(m);
    if (!binary(op, a, b, &result)) hg_cursor_spoil(&m->code);
    push(m, result);
}

/* Operations on the stack itself, on one word, and jumps; false when it is none of them. */
static bool execute_stack(struct machine *m, uint8_t op) {
    uint64_t top;
    switch (op) {
    case OP_NOP: return true;
    case OP_DUP: pick(m, 0); return true;
    case OP_OVER: pick(m, 1); return true;
    case OP_PICK: pick(m, hg_cursor_u8(&m->code)); return true;
    case OP_DROP: pop(m); return true;
    case OP_SWAP: sink(m, 1); return true;
    case OP_ROT: sink(m, 2); return true;
    case OP_DEREF: dereference(m, 8); return true;
    case OP_DEREF_SIZE: dereference(m, hg_cursor_u8(&m->code)); return true;
    case OP_PLUS_UCONST:
        top = pop(m);
        push(m, top + hg_cursor_uleb(&m->code));
        return true;
    case OP_ABS:
        top = pop(m);
        push(m, (int64_t)top < 0 ? -top : top);
        return true;
    case OP_NEG: push(m, -pop(m)); return true;
    case OP_NOT: push(m, ~pop(m)); return true;
    case OP_SKIP: branch(m, true); return true;
    case OP_BRA: branch(m, pop(m) != 0); return true;
    case OP_BREGX: push_register(m, hg_cursor_uleb(&m->code)); return true;
    default: return false;
    }
}

static void execute(struct machine *m, uint8_t op) {
    if (op >= OP_BREG0 && op <= OP_BREG31) {
        push_register(m, op - OP_BREG0);
    } else if (!execute_constant(m, op) && !execute_stack(m, op)) {
        execute_binary(m, op);
    }
}

bool hg_expression_run(struct hg_cursor code, const struct hg_registers *registers,
                       const uintptr_t *start, uintptr_t *result) {
    struct machine m = {.code = code, .start = code.at, .registers = registers};
    if (start) push(&m, *start);
    uint32_t steps = 0;
    while (!hg_cursor_done(&m.code)) {
        if (++steps > MAX_STEPS) return false;
        execute(&m, hg_cursor_u8(&m.code));
    }
    if (m.code.bad || m.depth == 0) return false;
    *result = m.stack[m.depth - 1];
    return true;
}

bool hg_expression_is_register(struct hg_cursor code, uint32_t column, bool deref,
                               int64_t *offset) {
    if (hg_cursor_u8(&code) != OP_BREG0 + column) return false;
    *offset = hg_cursor_sleb(&code);
    if (deref && hg_cursor_u8(&code) != OP_DEREF) return false;
    return !code.bad && hg_cursor_done(&code);
}
