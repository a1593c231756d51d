/* Written by go generate from the Go source. Do not edit. */
#ifndef PXT_LAYOUT_H
#define PXT_LAYOUT_H
#include <stddef.h>
#include <stdint.h>

/* attr */

struct pxt_time {
	int64_t sec;
	int64_t nsec;
};
_Static_assert(sizeof(struct pxt_time) == 16, "layout");
_Static_assert(offsetof(struct pxt_time, sec) == 0, "layout");
_Static_assert(offsetof(struct pxt_time, nsec) == 8, "layout");

struct pxt_attributes {
	struct {
		uint64_t length;
		uint8_t bytes[256];
	} name;
	struct pxt_time createTime;
	struct {
		uint64_t length;
		uint8_t bytes[64];
	} generationVersion;
	uint64_t clockResolution;
	uint64_t inheritance;
	uint64_t streamFullPolicy;
	uint64_t streamSize;
	uint64_t maxDataSize;
	uint64_t logFullPolicy;
	uint64_t logSize;
	uint64_t unused[9];
};
_Static_assert(sizeof(struct pxt_attributes) == 480, "layout");
_Static_assert(offsetof(struct pxt_attributes, name) == 0, "layout");
_Static_assert(offsetof(struct pxt_attributes, createTime) == 264, "layout");
_Static_assert(offsetof(struct pxt_attributes, generationVersion) == 280, "layout");
_Static_assert(offsetof(struct pxt_attributes, clockResolution) == 352, "layout");
_Static_assert(offsetof(struct pxt_attributes, inheritance) == 360, "layout");
_Static_assert(offsetof(struct pxt_attributes, streamFullPolicy) == 368, "layout");
_Static_assert(offsetof(struct pxt_attributes, streamSize) == 376, "layout");
_Static_assert(offsetof(struct pxt_attributes, maxDataSize) == 384, "layout");
_Static_assert(offsetof(struct pxt_attributes, logFullPolicy) == 392, "layout");
_Static_assert(offsetof(struct pxt_attributes, logSize) == 400, "layout");

/* The attributes of settings that nothing has set. */
#define PXT_ATTR_DEFAULTS {.generationVersion = {12, "posixtrace 1"}, .clockResolution = 1, .streamFullPolicy = 1, .streamSize = 65536, .maxDataSize = 1024, .logFullPolicy = 1, .logSize = 1048576}

/*
 * The attributes by type: X(the end of the names of the functions, member, ...). Further arguments are
 * the number of an attribute that can be set, and what it can be set to: a bit for each choice, or the largest
 * size.
 */
#define PXT_ATTR_TEXTS(X) X(name, name) X(genversion, generationVersion)
#define PXT_ATTR_SET_TEXTS(X) X(name, name, 0)
#define PXT_ATTR_TIMES(X) X(createtime, createTime)
#define PXT_ATTR_DURATIONS(X) X(clockres, clockResolution)
#define PXT_ATTR_CHOICES(X) X(inherited, inheritance, 4, 0x3) X(streamfullpolicy, streamFullPolicy, 5, 0xe) X(logfullpolicy, logFullPolicy, 8, 0x16)
#define PXT_ATTR_SIZES(X) X(streamsize, streamSize, 6, UINT64_MAX) X(maxdatasize, maxDataSize, 7, UINT64_MAX) X(logsize, logSize, 9, UINT64_MAX)

/* event */
#define PXT_EV_Error 1
#define PXT_EV_Filter 4
#define PXT_EV_FirstDynamic 3584
#define PXT_EV_FirstUser 33
#define PXT_EV_FlushStart 7
#define PXT_EV_FlushStop 8
#define PXT_EV_Max 4096
#define PXT_EV_MaxEncodedSet 520
#define PXT_EV_NameMax 255
#define PXT_EV_Overflow 5
#define PXT_EV_ProcFork 16
#define PXT_EV_ProcMap 22
#define PXT_EV_Resume 6
#define PXT_EV_SetWords 64
#define PXT_EV_Start 2
#define PXT_EV_Stop 3
#define PXT_EV_Unnamed 32

