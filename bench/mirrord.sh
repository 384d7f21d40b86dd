# Peers for the shared harness: LAB_PEERS_EXTRA=bench/mirrord.sh. Politeness is that of an owner towards their own server: 16
# connections, no gap. rel=nofollow is not obeyed, because no peer obeys it and the harness counts what is reachable.
OWN="--set polite.connections=16 --set polite.delay=0s --set polite.factor=0 --set obey_nofollow=false --set adaptive.learn_for=0s"
export OWN MIRRORD
# shellcheck disable=SC2086
peer_mirrord() { "$MIRRORD" get "$2" -o "$1/$LAB_HOST" $OWN --set "tls.ca_file=$CA"; }
# with a state that is kept, synced and re-synced; the mirror is exported as a directory too, because the harness looks there
# shellcheck disable=SC2086
peer_mirrord_state() { "$MIRRORD" get --state "$1/.state" "$2" -o "$1/$LAB_HOST" $OWN --set "tls.ca_file=$CA"; }
