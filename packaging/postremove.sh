#!/bin/sh
set -e
# The mirrors stay: /var/lib/mirrord is removed by hand or not at all.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
