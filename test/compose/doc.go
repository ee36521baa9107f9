// Package compose starts what deploy/compose describes without an engine for
// containers: the file is read by the reference implementation of its format, and
// each service is a process with a network, a root and a list of mounts of its own, as
// an engine would give it. lethe has the image that deploy/Dockerfile describes;
// for the others Debian's programs stand in, as they are set up by their images.
//
// What is not tried is what only an engine can do: pulling images, and starting
// again what has ended.
//
// It is all in tests: "make compose" runs them, as root on Linux.
package compose
