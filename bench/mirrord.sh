# Peers for the shared harness: LAB_PEERS_EXTRA=bench/mirrord.sh. Politeness is that of an owner towards their own server: 16
# connections, no gap. rel=nofollow is not obeyed, because no peer obeys it and the harness counts what is reachable.
OWN="--set polite.connections=16 --set polite.delay=0s --set polite.factor=0 --set obey_nofollow=false --set adaptive.learn_for=0s"
export OWN MIRRORD
# shellcheck disable=SC2086
peer_mirrord() { "$MIRRORD" get "$2" -o "$1/$LAB_HOST" $OWN --set "tls.ca_file=$CA"; }
# a job of a daemon, which keeps its versions: the mirror is the published tree
peer_mirrord_kept() {
	mkdir -p "$1/jobs"
	cat > "$1/jobs/kept.toml" <<-END
		url = "$2"
		obey_nofollow = false
		adaptive.learn_for = "0s"
		polite = { connections = 16, delay = "0s", factor = 0.0, allow_private = true }
		tls.ca_file = "$CA"
	END
	"$MIRRORD" run-now kept --jobs "$1/jobs" --state "$1/.state" && ln -sfn .state/sites/kept/current "$1/$LAB_HOST"
}
# with a state that is kept, synced and re-synced; the mirror is exported as a directory too, because the harness looks there
# shellcheck disable=SC2086
peer_mirrord_state() { "$MIRRORD" get --state "$1/.state" "$2" -o "$1/$LAB_HOST" $OWN --set "tls.ca_file=$CA"; }
