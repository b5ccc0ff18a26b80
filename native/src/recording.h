/* The file, or where none is wanted memory in its place: its header, its directory, and the space in it.
 *
 * Space goes in two stages. An extent is a range of the file nobody else has, taken by moving one
 * word; it costs nothing. Before a page of it is written for the first time it is reserved, so
 * that a full disk refuses here, where it can be counted, and never raises SIGBUS in the program.
 * No descriptor stays open. All functions are lock-free and signal-safe once created. */
#ifndef HG_RECORDING_H
#define HG_RECORDING_H

#include "base.h"
#include "front.h"

enum hg_create { HG_CREATED, HG_CREATE_EXISTS, HG_CREATE_FAILED };

/* Create and map a new file at `path` (never an existing one, never through a symlink as the last
 * part), with its header page and first directory block. On failure nothing is left behind and
 * *error is a negative errno. `path` must stay where it is: the file grows through it. */
enum hg_create hg_recording_create(const char *path, int *error);

/* The same tables in memory of the process's own, and no file anywhere. */
enum hg_create hg_recording_create_in_memory(int *error);

/* Remove a recording whose start failed half-way. */
void hg_recording_abandon(void);

/* How many pieces of so many bytes the file has room for, at the most. */
uint64_t hg_recording_most(uint64_t bytes);

/* A new extent, not reserved, listed in the directory; NULL when there is no space. */
void *hg_recording_extent(enum hg_kind kind, uint32_t owner, uint64_t first, uint64_t length);
/* The same, of a part of a range taken with hg_recording_take_huge(). False: no space to list it. */
bool hg_recording_list(enum hg_kind kind, uint32_t owner, uint64_t first, void *memory,
                       uint64_t length);
/* HG_HUGE bytes, aligned so in the file and in memory, reserved at once: where the kernel gives one
 * huge page for them, that costs a fifth. NULL when there is no space for so much; the ladder stays. */
#define HG_HUGE (UINT64_C(2) << 20)
void *hg_recording_take_huge(void);
/* Take an extent back out of the directory: its space is lost, readers skip it. */
void hg_recording_drop(const void *extent);

/* Reserve the pages that [memory, memory + size) touches; false when there is no space, and then
 * for ever (the ladder steps down). */
bool hg_recording_reserve(void *memory, size_t size);

/* Whether the budget has room for so many bytes more outside the file; if not, the ladder steps down. */
bool hg_recording_lets(uint64_t bytes);

/* Append to the tables that have no other owner. */
uint32_t hg_recording_add_string(const char *text); /* offset; 0 when empty or no room */
uint32_t hg_recording_add_module(const struct hg_module *module, const char *path);
void hg_recording_retire_module(uint32_t index, uint32_t node_end);
/* How many there are: indices up to that may be asked for. */
uint32_t hg_recording_modules(void);
/* The module at `index`; NULL when it is not visible. */
const struct hg_module *hg_recording_module(uint32_t index);
const char *hg_recording_string(uint32_t offset);

/* Cut the file to what is used plus room for a few more extents. Safe while other threads go on:
 * no extent can be taken beyond the cut, and the file can grow again. */
void hg_recording_cut(void);
/* After a cut, because the process goes on: make the file as large again as it was at first. Later the
 * program may no longer find it. */
void hg_recording_uncut(void);
/* The program limits what it may map to so many bytes: keep to a small part of what that leaves, from now on. */
void hg_recording_shrink(uint64_t limit);

/* The file again, by its name, to read and write; negative when another has that name by now. */
int hg_recording_open(void);

/* Whether this process has `address` mapped of it. A forked child has nothing of its parent's. */
bool hg_recording_holds(uintptr_t address);

/* Whether the file is at least as long as it was made, as far as can be told. */
bool hg_recording_is_whole(void);

/* The file is not ours any more: memory of no file, all zero, takes the place of what is used of the mapping, and
 * nothing here touches the file again. False: the kernel refuses. Signal-safe; more than once is as good as once. */
bool hg_recording_let_go(void);

/* Whether a forked child has the recording mapped, for once; and there: let it be a copy. */
void hg_recording_leave_to_child(bool is_left);
void hg_recording_part(void);

/* Step down the ladder; the first reason stays. */
void hg_recording_step_down(enum hg_ladder to, enum hg_reason reason);

#endif
