/* What the programs of the tests share: the stream and the oracle of a test, and a writer. */
#ifndef PEER_H
#define PEER_H

#include <stdio.h>

#include "word.h"

/* A second shared page: how many events a writer was about to record, has recorded, and was refused. */
struct oracle {
	_Atomic uint64_t before;
	_Atomic uint64_t recorded;
	_Atomic uint64_t refused;
	uint64_t unused[5];
};

#define ORACLES 1024
#define STAMP_SIZE 12

extern struct pxt_mem mem;
extern struct oracle *oracles;

void need(bool ok, const char *what); /* or exits */
void *map_file(const char *dir, const char *name, size_t *size);
void open_shared(void); /* mem and oracles, from the directory of the test */
struct pxt_writer *new_writer(unsigned processors);
void stamp(unsigned char *b, uint32_t who, uint64_t n, uint32_t size);
uint32_t random_below(uint64_t *state, uint32_t n);
void ready(void);
/* Records an event of type PXT_EV_FirstUser. */
bool record(struct pxt_writer *w, unsigned hint, uint32_t tid, uint64_t addr, const void *data, size_t n);

/* The programs. */
void step_program(const char *name);
void signal_program(const char *how);
void storm_program(const char *mode);
void kill_program(const char *mode);
void script_program(void);
void hostile_program(void);
void timer_program(const char *mode);
void fault_program(const char *mode);
void bench_program(const char *mode);

/* step.c */
struct steps {
	const char *name;
	uint32_t size;
	void (*prepare)(struct pxt_writer *);
};
const struct steps *find_steps(const char *name);
bool record_numbered(struct pxt_writer *w, uint32_t size);

#endif
