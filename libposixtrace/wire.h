/* Written by go generate from the Go source. Do not edit. */
#ifndef PXT_WIRE_H
#define PXT_WIRE_H
#include <stddef.h>
#include <stdint.h>

/* wire */
#define PXT_W_Again 2
#define PXT_W_Areas 32
#define PXT_W_Asked 1
#define PXT_W_BatchSize 65536
#define PXT_W_Batches 4
#define PXT_W_Calls 64
#define PXT_W_DataSize 40960
#define PXT_W_DirAt 32768
#define PXT_W_Done 4
#define PXT_W_Event 0
#define PXT_W_Giving 3
#define PXT_W_Idle 0
#define PXT_W_Leaving UINT64_C(0x80000000)
#define PXT_W_NameSize 256
#define PXT_W_None 1
#define PXT_W_OpAttr 10
#define PXT_W_OpClear 4
#define PXT_W_OpClose 17
#define PXT_W_OpCreate 1
#define PXT_W_OpFlush 5
#define PXT_W_OpGetFilter 7
#define PXT_W_OpName 12
#define PXT_W_OpNext 18
#define PXT_W_OpNextType 13
#define PXT_W_OpOpen 15
#define PXT_W_OpOpenID 9
#define PXT_W_OpRewind 16
#define PXT_W_OpRewindTypes 14
#define PXT_W_OpSetFilter 8
#define PXT_W_OpShutdown 6
#define PXT_W_OpStart 2
#define PXT_W_OpStatus 11
#define PXT_W_OpStop 3
#define PXT_W_OpTryNext 19
#define PXT_W_OwnerDied 1073741824
#define PXT_W_Parked 2
#define PXT_W_Ready 1
#define PXT_W_Refused 2
#define PXT_W_Starting 0
#define PXT_W_StateMask 7
#define PXT_W_StateStep 8
#define PXT_W_Timed 1
#define PXT_W_Version 1

struct pxt_call {
	_Atomic uint32_t state;
	_Atomic uint32_t owner;
	uint32_t op;
	uint32_t err;
	uint32_t pid;
	uint32_t tid;
	uint64_t address;
	uint64_t trid;
	uint64_t length;
	uint64_t args[4];
	uint8_t unused10[48];
	uint8_t data[40960];
};
_Static_assert(sizeof(struct pxt_call) == 41088, "layout");
_Static_assert(offsetof(struct pxt_call, state) == 0, "layout");
_Static_assert(offsetof(struct pxt_call, owner) == 4, "layout");
_Static_assert(offsetof(struct pxt_call, op) == 8, "layout");
_Static_assert(offsetof(struct pxt_call, err) == 12, "layout");
_Static_assert(offsetof(struct pxt_call, pid) == 16, "layout");
_Static_assert(offsetof(struct pxt_call, tid) == 20, "layout");
_Static_assert(offsetof(struct pxt_call, address) == 24, "layout");
_Static_assert(offsetof(struct pxt_call, trid) == 32, "layout");
_Static_assert(offsetof(struct pxt_call, length) == 40, "layout");
_Static_assert(offsetof(struct pxt_call, args) == 48, "layout");
_Static_assert(offsetof(struct pxt_call, data) == 128, "layout");

struct pxt_batch {
	uint32_t bytes;
	uint32_t end;
	uint32_t err;
	uint8_t unused3[52];
	uint8_t data[65536];
};
_Static_assert(sizeof(struct pxt_batch) == 65600, "layout");
_Static_assert(offsetof(struct pxt_batch, bytes) == 0, "layout");
_Static_assert(offsetof(struct pxt_batch, end) == 4, "layout");
_Static_assert(offsetof(struct pxt_batch, err) == 8, "layout");
_Static_assert(offsetof(struct pxt_batch, data) == 64, "layout");

struct pxt_area {
	_Atomic uint32_t want;
	_Atomic uint32_t have;
	_Atomic uint32_t waiting;
	uint8_t unused3[52];
	struct pxt_batch batch[4];
};
_Static_assert(sizeof(struct pxt_area) == 262464, "layout");
_Static_assert(offsetof(struct pxt_area, want) == 0, "layout");
_Static_assert(offsetof(struct pxt_area, have) == 4, "layout");
_Static_assert(offsetof(struct pxt_area, waiting) == 8, "layout");
_Static_assert(offsetof(struct pxt_area, batch) == 64, "layout");

