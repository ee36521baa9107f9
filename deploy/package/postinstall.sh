#!/bin/sh
# After an installation or an upgrade, by dpkg or rpm. It starts nothing that did not
# run: whoever installs decides on the configuration first.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers lethe.conf
elif ! getent passwd lethe >/dev/null; then
	groupadd --system lethe
	useradd --system --gid lethe --home-dir /var/lib/lethe --no-create-home \
		--shell /usr/sbin/nologin --comment "Lethe object store" lethe
fi
# The service reads its configuration as a member of the group.
if [ -e /etc/lethe/lethe.yaml ]; then
	chgrp lethe /etc/lethe/lethe.yaml
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# The units that run get the new program.
	systemctl try-restart lethe.service lethe-adopt.service
fi
