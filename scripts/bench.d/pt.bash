#!/usr/bin/env bash
# usage: pt.bash FUNCTIONS ROUNDS COUNT
#
# In each round, times COUNT printf of the four fields of a trace point to an open pipe
# with a reader, and then COUNT trace points. Prints the nanoseconds of one of each.
set -euo pipefail
# shellcheck source=/dev/null
. "$1"
rounds=$2 n=$3
exec 9> >(exec cat >/dev/null)
for ((round = 0; round < rounds; round++)); do
	t0=${EPOCHREALTIME/[.,]/}
	for ((i = 0; i < n; i++)); do printf '%s\t%s\t%s\t%s\n' build.step "$$" "$EPOCHREALTIME" 'file.c 12' >&9; done
	t1=${EPOCHREALTIME/[.,]/}
	for ((i = 0; i < n; i++)); do pt build.step 'file.c 12'; done
	t2=${EPOCHREALTIME/[.,]/}
	printf '%d %d\n' $(((t1 - t0) * 1000 / n)) $(((t2 - t1) * 1000 / n))
done