/* chunk */
#define PXT_CK_BaseSize 16
#define PXT_CK_FullSize 40
#define PXT_CK_HeaderSize 8
#define PXT_CK_JointSize 24
#define PXT_CK_KindBase 32766
#define PXT_CK_KindFull 32765
#define PXT_CK_KindJoint 32763
#define PXT_CK_KindPad 32764
#define PXT_CK_KindSite 32767
#define PXT_CK_MapHead 16
#define PXT_CK_MapNote 1936744813
#define PXT_CK_MaxData 32768
#define PXT_CK_MaxSites 32752
#define PXT_CK_MaxSize 131072
#define PXT_CK_NoteSize 24
#define PXT_CK_Overhead 56
#define PXT_CK_SiteSize 32
#define PXT_CK_SpanNote 1851879539
#define PXT_CK_Truncated 32768

/* stream */
#define PXT_Append 4
#define PXT_ClockMonotonic 0
#define PXT_ClockTicks 1
#define PXT_Dead 32
#define PXT_Flush 3
#define PXT_Full 2
#define PXT_LogFull 4
#define PXT_Loop 1
#define PXT_MaxMaps 64
#define PXT_MaxPattern 254
#define PXT_MaxPatterns 64
#define PXT_MaxSlots 1024
#define PXT_MaxSystemData 1040
#define PXT_NoRestart 8
#define PXT_Running 1
#define PXT_StartSize 4096
#define PXT_StopReported 16
#define PXT_UntilFull 2
#define PXT_accountTries 20
#define PXT_busyBit 1073741824
#define PXT_casTries 100
#define PXT_claimTries 1000
#define PXT_claiming 1
#define PXT_closeTries 100
#define PXT_countBits 15
#define PXT_countMask 1073709056
#define PXT_countShift 15
#define PXT_descSize 128
#define PXT_displaced UINT64_C(0x8000000000000000)
#define PXT_farBack 1073741824
#define PXT_farBehind UINT64_C(0x100000000)
#define PXT_filterB 64
#define PXT_filterChange 128
#define PXT_free 0
#define PXT_frozenBit UINT64_C(0x80000000000)
#define PXT_full 4
#define PXT_genBits 20
#define PXT_genMask 1048575
#define PXT_genShift 44
#define PXT_headerSize 36864
#define PXT_horizonStep 1048576
#define PXT_idxMask 1073741823
#define PXT_leastNotes 512
#define PXT_leaving 5
#define PXT_lookAgain 64
#define PXT_lossB 256
#define PXT_lossMask UINT64_C(0xfffffffffff)
#define PXT_mapShare 16
#define PXT_maxAnchors 256
#define PXT_maxFile UINT64_C(0x10000000000)
#define PXT_maxLead UINT64_C(0xee6b28000)
#define PXT_maxLost UINT64_C(0x7ffffffffff)
#define PXT_maxOpenChunks 16
#define PXT_maxPermits 64
#define PXT_noChunk UINT64_C(0xffffffffc0000000)
#define PXT_offBits 15
#define PXT_offMask 32767
#define PXT_open 3
#define PXT_owned 2
#define PXT_pageSize 4096
#define PXT_partial 6
#define PXT_patternSize 256
#define PXT_replacedShift 32
#define PXT_reserved UINT64_C(0x8000000000000000)
#define PXT_siteBits 6
#define PXT_siteCache 64
#define PXT_skew 2000
#define PXT_slotBits 10
#define PXT_slotMask UINT64_C(0xffc00000000)
#define PXT_slotShift 34
#define PXT_somePartial 1
#define PXT_spread UINT64_C(0x9e3779b97f4a7c15)
#define PXT_stateFlags 65535
#define PXT_stateGen 65536
#define PXT_stateMask UINT64_C(0x380000000)
#define PXT_stateShift 31
#define PXT_tagMask UINT64_C(0xffffffffc0000000)
#define PXT_unfixed UINT64_C(0x8000000000000000)
#define PXT_version 4194305
#define PXT_wasCleared UINT64_C(0x80000000000)

