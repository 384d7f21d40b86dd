#!/bin/sh
set -e
# "remove" from dpkg, 0 from rpm: not when a newer version takes over.
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now mirrord.socket mirrord.service mirrord-serve.service >/dev/null 2>&1 || true
	fi
	;;
esac
