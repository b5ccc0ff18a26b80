/* Variable-length integers: every boundary, and the bytes themselves. */
#include "snapshots.h"
#include "test.h"

static uint32_t expected_length(uint64_t value) {
    uint32_t length = 1;
    for (; value >= 128; value /= 128) length++;
    return length;
}

static void check_value(uint64_t value) {
    uint8_t bytes[16];
    uint64_t back;
    uint8_t *end = hg_varint_put(bytes, value);
    CHECK_EQUAL(end - bytes, expected_length(value));
    CHECK_EQUAL(hg_varint_get(bytes, &back) - bytes, end - bytes);
    CHECK_EQUAL(back, value);

    int64_t number = (int64_t)value, number_back;
    end = hg_varint_put_signed(bytes, number);
    CHECK(end - bytes <= (int64_t)HG_VARINT_MAX);
    CHECK_EQUAL(hg_varint_get_signed(bytes, &number_back) - bytes, end - bytes);
    CHECK_EQUAL(number_back, number);
}

static void round_trips(void) {
    struct random r = random_start(0);
    for (uint32_t bit = 0; bit < 64; bit++) {
        for (uint64_t d = 0; d < 5; d++) check_value((UINT64_C(1) << bit) + d - 2);
    }
    check_value(UINT64_MAX);
    check_value((uint64_t)INT64_MIN);
    for (uint32_t i = 0; i < 100000; i++) check_value(random_of_bits(&r, 64));
}

static void bytes(void) {
    uint8_t buffer[16];
    CHECK_EQUAL(hg_varint_put(buffer, 300) - buffer, 2);
    CHECK_EQUAL(buffer[0], 0xac);
    CHECK_EQUAL(buffer[1], 0x02);
    CHECK_EQUAL(hg_varint_put_signed(buffer, -1) - buffer, 1);
    CHECK_EQUAL(buffer[0], 1);
    CHECK_EQUAL(hg_varint_put_signed(buffer, 1) - buffer, 1);
    CHECK_EQUAL(buffer[0], 2);
    CHECK_EQUAL(hg_varint_put_signed(buffer, -64) - buffer, 1);
    CHECK_EQUAL(hg_varint_put_signed(buffer, 64) - buffer, 2);
}

/* Ten bytes that all say "more follows" must not be read beyond. */
static void stops_after_ten_bytes(void) {
    uint8_t buffer[16];
    uint64_t value;
    for (uint32_t i = 0; i < sizeof buffer; i++) buffer[i] = 0xff;
    CHECK_EQUAL(hg_varint_get(buffer, &value) - buffer, HG_VARINT_MAX);
}

int main(void) {
    RUN(round_trips);
    RUN(bytes);
    RUN(stops_after_ten_bytes);
    return 0;
}