struct pxt_stable {
	uint8_t magic[8];
	uint32_t version;
	uint32_t headerSize;
	uint64_t size;
	uint64_t id;
};
_Static_assert(sizeof(struct pxt_stable) == 32, "layout");
_Static_assert(offsetof(struct pxt_stable, magic) == 0, "layout");
_Static_assert(offsetof(struct pxt_stable, version) == 8, "layout");
_Static_assert(offsetof(struct pxt_stable, headerSize) == 12, "layout");
_Static_assert(offsetof(struct pxt_stable, size) == 16, "layout");
_Static_assert(offsetof(struct pxt_stable, id) == 24, "layout");

struct pxt_fixed {
	uint32_t chunkSize;
	uint32_t chunks;
	uint32_t permits;
	uint32_t openChunks;
	uint32_t clock;
	uint32_t hasLog;
	uint64_t mono;
	uint64_t logDev;
	uint64_t logIno;
	uint64_t creator;
	uint64_t pidns;
	uint64_t createdTick;
	uint32_t logPathLen;
	uint32_t cmdLen;
	uint8_t bootID[40];
	struct pxt_attributes attributes;
	uint8_t logPath[4096];
	uint8_t cmd[1024];
};
_Static_assert(sizeof(struct pxt_fixed) == 5720, "layout");
_Static_assert(offsetof(struct pxt_fixed, chunkSize) == 0, "layout");
_Static_assert(offsetof(struct pxt_fixed, chunks) == 4, "layout");
_Static_assert(offsetof(struct pxt_fixed, permits) == 8, "layout");
_Static_assert(offsetof(struct pxt_fixed, openChunks) == 12, "layout");
_Static_assert(offsetof(struct pxt_fixed, clock) == 16, "layout");
_Static_assert(offsetof(struct pxt_fixed, hasLog) == 20, "layout");
_Static_assert(offsetof(struct pxt_fixed, mono) == 24, "layout");
_Static_assert(offsetof(struct pxt_fixed, logDev) == 32, "layout");
_Static_assert(offsetof(struct pxt_fixed, logIno) == 40, "layout");
_Static_assert(offsetof(struct pxt_fixed, creator) == 48, "layout");
_Static_assert(offsetof(struct pxt_fixed, pidns) == 56, "layout");
_Static_assert(offsetof(struct pxt_fixed, createdTick) == 64, "layout");
_Static_assert(offsetof(struct pxt_fixed, logPathLen) == 72, "layout");
_Static_assert(offsetof(struct pxt_fixed, cmdLen) == 76, "layout");
_Static_assert(offsetof(struct pxt_fixed, bootID) == 80, "layout");
_Static_assert(offsetof(struct pxt_fixed, attributes) == 120, "layout");
_Static_assert(offsetof(struct pxt_fixed, logPath) == 600, "layout");
_Static_assert(offsetof(struct pxt_fixed, cmd) == 4696, "layout");

struct pxt_account {
	_Atomic uint64_t lost;
	_Atomic uint64_t first;
	_Atomic uint64_t last;
	_Atomic uint64_t reported;
	_Atomic uint64_t overflow;
};
_Static_assert(sizeof(struct pxt_account) == 40, "layout");
_Static_assert(offsetof(struct pxt_account, lost) == 0, "layout");
_Static_assert(offsetof(struct pxt_account, first) == 8, "layout");
_Static_assert(offsetof(struct pxt_account, last) == 16, "layout");
_Static_assert(offsetof(struct pxt_account, reported) == 24, "layout");
_Static_assert(offsetof(struct pxt_account, overflow) == 32, "layout");

