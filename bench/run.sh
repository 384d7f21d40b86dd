#!/usr/bin/env bash
# bench/run.sh CORPUS SCENARIO REPS PEER…   mirrord against other tools in one run of the shared harness, and the medians.
#   CORPUS S, M or L; SCENARIO full, noop, change or kill; PEERs of the harness, and mirrord, mirrord_kept, mirrord_state
#   bench/run.sh M full 3 fetch_write wget2_k mirrord
# The harness is looked for in $MIRRORD_LAB, else in ../shared/bench beside this checkout. It needs nginx, wget, wget2, httrack and
# time, and downloads its corpora from Debian's packages the first time. LAB_TMP says where it works (default /tmp).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
lab=${MIRRORD_LAB:-$here/../../shared/bench}
if [ ! -f "$lab/peers.sh" ]; then
  echo "bench: the harness is not at $lab: set MIRRORD_LAB to the folder that holds peers.sh" >&2
  exit 1
fi
[ $# -ge 4 ] || { sed -n '2,6p' "$0" >&2; exit 2; }
corpus=$1 scenario=$2 reps=$3
shift 3
export LAB_TMP=${LAB_TMP:-${TMPDIR:-/tmp}}
export LAB_PEERS_EXTRA=$here/mirrord.sh MIRRORD=$LAB_TMP/mirrord-bench
(cd "$here/.." && CGO_ENABLED=0 go build -o "$MIRRORD" ./cmd/mirrord)
[ -d "$LAB_TMP/lab-corpora/$corpus" ] || "$lab/setup-corpora.sh"
"$lab/serve.sh" start
"$lab/peers.sh" run "$corpus" plain "$scenario" "$reps" "$@"
echo
"$lab/peers.sh" show "$corpus" plain "$scenario"
