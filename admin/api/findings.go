package api

import "time"

// The severities of findings, from the least to the worst.
const (
	SeverityOK       = "ok"       // no finding
	SeverityNotice   = "notice"   // worth knowing; nothing has to be done
	SeverityWarning  = "warning"  // someone has to look at it soon
	SeverityCritical = "critical" // data is at risk, or the store does not do its work
)

// Severities lists the severities, the least first.
var Severities = []string{SeverityOK, SeverityNotice, SeverityWarning, SeverityCritical}

// The kinds of findings.
const (
	KindLedgerDown       = "ledger_down"       // the database does not answer
	KindLedgerFull       = "ledger_full"       // its disk is full
	KindLedgerReadOnly   = "ledger_read_only"  // it refuses writes
	KindLedgerSlow       = "ledger_slow"       // it takes long to answer
	KindBackendDown      = "backend_down"      // a backend does not answer, or its calls fail
	KindBackendMisplaced = "backend_misplaced" // another folder or bucket is in its place
	KindBackendUnknown   = "backend_unknown"   // the ledger has it, the configuration has not
	KindBackendReadOnly  = "backend_read_only" // it refuses writes
	KindNoRoom           = "no_room"           // its quota or its disk is used up, or almost
	KindDeletesStopped   = "deletes_stopped"   // on a backend, by a person or by the pairing
	KindDeletesRefused   = "deletes_refused"   // by a service that keeps what is deleted
	KindDeletesFail      = "deletes_fail"      // deletes failed and are tried again
	KindCopiesFail       = "copies_fail"       // copies that are wanted could not be made for an hour
	KindDeletesSlow      = "deletes_slow"      // rates are too low for what is due
	KindDeadLetters      = "dead_letters"      // deletes that were given up
	KindLimit            = "limit"             // a deletion limit has stopped something
	KindClock            = "clock"             // a clock is in doubt
	KindHolds            = "holds"             // holds are set
	KindBehind           = "behind"            // due items have waited for too long
	KindRoutineFails     = "routine_fails"     // a routine failed, or had no success for long
	KindNobodyReclaims   = "nobody_reclaims"   // no process runs the routines
	KindInstanceSilent   = "instance_silent"   // an instance sends no heartbeat, or did not answer now
	KindSettingsDiffer   = "settings_differ"   // instances run with different settings where all need the same
	KindSlowed           = "slowed"            // reclaiming has backed off as far as it can
	KindRedisDown        = "redis_down"        // Redis does not answer
	KindCacheWrong       = "cache_wrong"       // the cache returned wrong values
	KindLost             = "lost"              // bytes without a sound copy
	KindSuspect          = "suspect"           // damaged copies beside sound ones
	KindReconcile        = "reconcile"         // a backend and the ledger differ
	KindEvents           = "events"            // a target of events is not reached, refuses events or is near its bound
	KindBooks            = "books"             // a check found counts, rows or receipts that contradict each other
)

// FindingKinds lists the kinds of findings, each with its severities.
var FindingKinds = []struct {
	Kind       string
	Severities []string
}{
	{KindLedgerDown, []string{SeverityCritical}},
	{KindLedgerFull, []string{SeverityCritical}},
	{KindLedgerReadOnly, []string{SeverityCritical}},
	{KindLost, []string{SeverityCritical}},
	{KindBooks, []string{SeverityCritical}},
	{KindClock, []string{SeverityCritical, SeverityNotice}},
	{KindBackendDown, []string{SeverityCritical}},
	{KindBackendMisplaced, []string{SeverityCritical}},
	{KindBackendUnknown, []string{SeverityCritical}},
	{KindDeletesStopped, []string{SeverityCritical}},
	{KindNobodyReclaims, []string{SeverityCritical, SeverityWarning}},
	{KindNoRoom, []string{SeverityCritical, SeverityWarning}},
	{KindBackendReadOnly, []string{SeverityWarning}},
	{KindBehind, []string{SeverityWarning}},
	{KindDeletesRefused, []string{SeverityWarning}},
	{KindDeletesFail, []string{SeverityWarning, SeverityNotice}},
	{KindCopiesFail, []string{SeverityWarning}},
	{KindDeadLetters, []string{SeverityWarning}},
	{KindLimit, []string{SeverityWarning, SeverityNotice}},
	{KindRoutineFails, []string{SeverityWarning}},
	{KindInstanceSilent, []string{SeverityWarning, SeverityNotice}},
	{KindSettingsDiffer, []string{SeverityWarning}},
	{KindDeletesSlow, []string{SeverityWarning}},
	{KindLedgerSlow, []string{SeverityWarning}},
	{KindRedisDown, []string{SeverityWarning}},
	{KindEvents, []string{SeverityWarning}},
	{KindCacheWrong, []string{SeverityWarning}},
	{KindSlowed, []string{SeverityNotice}},
	{KindSuspect, []string{SeverityNotice}},
	{KindReconcile, []string{SeverityNotice}},
	{KindHolds, []string{SeverityNotice}},
}

// StatusFinding is something about the store that an operator should know.
type StatusFinding struct {
	Severity string `json:"severity"`
	Kind     string `json:"kind"`
	// Subject is the backend, routine, bucket or instance that it is about; may be empty.
	Subject string    `json:"subject,omitempty"`
	What    string    `json:"what"`           // one sentence
	Since   time.Time `json:"since,omitzero"` // zero: unknown
	// Next is the command that shows more or puts it right; may be empty.
	Next string `json:"next,omitempty"`
	// Instances are those that reported it, where not only the responding process did.
	Instances []string `json:"instances,omitempty"`
}

// Health answers the question whether all is well: by one sentence, the worst severity, and
// the findings, the worst first.
type Health struct {
	Sentence string          `json:"verdict"`
	Severity string          `json:"severity"`
	Findings []StatusFinding `json:"findings"`
}
