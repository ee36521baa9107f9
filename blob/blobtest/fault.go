package blobtest

import (
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe/blob"
)

// Op is a method of blob.Store.
type Op string

// The operations as they appear in a Call and in a Recorder's events.
const (
	OpPut    Op = "put"
	OpGet    Op = "get"
	OpStat   Op = "stat"
	OpDelete Op = "delete"
	OpList   Op = "list"
)

// Call is one call of a Store, as given to the function that decides its fault.
type Call struct {
	N    int64    // the call's number on this wrapper, from 1
	Op   Op       // the method called
	Keys []string // the key; all keys of a Delete; the prefix of a List
	Size int64    // of a Put, in bytes, or blob.UnknownSize
}

// Kind is the effect of a fault.
type Kind uint8

// The kinds of fault.
const (
	// None lets the call through.
	None Kind = iota
	// NotDone has no effect and returns an error that wraps blob.ErrNotDone.
	NotDone
	// DoneError has the effect and returns blob.ErrUnknown.
	DoneError
	// Late returns blob.ErrUnknown now and has the effect when the test releases it
	// (Faulty.Late). A call without an effect only returns the error.
	Late
	// Down has no effect and returns blob.ErrDown and blob.ErrNotDone.
	Down
	// Partial has part of the effect: a Delete treats each key by Fault.Key and
	// returns no error; a List ends after Fault.Keep entries, and the body of a Get
	// after Fault.Keep bytes, with Fault.Err. A Put stores nothing and returns
	// blob.ErrUnknown.
	Partial
	// Disorder makes a List pass its first two entries in the wrong order; other
	// calls have no fault.
	Disorder
)

// String returns the kind's name.
func (k Kind) String() string {
	names := [...]string{"none", "not done", "done but error", "late", "down", "partial", "disorder"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", int(k))
}

// Fault is what happens to one call.
type Fault struct {
	Kind Kind
	// Err replaces the error of the kind; it is wrapped together with it.
	Err error
	// Wait, if not nil, makes the call slow: it first waits until Wait is closed or
	// the context is done, which is an error without effect.
	Wait <-chan struct{}
	// Keep is where Partial breaks off a List (entries) or a Get (bytes).
	Keep int64
	// Key is what Partial does to the key at index i of a Delete; nil refuses all.
	Key func(i int, key string) Outcome
}

// Outcome is what a partial Delete does to one key.
type Outcome uint8

// The outcomes of one key of a partial Delete.
const (
	KeyDone      Outcome = iota // deleted, as the Result reports
	KeyRefused                  // not deleted, as the Result reports
	KeyUnknown                  // not deleted; the Result is blob.ErrUnknown
	KeyDoneError                // deleted; the Result is blob.ErrUnknown
	KeyLost                     // deleted; there is no Result
	KeySkipped                  // not deleted; there is no Result
)

func (o Outcome) deletes() bool { return o == KeyDone || o == KeyDoneError || o == KeyLost }
func (o Outcome) answers() bool { return o != KeyLost && o != KeySkipped }

// errInjected marks every error that comes from a fault.
var errInjected = errors.New("injected fault")

// Injected reports whether err comes from a fault of a Faulty store.
func Injected(err error) bool { return errors.Is(err, errInjected) }

func (f Fault) error(call Call, as ...error) error {
	wrapped := errors.Join(append(as, f.Err)...)
	return fmt.Errorf("%s %d keys (call %d): %w: %w", call.Op, len(call.Keys), call.N, errInjected, wrapped)
}

// failure returns the error of the kind.
func (f Fault) failure(call Call) error {
	switch f.Kind {
	case NotDone:
		return f.error(call, blob.ErrNotDone)
	case Down:
		return f.error(call, blob.ErrDown, blob.ErrNotDone)
	}
	return f.error(call, blob.ErrUnknown)
}
