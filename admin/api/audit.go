package api

import (
	"strings"
	"time"
)

// AuditRequest asks for audit lines.
type AuditRequest struct {
	Contains string `json:"contains,omitempty"` // in the event, the reason, the name or a value; empty: all
}

// AuditLines are the last decisions of the process that answers. Its log has all of them.
type AuditLines struct {
	Instance string      `json:"instance,omitempty"` // that process, if others share the ledger
	Kept     int         `json:"kept"`               // lines that it has, at most 500
	Since    time.Time   `json:"since,omitzero"`     // of the oldest of them
	Lines    []AuditLine `json:"lines"`              // those asked for, the latest first
}

// AuditLine is a decision: what, why, by whom, and about what.
type AuditLine struct {
	At     time.Time        `json:"at"`
	Event  string           `json:"event"`
	Reason string           `json:"reason,omitempty"`
	Who    string           `json:"who,omitempty"`
	What   []AuditAttribute `json:"what,omitempty"`
}

// AuditAttribute is one more value of a line, at most 500 bytes of it.
type AuditAttribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Has reports whether one of the texts of the line contains a text.
func (l AuditLine) Has(text string) bool {
	for _, a := range l.What {
		if strings.Contains(a.Value, text) {
			return true
		}
	}
	return strings.Contains(l.Event+" "+l.Reason+" "+l.Who, text)
}
