#!/bin/sh
# After a removal. The user and /var/lib/lethe stay, even when dpkg purges: they are the
# owner and the bytes of what was stored.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
