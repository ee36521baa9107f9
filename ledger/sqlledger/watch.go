package sqlledger

import (
	"context"
	"runtime"
	"strings"
	"sync"

	"github.com/lethe-storage/lethe"
)

// Transaction describes a transaction that has ended.
type Transaction struct {
	// Name is the method of DB that ran it, such as "Commit" or "Settle": one of a fixed
	// set, without any data of the caller.
	Name   string
	Engine string // "sqlite" or "postgres"
	Write  bool
	// Tries is how often its statements ran: 0 if it never started, more than 1 after it
	// lost a race or its connection.
	Tries int
	// Op is the operation that it records, if it came that far.
	Op lethe.ID
	// Condemned are the blobs that its last try condemned. If Err is set they are not
	// condemned, unless its outcome is unknown.
	Condemned []CondemnedBlob
	Err       error
}

// CondemnedBlob is a blob that a transaction condemned.
type CondemnedBlob struct {
	ID      lethe.ID
	Backend string
	Size    int64 // bytes
}

// Watch is called before a transaction waits to start, in its caller's goroutine, with the
// later Transaction.Name. It returns the transaction's context and a function, which is
// called when the transaction has ended. Both must return fast and be safe for concurrent
// use.
type Watch func(ctx context.Context, name string) (context.Context, func(Transaction))

// OnTransactions adds a watch. The last one added is innermost. Call it before the ledger is
// used.
func (db *DB) OnTransactions(w Watch) {
	outer := db.watch
	if outer == nil {
		db.watch = w
		return
	}
	db.watch = func(ctx context.Context, name string) (context.Context, func(Transaction)) {
		ctx, last := outer(ctx, name)
		ctx, first := w(ctx, name)
		return ctx, func(t Transaction) {
			first(t)
			last(t)
		}
	}
}

// watched applies the watches to a transaction. The caller runs the fn that it returns, and
// calls ended with the outcome. A transaction without a name gets its caller's.
func (db *DB) watched(ctx context.Context, t Transaction, fn func(*tx) error) (context.Context, func(*tx) error, func(error)) {
	if db.watch == nil {
		return ctx, fn, func(error) {}
	}
	if t.Name == "" {
		t.Name = callerName()
	}
	t.Engine = "sqlite"
	if db.engine.Server != nil {
		t.Engine = "postgres"
	}
	ctx, ended := db.watch(ctx, t.Name)
	// The goroutine that runs fn finishes before run returns, so tries and last are not
	// written meanwhile.
	var last *tx
	counted := func(x *tx) error {
		t.Tries++
		last = x
		return fn(x)
	}
	return ctx, counted, func(err error) {
		if last != nil {
			t.Op, t.Condemned = last.op, last.condemned
		}
		t.Err = err
		ended(t)
	}
}

// callers caches the names of methods by program counters.
var callers sync.Map

// between are the functions between a transition's method and its transaction.
var between = map[string]bool{"watched": true, "submit": true, "look": true, "write": true, "writeAsking": true, "replayed": true, "batch": true, "batchFor": true, "read": true, "walk": true}

// callerName returns the name of the method that called write, batch, read or walk. It comes
// from the program and not from the message, which contains names of buckets and keys, so
// that it can be a metric label.
func callerName() string {
	var pcs [6]uintptr
	n := runtime.Callers(2, pcs[:])
	if name, ok := callers.Load(pcs); ok {
		return name.(string)
	}
	name := "other"
	frames := runtime.CallersFrames(pcs[:n])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if m := methodName(f.Function); m != "" && !between[m] {
			name = m
			break
		}
	}
	callers.Store(pcs, name)
	return name
}

// methodName returns the method's name in ".../ledger/sqlledger.(*DB).Commit.func1", without
// closures.
func methodName(function string) string {
	_, method, ok := strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".(*DB).")
	if !ok {
		return ""
	}
	method, _, _ = strings.Cut(method, ".")
	return method
}