struct pxt_markWords {
	struct pxt_account lossAccounts[2];
	_Atomic uint64_t losses;
	_Atomic uint64_t gapEnd;
	_Atomic uint64_t gapNext;
	_Atomic uint64_t lastResume;
	_Atomic uint64_t pendingRecord;
	_Atomic uint64_t pendingOverflow;
	_Atomic uint64_t recordedOverflow;
	_Atomic uint64_t autoStop;
	_Atomic uint64_t stopCause;
	_Atomic uint64_t stopBy;
	_Atomic uint64_t stopAddr;
	_Atomic uint64_t flushStop;
	_Atomic uint64_t failTick;
	_Atomic uint64_t failErrno;
	_Atomic uint64_t flushedTo;
	_Atomic uint64_t lastTick;
};
_Static_assert(sizeof(struct pxt_markWords) == 208, "layout");
_Static_assert(offsetof(struct pxt_markWords, lossAccounts) == 0, "layout");
_Static_assert(offsetof(struct pxt_markWords, losses) == 80, "layout");
_Static_assert(offsetof(struct pxt_markWords, gapEnd) == 88, "layout");
_Static_assert(offsetof(struct pxt_markWords, gapNext) == 96, "layout");
_Static_assert(offsetof(struct pxt_markWords, lastResume) == 104, "layout");
_Static_assert(offsetof(struct pxt_markWords, pendingRecord) == 112, "layout");
_Static_assert(offsetof(struct pxt_markWords, pendingOverflow) == 120, "layout");
_Static_assert(offsetof(struct pxt_markWords, recordedOverflow) == 128, "layout");
_Static_assert(offsetof(struct pxt_markWords, autoStop) == 136, "layout");
_Static_assert(offsetof(struct pxt_markWords, stopCause) == 144, "layout");
_Static_assert(offsetof(struct pxt_markWords, stopBy) == 152, "layout");
_Static_assert(offsetof(struct pxt_markWords, stopAddr) == 160, "layout");
_Static_assert(offsetof(struct pxt_markWords, flushStop) == 168, "layout");
_Static_assert(offsetof(struct pxt_markWords, failTick) == 176, "layout");
_Static_assert(offsetof(struct pxt_markWords, failErrno) == 184, "layout");
_Static_assert(offsetof(struct pxt_markWords, flushedTo) == 192, "layout");
_Static_assert(offsetof(struct pxt_markWords, lastTick) == 200, "layout");

struct pxt_front {
	_Atomic uint64_t state;
	_Atomic uint64_t tickOffset;
	_Atomic uint64_t horizon;
	uint64_t unused3[5];
	_Atomic uint64_t filter[2][64];
};
_Static_assert(sizeof(struct pxt_front) == 1088, "layout");
_Static_assert(offsetof(struct pxt_front, state) == 0, "layout");
_Static_assert(offsetof(struct pxt_front, tickOffset) == 8, "layout");
_Static_assert(offsetof(struct pxt_front, horizon) == 16, "layout");
_Static_assert(offsetof(struct pxt_front, filter) == 64, "layout");

struct pxt_desc {
	_Atomic uint64_t ctl;
	_Atomic uint64_t base;
	_Atomic uint64_t lost;
	_Atomic uint64_t lostFirst;
	_Atomic uint64_t lostLast;
	_Atomic uint64_t sites;
	_Atomic uint64_t startedAt;
	_Atomic uint64_t enteredAt;
	_Atomic uint64_t read;
	_Atomic uint64_t reported;
	_Atomic uint64_t last;
	_Atomic uint64_t lostOver;
	_Atomic uint64_t cleared;
	_Atomic uint64_t clearedAt;
	_Atomic uint64_t notes;
	uint64_t unused15;
};
_Static_assert(sizeof(struct pxt_desc) == 128, "layout");
_Static_assert(offsetof(struct pxt_desc, ctl) == 0, "layout");
_Static_assert(offsetof(struct pxt_desc, base) == 8, "layout");
_Static_assert(offsetof(struct pxt_desc, lost) == 16, "layout");
_Static_assert(offsetof(struct pxt_desc, lostFirst) == 24, "layout");
_Static_assert(offsetof(struct pxt_desc, lostLast) == 32, "layout");
_Static_assert(offsetof(struct pxt_desc, sites) == 40, "layout");
_Static_assert(offsetof(struct pxt_desc, startedAt) == 48, "layout");
_Static_assert(offsetof(struct pxt_desc, enteredAt) == 56, "layout");
_Static_assert(offsetof(struct pxt_desc, read) == 64, "layout");
_Static_assert(offsetof(struct pxt_desc, reported) == 72, "layout");
_Static_assert(offsetof(struct pxt_desc, last) == 80, "layout");
_Static_assert(offsetof(struct pxt_desc, lostOver) == 88, "layout");
_Static_assert(offsetof(struct pxt_desc, cleared) == 96, "layout");
_Static_assert(offsetof(struct pxt_desc, clearedAt) == 104, "layout");
_Static_assert(offsetof(struct pxt_desc, notes) == 112, "layout");

