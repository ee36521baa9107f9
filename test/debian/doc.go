// Package debian installs the .deb and the .rpm of this machine, each in a root of its own,
// an overlay over this machine's, and starts the service there as systemd would: its command
// line, its user, its folders and its variables.
//
// What is not tried is systemd itself: its sandbox, and starting at boot.
//
// It is all in tests: "make package" runs them, as root on Linux.
package debian