struct pxt_channel {
	uint32_t version;
	uint32_t pid;
	uint32_t key;
	uint32_t agentPID;
	_Atomic uint32_t ready;
	_Atomic uint32_t alive;
	_Atomic uint32_t gate;
	_Atomic uint32_t bell;
	_Atomic uint32_t asleep;
	uint32_t processors;
	uint32_t error;
	uint32_t spare;
	_Atomic uint64_t pending;
	_Atomic uint64_t wanted;
	uint8_t nonce[16];
	uint8_t socket[32];
	uint8_t unused16[16];
	struct pxt_call call[64];
	struct pxt_area area[32];
};
_Static_assert(sizeof(struct pxt_channel) == 11028608, "layout");
_Static_assert(offsetof(struct pxt_channel, version) == 0, "layout");
_Static_assert(offsetof(struct pxt_channel, pid) == 4, "layout");
_Static_assert(offsetof(struct pxt_channel, key) == 8, "layout");
_Static_assert(offsetof(struct pxt_channel, agentPID) == 12, "layout");
_Static_assert(offsetof(struct pxt_channel, ready) == 16, "layout");
_Static_assert(offsetof(struct pxt_channel, alive) == 20, "layout");
_Static_assert(offsetof(struct pxt_channel, gate) == 24, "layout");
_Static_assert(offsetof(struct pxt_channel, bell) == 28, "layout");
_Static_assert(offsetof(struct pxt_channel, asleep) == 32, "layout");
_Static_assert(offsetof(struct pxt_channel, processors) == 36, "layout");
_Static_assert(offsetof(struct pxt_channel, error) == 40, "layout");
_Static_assert(offsetof(struct pxt_channel, spare) == 44, "layout");
_Static_assert(offsetof(struct pxt_channel, pending) == 48, "layout");
_Static_assert(offsetof(struct pxt_channel, wanted) == 56, "layout");
_Static_assert(offsetof(struct pxt_channel, nonce) == 64, "layout");
_Static_assert(offsetof(struct pxt_channel, socket) == 80, "layout");
_Static_assert(offsetof(struct pxt_channel, call) == 128, "layout");
_Static_assert(offsetof(struct pxt_channel, area) == 2629760, "layout");

struct pxt_item {
	uint32_t size;
	uint32_t length;
	uint32_t id;
	uint32_t pid;
	uint32_t tid;
	uint32_t truncation;
	uint64_t address;
	int64_t seconds;
	int64_t nanos;
	uint64_t span;
	uint64_t parent;
};
_Static_assert(sizeof(struct pxt_item) == 64, "layout");
_Static_assert(offsetof(struct pxt_item, size) == 0, "layout");
_Static_assert(offsetof(struct pxt_item, length) == 4, "layout");
_Static_assert(offsetof(struct pxt_item, id) == 8, "layout");
_Static_assert(offsetof(struct pxt_item, pid) == 12, "layout");
_Static_assert(offsetof(struct pxt_item, tid) == 16, "layout");
_Static_assert(offsetof(struct pxt_item, truncation) == 20, "layout");
_Static_assert(offsetof(struct pxt_item, address) == 24, "layout");
_Static_assert(offsetof(struct pxt_item, seconds) == 32, "layout");
_Static_assert(offsetof(struct pxt_item, nanos) == 40, "layout");
_Static_assert(offsetof(struct pxt_item, span) == 48, "layout");
_Static_assert(offsetof(struct pxt_item, parent) == 56, "layout");

struct pxt_status {
	uint32_t running;
	uint32_t full;
	uint32_t overrun;
	uint32_t flushing;
	uint32_t flushError;
	uint32_t logOverrun;
	uint32_t logFull;
	uint32_t missedError;
	uint64_t missed;
	uint64_t lost;
	uint64_t logLost;
};
_Static_assert(sizeof(struct pxt_status) == 56, "layout");
_Static_assert(offsetof(struct pxt_status, running) == 0, "layout");
_Static_assert(offsetof(struct pxt_status, full) == 4, "layout");
_Static_assert(offsetof(struct pxt_status, overrun) == 8, "layout");
_Static_assert(offsetof(struct pxt_status, flushing) == 12, "layout");
_Static_assert(offsetof(struct pxt_status, flushError) == 16, "layout");
_Static_assert(offsetof(struct pxt_status, logOverrun) == 20, "layout");
_Static_assert(offsetof(struct pxt_status, logFull) == 24, "layout");
_Static_assert(offsetof(struct pxt_status, missedError) == 28, "layout");
_Static_assert(offsetof(struct pxt_status, missed) == 32, "layout");
_Static_assert(offsetof(struct pxt_status, lost) == 40, "layout");
_Static_assert(offsetof(struct pxt_status, logLost) == 48, "layout");

#endif
