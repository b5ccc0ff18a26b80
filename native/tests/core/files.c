#include "files.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

void check_text_file(const char *path, const char *text) {
    char read_back[64] = "";
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fread(read_back, 1, sizeof read_back - 1, file) == strlen(text));
    fclose(file);
    CHECK_TEXT(read_back, text);
}