struct pxt_header {
	struct pxt_stable stable;
	_Atomic uint32_t missed;
	_Atomic uint32_t missedErr;
	struct pxt_fixed fixed;
	uint8_t unused4[64];
	struct pxt_front front;
	uint8_t unused6[64];
	_Atomic uint64_t owner;
	_Atomic uint64_t target;
	_Atomic uint64_t family;
	_Atomic uint64_t readLock;
	_Atomic uint64_t seq;
	_Atomic uint32_t handed;
	_Atomic uint32_t held;
	_Atomic uint64_t partials;
	_Atomic uint64_t clears;
	_Atomic uint64_t lostRead;
	_Atomic uint64_t logLost;
	_Atomic uint64_t late;
	_Atomic uint64_t damage;
	_Atomic uint64_t filterChangedAt;
	struct pxt_markWords markWords;
	_Atomic uint32_t logOverrun;
	_Atomic uint32_t loopFull;
	_Atomic uint32_t flushing;
	_Atomic uint32_t flushErr;
	_Atomic uint32_t logFull;
	_Atomic uint32_t flushAsk;
	_Atomic uint32_t clearAsk;
	_Atomic uint32_t flushDone;
	_Atomic uint32_t flushRes;
	_Atomic uint32_t shutAsk;
	_Atomic uint32_t shutRes;
	_Atomic uint32_t sync;
	_Atomic uint32_t syncAsk;
	_Atomic uint32_t syncDone;
	_Atomic uint32_t syncErr;
	_Atomic uint32_t nanchors;
	_Atomic uint32_t npat;
	_Atomic uint64_t anchors[256][2];
	_Atomic uint64_t slots[1024];
	_Atomic uint64_t permitTable[64];
	_Atomic uint64_t openTable[16];
	uint8_t patterns[64][256];
	_Atomic uint64_t owing[16];
};
_Static_assert(sizeof(struct pxt_header) == 36800, "layout");
_Static_assert(offsetof(struct pxt_header, stable) == 0, "layout");
_Static_assert(offsetof(struct pxt_header, missed) == 32, "layout");
_Static_assert(offsetof(struct pxt_header, missedErr) == 36, "layout");
_Static_assert(offsetof(struct pxt_header, fixed) == 40, "layout");
_Static_assert(offsetof(struct pxt_header, front) == 5824, "layout");
_Static_assert(offsetof(struct pxt_header, owner) == 6976, "layout");
_Static_assert(offsetof(struct pxt_header, target) == 6984, "layout");
_Static_assert(offsetof(struct pxt_header, family) == 6992, "layout");
_Static_assert(offsetof(struct pxt_header, readLock) == 7000, "layout");
_Static_assert(offsetof(struct pxt_header, seq) == 7008, "layout");
_Static_assert(offsetof(struct pxt_header, handed) == 7016, "layout");
_Static_assert(offsetof(struct pxt_header, held) == 7020, "layout");
_Static_assert(offsetof(struct pxt_header, partials) == 7024, "layout");
_Static_assert(offsetof(struct pxt_header, clears) == 7032, "layout");
_Static_assert(offsetof(struct pxt_header, lostRead) == 7040, "layout");
_Static_assert(offsetof(struct pxt_header, logLost) == 7048, "layout");
_Static_assert(offsetof(struct pxt_header, late) == 7056, "layout");
_Static_assert(offsetof(struct pxt_header, damage) == 7064, "layout");
_Static_assert(offsetof(struct pxt_header, filterChangedAt) == 7072, "layout");
_Static_assert(offsetof(struct pxt_header, markWords) == 7080, "layout");
_Static_assert(offsetof(struct pxt_header, logOverrun) == 7288, "layout");
_Static_assert(offsetof(struct pxt_header, loopFull) == 7292, "layout");
_Static_assert(offsetof(struct pxt_header, flushing) == 7296, "layout");
_Static_assert(offsetof(struct pxt_header, flushErr) == 7300, "layout");
_Static_assert(offsetof(struct pxt_header, logFull) == 7304, "layout");
_Static_assert(offsetof(struct pxt_header, flushAsk) == 7308, "layout");
_Static_assert(offsetof(struct pxt_header, clearAsk) == 7312, "layout");
_Static_assert(offsetof(struct pxt_header, flushDone) == 7316, "layout");
_Static_assert(offsetof(struct pxt_header, flushRes) == 7320, "layout");
_Static_assert(offsetof(struct pxt_header, shutAsk) == 7324, "layout");
_Static_assert(offsetof(struct pxt_header, shutRes) == 7328, "layout");
_Static_assert(offsetof(struct pxt_header, sync) == 7332, "layout");
_Static_assert(offsetof(struct pxt_header, syncAsk) == 7336, "layout");
_Static_assert(offsetof(struct pxt_header, syncDone) == 7340, "layout");
_Static_assert(offsetof(struct pxt_header, syncErr) == 7344, "layout");
_Static_assert(offsetof(struct pxt_header, nanchors) == 7348, "layout");
_Static_assert(offsetof(struct pxt_header, npat) == 7352, "layout");
_Static_assert(offsetof(struct pxt_header, anchors) == 7360, "layout");
_Static_assert(offsetof(struct pxt_header, slots) == 11456, "layout");
_Static_assert(offsetof(struct pxt_header, permitTable) == 19648, "layout");
_Static_assert(offsetof(struct pxt_header, openTable) == 20160, "layout");
_Static_assert(offsetof(struct pxt_header, patterns) == 20288, "layout");
_Static_assert(offsetof(struct pxt_header, owing) == 36672, "layout");

