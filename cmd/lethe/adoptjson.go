package main

import (
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/app/adoption"
)

// What the adoption commands write with --json. Times are RFC 3339, sizes in bytes.

// collectionJSON is one collection of "adopt status" and "adopt check".
type collectionJSON struct {
	Collection string     `json:"collection"`
	Kind       adopt.Kind `json:"kind"`
	Mode       adopt.Mode `json:"mode"`
	// What is due now: rows that have expired, objects to delete, folders marked long enough,
	// objects without a row.
	Rows    int64 `json:"rows"`
	Objects int64 `json:"objects"`
	Folders int64 `json:"folders"`
	Orphans int64 `json:"orphans"`
	// Later is the objects without a reference that are not due yet.
	Later int64 `json:"objects_later"`

	Quarantined int64    `json:"quarantined"`
	Holds       int      `json:"holds"`
	Wrong       []string `json:"wrong,omitempty"`
	Problem     string   `json:"problem,omitempty"` // why nothing is known of it
	// EpochAt is when the pairing with the bucket was renewed; missing before the first run.
	EpochAt  time.Time     `json:"epoch_at,omitzero"`
	Findings []findingJSON `json:"findings,omitempty"`
}

// findingJSON is one finding of "adopt check".
type findingJSON struct {
	Problem bool   `json:"problem"` // keeps the collection from reclaiming
	What    string `json:"what"`
	Do      string `json:"do,omitempty"`
}

func collectionOf(b adoption.Backlog, found []adopt.Finding) collectionJSON {
	out := collectionJSON{
		Collection: b.Collection, Kind: b.Kind, Mode: b.Mode, Rows: b.Rows.Due, Objects: b.Contents.Due, Folders: b.Folders.Due,
		Orphans: b.Orphans.Due, Later: b.InGrace.Due, Quarantined: b.Quarantined.Due, Holds: len(b.Holds), Wrong: wrong(b), Problem: b.Problem,
	}
	if b.Paired.Number > 0 {
		out.EpochAt = b.Paired.At.Time()
	}
	for _, f := range found {
		out.Findings = append(out.Findings, findingJSON{f.Problem, f.What, f.Do})
	}
	return out
}

// routineJSON is one routine of "adopt status".
type routineJSON struct {
	Routine string           `json:"routine"`
	Last    time.Time        `json:"last_run,omitzero"`
	Outcome string           `json:"outcome,omitempty"` // empty while it runs
	Did     map[string]int64 `json:"did,omitempty"`
	Next    time.Time        `json:"next_run"`
}

// adoptStatusJSON is what "adopt status" writes.
type adoptStatusJSON struct {
	Collections []collectionJSON `json:"collections"`
	Routines    []routineJSON    `json:"routines"`
}

// factJSON is one line of "adopt explain"; At is missing for what is so now.
type factJSON struct {
	Collection string    `json:"collection"`
	At         time.Time `json:"at,omitzero"`
	What       string    `json:"what"`
}

// orphanJSON is one line of "adopt orphans": an object without a row, or, if Missing, a key in a row
// without an object.
type orphanJSON struct {
	Key      string    `json:"key"`
	Missing  bool      `json:"missing,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Modified time.Time `json:"modified_at,omitzero"`
}

// quarantinedJSON is one line of "adopt quarantine list".
type quarantinedJSON struct {
	Collection string    `json:"collection"`
	Key        string    `json:"key"`
	Copy       string    `json:"copy"`
	Size       int64     `json:"size"`
	State      string    `json:"state"`
	Since      time.Time `json:"since"`
	Until      time.Time `json:"until"` // not purged before
	Named      bool      `json:"named,omitempty"`
	Held       bool      `json:"held,omitempty"`
}
