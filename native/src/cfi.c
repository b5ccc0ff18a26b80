#include "cfi.h"

#include "sys.h"

/* ---- cfi --------------------------------------------------------------------------------------- */

/* The interpreter of call-frame instructions. Bounded by the instructions' own length: each takes
 * at least one byte. */

#define VALUE_LIMIT (1 << 27)

enum opcode {
    ADVANCE = 0x40, /* the upper two bits; an operand in the lower six */
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOP = 0x00,
    SET_LOC = 0x01,
    ADVANCE1 = 0x02,
    ADVANCE2 = 0x03,
    ADVANCE4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    REGISTER = 0x09,
    REMEMBER_STATE = 0x0a,
    RESTORE_STATE = 0x0b,
    DEF_CFA = 0x0c,
    DEF_CFA_REGISTER = 0x0d,
    DEF_CFA_OFFSET = 0x0e,
    DEF_CFA_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    OFFSET_EXTENDED_SF = 0x11,
    DEF_CFA_SF = 0x12,
    DEF_CFA_OFFSET_SF = 0x13,
    VAL_OFFSET = 0x14,
    VAL_OFFSET_SF = 0x15,
    VAL_EXPRESSION = 0x16,
    GNU_ARGS_SIZE = 0x2e,
    GNU_NEGATIVE_OFFSET = 0x2f,
};

static void set_column(struct hg_cfi_machine *m, uint64_t column, enum hg_cfi_kind kind,
                       int64_t value) {
    if (column >= HG_COLUMNS) return;
    if (value < -VALUE_LIMIT || value >= VALUE_LIMIT) {
        hg_cursor_spoil(&m->code);
        return;
    }
    m->row.columns[column].kind = kind;
    m->row.columns[column].value = (int32_t)value;
}

static void set_cfa(struct hg_cfi_machine *m, uint64_t column, int64_t value) {
    if (column >= HG_COLUMNS || value < INT32_MIN || value > INT32_MAX) {
        hg_cursor_spoil(&m->code);
        return;
    }
    m->row.cfa_register = (uint16_t)column;
    m->row.cfa_value = (int32_t)value;
}

/* Multiplied without overflow; a product out of range stays out of range. */
static int64_t factored(const struct hg_cfi_machine *m, int64_t value) {
    int64_t product;
    return __builtin_mul_overflow(value, m->fde->data_align, &product) ? INT64_MAX : product;
}

