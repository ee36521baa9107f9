// Package clients holds the end-to-end tests with real clients: aws, s3cmd,
// rclone, s5cmd, restic, bazel-remote and curl, each against a server of its
// own. The commands of README.md, docs/caching.md and docs/scaling.md are typed as they stand
// there, and their output is compared. A client that is not installed is skipped, unless LETHE_CLIENTS is
// "require"; with "skip", and in short mode, all are.
package clients
