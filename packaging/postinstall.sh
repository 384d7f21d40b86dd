#!/bin/sh
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers mirrord.conf
elif ! getent passwd mirrord >/dev/null; then
	useradd --system --home-dir /var/lib/mirrord --shell /usr/sbin/nologin --user-group mirrord
fi
if command -v systemd-tmpfiles >/dev/null 2>&1; then
	systemd-tmpfiles --create mirrord.conf
else
	install -d -m 755 /etc/mirrord/jobs.d
	install -d -m 755 -o mirrord -g mirrord /var/lib/mirrord
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart mirrord.service mirrord-serve.service # runs under way are resumed
fi
