#include "size_text.h"

void hg_size_print(struct hg_printer *out, uint64_t bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint32_t unit = 0;
    if (bytes < 1024) {
        hg_print_decimal(out, bytes);
        hg_print_text(out, " bytes");
        return;
    }
    uint64_t whole = bytes;
    for (; whole >> 20; unit++) whole >>= 10;
    hg_print_decimal(out, whole >> 10);
    hg_print_char(out, '.');
    hg_print_decimal(out, (whole & 1023) * 10 >> 10);
    hg_print_char(out, ' ');
    hg_print_text(out, units[unit]);
}