/* registry */
#define PXT_PG_Child 4
#define PXT_PG_Inherit 2
#define PXT_PG_MaxStreams 64
#define PXT_PG_Self 1
#define PXT_PG_entAttached 16
#define PXT_PG_entFlags 8
#define PXT_PG_entStream 0
#define PXT_PG_entrySize 24
#define PXT_PG_offBoot 32
#define PXT_PG_offEntries 128
#define PXT_PG_offEntrySize 12
#define PXT_PG_offFamily 56
#define PXT_PG_offGeneration 68
#define PXT_PG_offGroup 88
#define PXT_PG_offMagic 0
#define PXT_PG_offMoved 84
#define PXT_PG_offNamespace 48
#define PXT_PG_offOpened 80
#define PXT_PG_offPID 16
#define PXT_PG_offSeq 76
#define PXT_PG_offSession 20
#define PXT_PG_offSize 8
#define PXT_PG_offStart 24
#define PXT_PG_offUserNames 72
#define PXT_PG_offWord 64
#define PXT_PG_pageDamaged 1
#define PXT_PG_pageForeign 2
#define PXT_PG_pageMagic UINT64_C(0x3130454741505450)
#define PXT_PG_pageOld 3
#define PXT_PG_pageSize 4096
#define PXT_PG_pageSound 0
#define PXT_PG_recHeader 12

#endif