static int64_t unsigned_operand(struct hg_cfi_machine *m) {
    uint64_t value = hg_cursor_uleb(&m->code);
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Step over an expression; where it stands, counted from fde->lo. */
static int64_t expression_operand(struct hg_cfi_machine *m) {
    uintptr_t at = m->code.at;
    hg_cursor_skip(&m->code, hg_cursor_uleb(&m->code));
    return (int64_t)(at - m->fde->lo);
}

static void restore(struct hg_cfi_machine *m, uint64_t column) {
    if (column < HG_COLUMNS) m->row.columns[column] = m->initial.columns[column];
}

static void advance(struct hg_cfi_machine *m, uint64_t delta) {
    uint64_t distance;
    /* Code never wraps around the address space; corrupt data that says so leads past `address`. */
    if (__builtin_mul_overflow(delta, m->fde->code_align, &distance) ||
        __builtin_add_overflow(m->location, distance, &m->location)) {
        m->location = UINTPTR_MAX;
    }
}

static void remember(struct hg_cfi_machine *m) {
    if (m->remembered == HG_CFI_NESTING) {
        hg_cursor_spoil(&m->code);
    } else {
        m->stack[m->remembered++] = m->row;
    }
}

static void recall(struct hg_cfi_machine *m) {
    if (m->remembered == 0) {
        hg_cursor_spoil(&m->code);
    } else {
        m->row = m->stack[--m->remembered];
    }
}

static void set_location(struct hg_cfi_machine *m) {
    uintptr_t target = hg_cursor_pointer(&m->code, m->fde->encoding, 0);
    if (target < m->location || (m->fde->encoding & HG_ENCODING_INDIRECT)) {
        hg_cursor_spoil(&m->code);
    } else {
        m->location = target;
    }
}

/* The CFA's rule; false when the opcode is not about it. */
static bool execute_cfa(struct hg_cfi_machine *m, uint8_t opcode) {
    struct hg_cursor *c = &m->code;
    uint64_t column = m->row.cfa_register;
    switch (opcode) {
    case DEF_CFA:
        column = hg_cursor_uleb(c);
        set_cfa(m, column, unsigned_operand(m));
        return true;
    case DEF_CFA_SF:
        column = hg_cursor_uleb(c);
        set_cfa(m, column, factored(m, hg_cursor_sleb(c)));
        return true;
    case DEF_CFA_REGISTER:
        /* Keeps the offset, so there must be one: not after an expression. */
        if (column == HG_CFA_EXPRESSION) hg_cursor_spoil(c);
        set_cfa(m, hg_cursor_uleb(c), m->row.cfa_value);
        return true;
    case DEF_CFA_OFFSET: set_cfa(m, column, unsigned_operand(m)); return true;
    case DEF_CFA_OFFSET_SF: set_cfa(m, column, factored(m, hg_cursor_sleb(c))); return true;
    case DEF_CFA_EXPRESSION:
        set_cfa(m, 0, expression_operand(m));
        m->row.cfa_register = HG_CFA_EXPRESSION;
        return true;
    default: return false;
    }
}

/* A register's rule; false when the opcode is not about one. */
static bool execute_column(struct hg_cfi_machine *m, uint8_t opcode) {
    struct hg_cursor *c = &m->code;
    uint64_t column = hg_cursor_uleb(c);
    switch (opcode) {
    case OFFSET_EXTENDED:
        set_column(m, column, HG_CFI_OFFSET, factored(m, unsigned_operand(m)));
        return true;
    case GNU_NEGATIVE_OFFSET:
        set_column(m, column, HG_CFI_OFFSET, factored(m, -unsigned_operand(m)));
        return true;
    case OFFSET_EXTENDED_SF:
        set_column(m, column, HG_CFI_OFFSET, factored(m, hg_cursor_sleb(c)));
        return true;
    case VAL_OFFSET:
        set_column(m, column, HG_CFI_VAL_OFFSET, factored(m, unsigned_operand(m)));
        return true;
    case VAL_OFFSET_SF:
        set_column(m, column, HG_CFI_VAL_OFFSET, factored(m, hg_cursor_sleb(c)));
        return true;
    case RESTORE_EXTENDED: restore(m, column); return true;
    case UNDEFINED: set_column(m, column, HG_CFI_UNDEFINED, 0); return true;
    case SAME_VALUE: set_column(m, column, HG_CFI_SAME, 0); return true;
    case REGISTER: set_column(m, column, HG_CFI_REGISTER, unsigned_operand(m)); return true;
    case EXPRESSION: set_column(m, column, HG_CFI_EXPRESSION, expression_operand(m)); return true;
    case VAL_EXPRESSION:
        set_column(m, column, HG_CFI_VAL_EXPRESSION, expression_operand(m));
        return true;
    default: return false;
    }
}

/* The location and remembered states; false when the opcode is about something else. */
static bool execute_state(struct hg_cfi_machine *m, uint8_t opcode) {
    switch (opcode) {
    case NOP: return true;
    case SET_LOC: set_location(m); return true;
    case ADVANCE1: advance(m, hg_cursor_u8(&m->code)); return true;
    case ADVANCE2: advance(m, hg_cursor_u16(&m->code)); return true;
    case ADVANCE4: advance(m, hg_cursor_u32(&m->code)); return true;
    case REMEMBER_STATE: remember(m); return true;
    case RESTORE_STATE: recall(m); return true;
    case GNU_ARGS_SIZE: hg_cursor_uleb(&m->code); return true;
    default: return false;
    }
}

static void execute(struct hg_cfi_machine *m, uint8_t opcode) {
    uint8_t operand = opcode & 0x3f;
    switch (opcode & 0xc0) {
    case ADVANCE: advance(m, operand); break;
    case OFFSET: set_column(m, operand, HG_CFI_OFFSET, factored(m, unsigned_operand(m))); break;
    case RESTORE: restore(m, operand); break;
    default:
        if (execute_state(m, opcode) || execute_cfa(m, opcode) || execute_column(m, opcode)) break;
        /* The operands of an opcode nobody defined are unknown: nothing after it counts. */
        hg_cursor_spoil(&m->code);
    }
}

/* Go on until the location passes the address. */
static bool run(struct hg_cfi_machine *m) {
    while (!hg_cursor_done(&m->code) && m->location <= m->address) {
        execute(m, hg_cursor_u8(&m->code));
    }
    return !m->code.bad;
}

/* Ready for the function's own instructions. Those of the CIE come first, and are for all addresses alike:
 * else the data is corrupt. */
static bool start(struct hg_cfi_machine *m) {
    m->row = m->initial = (struct hg_row){.cfa_register = 0};
    m->location = m->fde->start;
    m->remembered = 0;
    m->code = hg_cursor_over(m->fde->initial, m->fde->initial_end);
    if (!run(m) || !hg_cursor_done(&m->code)) return false;
    m->initial = m->row;
    m->location = m->fde->start;
    m->remembered = 0;
    m->code = hg_cursor_over(m->fde->instructions, m->fde->instructions_end);
    return true;
}

const struct hg_row *hg_cfi_row(struct hg_cfi_machine *m, const struct hg_fde *fde,
                                uintptr_t address) {
    bool goes_on = m->done == fde->instructions && m->address <= address;
    /* A signal handler may jump out of here, and leave behind what stood at that instant. */
    hg_store(&m->done, 0);
    hg_in_order();
    m->fde = fde;
    m->address = address;
    if (!goes_on && !start(m)) return NULL;
    if (!run(m)) return NULL;
    hg_in_order();
    hg_store(&m->done, fde->instructions);
    return &m->row;
}

struct hg_cursor hg_cfi_expression(const struct hg_fde *fde, int32_t value) {
    uintptr_t at = fde->lo + (uintptr_t)value;
    bool of_cie = at >= fde->initial && at < fde->initial_end;
    struct hg_cursor c = hg_cursor_over(at, of_cie ? fde->initial_end : fde->instructions_end);
    uint64_t length = hg_cursor_uleb(&c);
    if (c.bad || length > c.end - c.at) {
        hg_cursor_spoil(&c);
    } else {
        c.end = c.at + length;
    }
    return c;
}

/* ---- expression -------------------------------------------------------------------------------- */

/* The evaluator: a stack machine over 64-bit words. */

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

static void evaluate_all(struct machine *m, uint8_t op) {
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
        evaluate_all(&m, hg_cursor_u8(&m.code));
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
