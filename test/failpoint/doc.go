// Package failpoint lets a process kill itself, as kill -9 does, right before or right
// after a chosen effect on ledger or backend. Only cmd/lethe built with the tag
// failpoints sets its hooks.
//
// The environment variable LETHE_FAILPOINT names the point and, after a colon,
// which time it counts: "commit/after:3" dies after the third commit is durable
// and before anybody hears of it. "put/written:1:stop" does not die: whoever comes to
// the point stands still there until the process gets SIGCONT.
//
// LETHE_CLOCK_AHEAD names a file with a duration by which the machine's clock counts as
// set forward, from the moment on at which it is written.
package failpoint

// steps are the effects between which a process may die: those of opening a
// data folder, the ledger's transitions, then those of backend and cache.
var steps = []string{
	"open-lock", "open-ledger", "open-backends", "open-settle", "open-admin", "open-front",
	"begin", "beat", "extend-grace", "abandon", "commit", "delete", "update", "create-upload", "commit-part", "complete", "abort",
	"restore", "purge-trash", "create-bucket", "configure-bucket", "delete-bucket",
	"return-deferred", "precheck", "expire", "claim", "settle", "recover",
	"claim-intents", "promote", "condemn-intent", "release-intent", "abort-stale", "purge", "prune",
	"move-to-ledger", "begin-copy", "commit-copy",
	"add-backend", "set-epoch", "begin-run", "start-run", "beat-run", "finish-run", "interrupt-runs",
	"put", "unlink", "epoch-put", "epoch-unlink", "sweep", "cache-drop",
}

// transitions are the methods of the ledger that have points around each of their
// transactions, with their steps.
var transitions = map[string]string{
	"Begin": "begin", "Beat": "beat", "ExtendGrace": "extend-grace", "Abandon": "abandon", "Commit": "commit",
	"Delete": "delete", "Update": "update", "CreateUpload": "create-upload", "CommitPart": "commit-part",
	"Complete": "complete", "AbortUpload": "abort", "Restore": "restore", "PurgeTrash": "purge-trash",
	"CreateBucket": "create-bucket", "ConfigureBucket": "configure-bucket", "DeleteBucket": "delete-bucket",
	"ReturnDeferred": "return-deferred", "PrecheckLimits": "precheck", "Expire": "expire", "ClaimCondemned": "claim", "Settle": "settle",
	"EndClaims": "recover", "RecoverClaims": "recover", "ClaimIntents": "claim-intents", "Promote": "promote", "CondemnIntent": "condemn-intent",
	"ReleaseIntent": "release-intent", "AbortStale": "abort-stale", "Purge": "purge", "Prune": "prune",
	"AddBackend": "add-backend", "SetEpoch": "set-epoch", "BeginRun": "begin-run", "StartRun": "start-run",
	"BeatRun": "beat-run", "FinishRun": "finish-run", "InterruptRuns": "interrupt-runs",
	"MoveToLedger": "move-to-ledger", "BeginCopy": "begin-copy", "CommitCopy": "commit-copy",
}

// within are points in the middle of an effect: of a body half of which was
// read, of one that lies whole in a temporary file, of one about to get its name
// because its intent stands, and of one that has it while its folder is not flushed; and of a batch half of which was deleted.
var within = []string{"put/during", "put/written", "put/checked", "put/placed", "unlink/during"}

// Points lists every point of every step, in order.
func Points() []string {
	var points []string
	for _, s := range steps {
		points = append(points, s+"/before", s+"/after")
	}
	return append(points, within...)
}
