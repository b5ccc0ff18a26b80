/* Small files of text: to be in a recorder's way, and to be found as they were. */
#ifndef HG_FILES_H
#define HG_FILES_H

void write_file(const char *path, const char *text);
void check_text_file(const char *path, const char *text);

#endif
