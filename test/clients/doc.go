// Package clients holds the end-to-end tests with real clients: aws, s3cmd,
// rclone, s5cmd, restic and curl, each against a "lethe serve" process of its
// own. A client that is not installed is skipped, unless LETHE_CLIENTS is
// "require"; with "skip", and in short mode, all are.
package clients
