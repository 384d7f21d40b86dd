#!/usr/bin/env bash
# bench/table.sh [REPS [CORPUS…]]   the table of README: full mirrors against the floor and wget2 -k, in turns, on tmpfs and on a disk.
#   REPS (3): the table has medians. CORPUS: S M L (all).
#   MIRRORD_TMPFS (/dev/shm) and MIRRORD_DISK (/var/tmp) are where mirrors are written; an empty one is left out.
# The harness is that of bench/run.sh; LAB_TMP says where its corpora are. Peers run one after the other, in turns. It needs an idle
# machine: conditions stand above the table, with the load before and after. S, M and L with 3 repetitions take some 15 minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
lab=${MIRRORD_LAB:-$here/../../shared/bench}
if [ ! -f "$lab/peers.sh" ]; then
  echo "bench: the harness is not at $lab: set MIRRORD_LAB to the folder that holds peers.sh" >&2
  exit 1
fi
reps=${1:-3}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- S M L
export LAB_TMP=${LAB_TMP:-${TMPDIR:-/tmp}}
. "$lab/env.sh"
export LAB_PEERS_EXTRA=$here/mirrord.sh MIRRORD=$LAB_TMP/mirrord-bench
(cd "$here/.." && CGO_ENABLED=0 go build -o "$MIRRORD" ./cmd/mirrord)
for corpus in "$@"; do
  [ -d "$LAB_CORPORA/$corpus" ] || "$lab/setup-corpora.sh" >&2
done
"$lab/serve.sh" start >&2
began=$(date +%s) before=$(cut -d' ' -f1-3 /proc/loadavg) media=
for medium in tmpfs disk; do
  if [ "$medium" = tmpfs ]; then dir=${MIRRORD_TMPFS-/dev/shm}; else dir=${MIRRORD_DISK-/var/tmp}; fi
  [ -n "$dir" ] || continue
  out=$dir/mirrord-table.$$
  mkdir "$out"
  trap 'rm -rf "$out"' EXIT
  kind=$(findmnt -n -o FSTYPE -T "$out" | tail -n 1) # of mounts over each other the last one
  media="$media; $medium: $kind"
  fresh=
  [ "$kind" = tmpfs ] || fresh=1
  for corpus in "$@"; do
    LAB_OUT=$out LAB_FRESH=$fresh LAB_VARIANT=$medium LAB_NOCHECK=1 \
      "$lab/peers.sh" run "$corpus" plain full "$reps" fetch_write wget2_k mirrord mirrord_kept >&2
  done
  rm -rf "$out"
  trap - EXIT
done
cat <<END
$(date -u +%F), $(nproc) cores ($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)), Linux $(uname -r), $(go env GOVERSION), nginx $(nginx -v 2>&1 | sed 's|.*/||')
on the same machine, wget2 $(wget2 --version | awk 'NR == 1 {print $3}'), mirrord $(git -C "$here" rev-parse --short HEAD)$media.
Medians of $reps, in turns. Load before: $before; after: $(cut -d' ' -f1-3 /proc/loadavg).

| site | mirror | output on | time, of the floor | of wget2 -k | processor time, of the floor | memory | the floor |
| --- | --- | --- | --- | --- | --- | --- | --- |
END
awk -F'\t' -v began="$began" '
  $1 >= began && $4 == "full" {
    k = $3 " " $2 " " $5; n[k]++; wall[k, n[k]] = $6; cpu[k, n[k]] = $7 + $8; rss[k, n[k]] = $9
    if (($10 + 0 != 0) && $5 ~ /^(mirrord|fetch)/) failed = failed $5 " of " $2 " on " $3 ": exit " $10 "\n"
    if (!(($3 " " $2) in at)) { at[$3 " " $2] = ++rows; row[rows] = $3 " " $2 }
    if ($5 == "fetch_write") site[$2] = $12 " URLs, " int($19) " MB"
  }
  function median(of, k,   i, j, t, v) {
    for (i = 1; i <= n[k]; i++) v[i] = of[k, i] + 0
    for (i = 1; i <= n[k]; i++) for (j = i + 1; j <= n[k]; j++) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
    return v[int((n[k] + 1) / 2)]
  }
  function ratio(a, b, form) { return b > 0 ? sprintf(form, a / b) : "" }
  END {
    split("mirrord mirrord_kept", peers, " "); said["mirrord"] = "get"; said["mirrord_kept"] = "kept (run-now)"
    for (r = 1; r <= rows; r++) for (p = 1; p <= 2; p++) {
      split(row[r], x, " "); k = row[r] " " peers[p]; f = row[r] " fetch_write"; w = row[r] " wget2_k"
      if (n[k] == 0) continue
      floor = median(wall, f)
      printf "| %s | %s | %s | %s | %s | %s | %d MB | %.2f s |\n", site[x[2]], said[peers[p]], x[1],
        ratio(median(wall, k), floor, "%.1f"), ratio(median(wall, k), median(wall, w), "%.2f"),
        ratio(median(cpu, k), median(cpu, f), "%.1f"), median(rss, k), floor
    }
    printf "%s", failed
  }' "$LAB_RESULTS/results.tsv"
