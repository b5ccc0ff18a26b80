/* The interpreter of call-frame instructions. Bounded by the instructions' own length: each takes
 * at least one byte. */
#include "cfi.h"

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
