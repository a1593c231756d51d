/* The trace directory of a user, and how its files are opened: internal/registry's dir.go and file.go. */
#ifndef PXT_DIR_H
#define PXT_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "scratch.h"

/* An absolute and clean path of PATH_MAX bytes; cwd is used if path is relative. */
int pxt_path_abs(char *to, const char *path);

/*
 * Opens the trace directory as r->dir and r->dirpath, and creates it if there is none. Another one
 * is closed before.
 */
int pxt_dir_open(struct pxt_scratch *r);
/* Opens the directory of that path, which is not created. */
int pxt_dir_reopen(struct pxt_scratch *r, const char *path);

/*
 * Opens a file in directory dir that must be ours: regular, of this user, of one name, writable to
 * no other. With O_CREAT it creates a missing file, with O_EXCL as well it expects it to be missing. A descriptor or a negative error number.
 */
int pxt_open_own(struct pxt_scratch *r, int dir, const char *name, int flags);

/* Opens the file of a stream by path; works without /proc, too. */
int pxt_open_stream_path(struct pxt_scratch *r, const char *path);

/* The id in the last element of the path of a stream's file, 0 if it is no such path. */
uint64_t pxt_stream_of_path(const char *path);
/* The number after a prefix of two characters, as "s-"; 0 if name is not of that form. */
uint64_t pxt_parse_id(const char *name, const char *prefix);
char *pxt_put_id(char *to, const char *prefix, uint64_t id);
char *pxt_put_page(char *to, struct pxt_proc p);
bool pxt_parse_page(const char *name, struct pxt_proc *p);

int pxt_rename_noreplace(int dir, const char *from, const char *to);

/* A new file of n bytes, all allocated, under a temporary name, which is stored in name. */
#define PXT_TEMP_NAME 96
int pxt_create_temp(struct pxt_scratch *r, uint64_t n, char *name);

/* Calls f for the name of each file in the trace directory; uses r->dents[0]. 0 or an error. */
int pxt_dir_each(struct pxt_scratch *r, bool (*f)(void *ctx, const char *name), void *ctx);

/* Takes the lock of the directory without waiting. A descriptor for pxt_dir_unlock, or an error. */
int pxt_dir_trylock(struct pxt_scratch *r);
void pxt_dir_unlock(int lock);

#endif
