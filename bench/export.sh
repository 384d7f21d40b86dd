#!/usr/bin/env bash
# bench/export.sh [CORPUS [ROUNDS]]   export of a mirror to each form against tar | zstd and zip of the same tree, in turns, and import.
#   CORPUS S, M or L (M); ROUNDS (3). Seconds are user+system and wall; ratios are those of the wall time and of the processor time by core.
#   "read" is reading the file back (mirrord verify), which an export to a file does before the file replaces an older one.
# The harness is that of bench/run.sh. LAB_TMP says where it works: a tmpfs with 3 GB for M. Wall times need an idle machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
lab=${MIRRORD_LAB:-$here/../../shared/bench}
corpus=${1:-M} rounds=${2:-3}
[ -f "$lab/env.sh" ] || { echo "bench: the harness is not at $lab: set MIRRORD_LAB to the folder that holds env.sh" >&2; exit 1; }
. "$lab/env.sh"
work=$LAB_TMP/mirrord-export mirrord=${MIRRORD:-$LAB_TMP/mirrord-bench}
[ -n "${MIRRORD-}" ] || (cd "$here/.." && CGO_ENABLED=0 go build -o "$mirrord" ./cmd/mirrord)
[ -d "$LAB_CORPORA/$corpus" ] || "$lab/setup-corpora.sh"
"$lab/serve.sh" start
mkdir -p "$work/jobs"
url=$(url_of "$corpus" plain)
printf 'url = "%s"\nobey_nofollow = false\n[polite]\nconnections = 16\ndelay = "0s"\nfactor = 0\n' "$url" >"$work/jobs/site.toml"
own="--jobs $work/jobs --state $work/state"
export TMPDIR=$work # a ZIM file is made there before it goes to standard output

# timed NAME COMMAND… adds "NAME wall processor" to the results.
timed() {
  local name=$1 TIMEFORMAT="$1 %R %U %S"
  shift
  { time "$@" >/dev/null 2>"$work/said"; } 2>>"$work/times" || { cat "$work/said" >&2; exit 1; }
}
pipe() { tar -C "$tree" -cf - . | "$@"; }
packed() { (cd "$tree" && zip -qr - .); }
summed() { (cd "$tree" && find . -type f -print0 | xargs -0 sha256sum); }

rm -rf "$work/state" "$work/state2"
: >"$work/times"
# shellcheck disable=SC2086
for i in $(seq "$rounds"); do
  rm -rf "$work/state.$i"
  timed run "$mirrord" run-now site --jobs "$work/jobs" --state "$work/state.$i"
  [ "$i" = 1 ] && mv "$work/state.$i" "$work/state" || rm -rf "$work/state.$i"
  tree=$work/state/sites/site/current/
  timed tar+zstd-3 pipe zstd -3 -q -c
  timed tar+zstd-1 pipe zstd -1 -q -c
  command -v zip >/dev/null 2>&1 && timed zip packed
  timed sha256sum summed
  for form in zim wacz phm tar.zst; do
    timed "$form" "$mirrord" export site --format "$form" -o - $own
    "$mirrord" export site -o "$work/site.$form" $own >/dev/null
    timed "$form:read" "$mirrord" verify "$work/site.$form" $own
  done
  "$mirrord" export site -o "$work/site.warc.gz" $own >/dev/null
  timed import "$mirrord" import "$work/site.warc.gz" --as site --jobs "$work/jobs" --state "$work/state2"
  rm -rf "$work/state2"
done
ls -l "$work"/site.* | awk '{ print $5, $9 }'
awk '
  { n[$1]++; wall[$1, n[$1]] = $2; cpu[$1, n[$1]] = $3 + $4; if (n[$1] == 1) order[++k] = $1 }
  function median(a, name, m,   i, j, t, v) {
    for (i = 1; i <= m; i++) v[i] = a[name, i]
    for (i = 2; i <= m; i++) for (j = i; j > 1 && v[j-1] > v[j]; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
    return v[int((m + 1) / 2)]
  }
  END {
    printf "%-14s %8s %10s %18s %10s\n", "", "wall s", "user+sys s", "speed to tar+zstd", "user+sys"
    for (i = 1; i <= k; i++) {
      w = median(wall, order[i], n[order[i]]); c = median(cpu, order[i], n[order[i]])
      if (order[i] == "tar+zstd-3") { w0 = w; c0 = c }
      W[i] = w; C[i] = c
    }
    for (i = 1; i <= k; i++) printf "%-14s %8.2f %10.2f %18.2f %10.2f\n", order[i], W[i], C[i], w0 / W[i], C[i] / c0
  }' "$work/times"
