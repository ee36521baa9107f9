#!/bin/sh
# Before a removal, by dpkg ("remove") or rpm (0: no version stays).
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now lethe.service lethe-adopt.service
	fi
	;;
esac
