package register_test

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/register"
)

func op(kind register.Kind, value int64, call, end int) register.Op {
	return register.Op{Kind: kind, Value: value, Call: lethe.Time(call), Return: lethe.Time(end)}
}

func unanswered(o register.Op) register.Op { o.Unknown = true; return o }

func refused(o register.Op) register.Op { o.Refused = true; return o }

func TestHistories(t *testing.T) {
	read := func(v int64, call, end int) register.Op { return op(register.Read, v, call, end) }
	write := func(v int64, call, end int) register.Op { return op(register.Write, v, call, end) }
	create := func(v int64, call, end int) register.Op { return op(register.Create, v, call, end) }
	for name, c := range map[string]struct {
		ops []register.Op
		ok  bool
	}{
		"what was written is read":                {[]register.Op{write(1, 1, 2), read(1, 3, 4)}, true},
		"an acknowledged write is lost":           {[]register.Op{write(1, 1, 2), read(register.None, 3, 4)}, false},
		"an older value comes back":               {[]register.Op{write(1, 1, 2), write(2, 3, 4), read(1, 5, 6)}, false},
		"two writes at once, either is last":      {[]register.Op{write(1, 1, 4), write(2, 2, 3), read(1, 5, 6)}, true},
		"two readers disagree on the order":       {[]register.Op{write(1, 1, 9), write(2, 1, 9), read(1, 2, 3), read(2, 4, 5), read(1, 6, 7)}, false},
		"an unknown write shows late":             {[]register.Op{write(1, 1, 2), unanswered(write(2, 3, 4)), read(1, 5, 6), read(2, 7, 8)}, true},
		"an unknown write never shows":            {[]register.Op{write(1, 1, 2), unanswered(write(2, 3, 4)), read(1, 5, 6)}, true},
		"an unknown write shows and goes":         {[]register.Op{write(1, 1, 2), unanswered(write(2, 3, 4)), read(2, 5, 6), read(1, 7, 8)}, false},
		"a deletion empties":                      {[]register.Op{write(1, 1, 2), write(register.None, 3, 4), read(1, 5, 6)}, false},
		"of two creations one is refused":         {[]register.Op{create(1, 1, 4), refused(create(2, 2, 3)), read(1, 5, 6)}, true},
		"two creations succeed":                   {[]register.Op{create(1, 1, 4), create(2, 2, 3), read(1, 5, 6)}, false},
		"a creation is refused by nothing":        {[]register.Op{refused(create(1, 1, 2))}, false},
		"an unknown creation beside a value":      {[]register.Op{write(1, 1, 2), unanswered(create(2, 3, 4)), read(1, 5, 6)}, true},
		"an unknown creation replaces a value":    {[]register.Op{write(1, 1, 2), unanswered(create(2, 3, 4)), read(2, 5, 6)}, false},
		"a read without an answer says nothing":   {[]register.Op{write(1, 1, 2), unanswered(read(7, 3, 4))}, true},
		"a value is read that nobody has written": {[]register.Op{read(7, 1, 2)}, false},
	} {
		if err := register.Check(name, c.ops, time.Minute); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
