// Package linearizable checks what concurrent clients saw of single keys. A key is a
// register: it holds one value or none, and each operation on it takes effect at
// one instant between its call and its return. The check itself is porcupine's.
//
// The package knows nothing of stores: tests record operations, and ask.
package linearizable

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lethe-storage/lethe"
)

// Kind is what an operation does to a register.
type Kind int

// The operations on a register.
const (
	Read   Kind = iota // returns the value, None if there is none
	Write              // sets a value, whatever was there; None empties the register
	Create             // sets a value if there is none
)

// None is the value of an empty register.
const None int64 = 0

// Op is one operation as its client saw it.
type Op struct {
	Client int
	Kind   Kind
	Value  int64 // written or read; values that are written differ from each other
	// Refused reports that a Create found a value.
	Refused bool
	// Unknown reports that the client got no answer: a write may have taken effect at
	// any time after its call, or never.
	Unknown      bool
	Call, Return lethe.Time
}

// Check returns an error if no order of the operations of one register explains what
// was read, or if none was found within the time given.
func Check(key string, ops []Op, atMost time.Duration) error {
	switch porcupine.CheckOperationsTimeout(model, history(ops), atMost) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%s: %d operations could not be checked within %s", key, len(ops), atMost)
	}
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintf(&b, "\n  %s", o)
	}
	return fmt.Errorf("%s: no order of these operations explains what was read:%s", key, b.String())
}

// history leaves out reads without an answer, and lets unknown writes end last.
func history(ops []Op) []porcupine.Operation {
	var out []porcupine.Operation
	for _, o := range ops {
		if o.Unknown && o.Kind == Read {
			continue
		}
		end := int64(o.Return)
		if o.Unknown {
			end = math.MaxInt64
		}
		out = append(out, porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: end})
	}
	return out
}

var model = porcupine.Model{
	Init: func() any { return None },
	Step: func(state, input, _ any) (bool, any) {
		held, o := state.(int64), input.(Op)
		switch {
		case o.Kind == Read:
			return held == o.Value, held
		case o.Kind == Write:
			return true, o.Value
		case o.Unknown && held != None: // a Create that changed nothing
			return true, held
		case o.Refused:
			return held != None, held
		}
		return held == None, o.Value
	},
}

// String returns the operation on one line.
func (o Op) String() string {
	verb := [...]string{Read: "read", Write: "write", Create: "create"}[o.Kind]
	end := "at " + o.Return.String()
	switch {
	case o.Unknown:
		end = "without an answer"
	case o.Refused:
		end = "refused " + end
	}
	return fmt.Sprintf("client %d: %s %d, called at %s, returned %s", o.Client, verb, o.Value, o.Call, end)
}
