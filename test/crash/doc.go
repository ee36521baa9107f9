// Package crash kills the real thing: it builds lethe with failpoints, lets it
// serve a data folder, works on it through S3 and the admin API, and has the
// process die by kill -9 around every effect on ledger and backend, while it
// opens, and at moments that nobody chose. After each death the folder is served
// again, and what clients were told is compared with what is there: all that was
// acknowledged reads back, what was not is there whole or not at all, and the
// store's own check finds nothing.
//
// It is all in tests: "make crash" runs them, -crash.kills says how often.
package crash
