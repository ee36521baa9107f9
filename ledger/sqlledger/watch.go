package sqlledger

import (
	"context"
	"runtime"
	"strings"
	"sync"

	"github.com/lethe-storage/lethe"
)

// Transaction is what a transaction was, once it ended.
type Transaction struct {
	// Name is the method of DB that ran it, such as "Commit" or "Settle": one of a
	// fixed set, in which nothing of the caller's appears.
	Name   string
	Engine string // "sqlite" or "postgres"
	Write  bool
	// Tries is how often its statements were run: 0 if its turn never came, more
	// than 1 after it lost a race or its connection.
	Tries int
	// Op is the operation that it records, if it came so far.
	Op lethe.ID
	// Condemned are the blobs that its last try condemned. If Err is set they are
	// what they were, unless its outcome is unknown.
	Condemned []CondemnedBlob
	Err       error
}

// CondemnedBlob is a blob that a transaction condemned.
type CondemnedBlob struct {
	ID      lethe.ID
	Backend string
	Size    int64 // bytes
}

// Watch is called before a transaction waits for its turn, in its caller's
// goroutine, with the name that Transaction.Name has. It returns the context of the
// transaction and a function, which is called when the transaction has ended. Both
// return fast and may be called from any number of goroutines at once.
type Watch func(ctx context.Context, name string) (context.Context, func(Transaction))

// OnTransactions adds one who watches transactions. Of several, the last one added is
// called next to the transaction. To be called before the ledger is used.
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

// watched makes a transaction known to who watches, if anybody does. The caller
// runs the fn that it returns, and calls ended with the outcome. A transaction
// without a name gets its caller's.
func (db *DB) watched(ctx context.Context, t Transaction, fn func(*tx) error) (context.Context, func(*tx) error, func(error)) {
	if db.watch == nil {
		return ctx, fn, func(error) {}
	}
	if t.Name == "" {
		t.Name = callerName()
	}
	t.Engine = "sqlite"
	if db.pg != nil {
		t.Engine = "postgres"
	}
	ctx, ended := db.watch(ctx, t.Name)
	// Whoever runs fn answers before run returns: tries and last are never written
	// meanwhile.
	var last *tx
	counted := func(x *tx) error {
		t.Tries++
		last = x
		return fn(x)
	}
	return ctx, counted, func(err error) {
		if last != nil {
			t.Op, t.Condemned = last.op, last.doomed
		}
		t.Err = err
		ended(t)
	}
}

// callers remembers the names of methods by the program counters that lead to
// them.
var callers sync.Map

// between are the functions that lie between a transition and its transaction.
var between = map[string]bool{"watched": true, "submit": true, "look": true, "write": true, "batch": true, "read": true, "walk": true}

// callerName is the name of the method that called write, batch, read or walk. It
// is taken from the program and not from the message, in which names of buckets
// and keys stand, so that it may become a label.
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

// methodName is the last name of ".../ledger/sqlledger.(*DB).Commit.func1" that is no closure's.
func methodName(function string) string {
	_, method, ok := strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".(*DB).")
	if !ok {
		return ""
	}
	method, _, _ = strings.Cut(method, ".")
	return method
}
