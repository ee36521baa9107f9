package linearizable_test

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/linearizable"
)

func op(kind linearizable.Kind, value int64, call, end int) linearizable.Op {
	return linearizable.Op{Kind: kind, Value: value, Call: lethe.Time(call), Return: lethe.Time(end)}
}

func unanswered(o linearizable.Op) linearizable.Op { o.Unknown = true; return o }

func refused(o linearizable.Op) linearizable.Op { o.Refused = true; return o }

func TestHistories(t *testing.T) {
	read := func(v int64, call, end int) linearizable.Op { return op(linearizable.Read, v, call, end) }
	write := func(v int64, call, end int) linearizable.Op { return op(linearizable.Write, v, call, end) }
	create := func(v int64, call, end int) linearizable.Op { return op(linearizable.Create, v, call, end) }
	for name, c := range map[string]struct {
		ops []linearizable.Op
		ok  bool
	}{
		"what was written is read":                {[]linearizable.Op{write(1, 1, 2), read(1, 3, 4)}, true},
		"an acknowledged write is lost":           {[]linearizable.Op{write(1, 1, 2), read(linearizable.None, 3, 4)}, false},
		"an older value comes back":               {[]linearizable.Op{write(1, 1, 2), write(2, 3, 4), read(1, 5, 6)}, false},
		"two writes at once, either is last":      {[]linearizable.Op{write(1, 1, 4), write(2, 2, 3), read(1, 5, 6)}, true},
		"two readers disagree on the order":       {[]linearizable.Op{write(1, 1, 9), write(2, 1, 9), read(1, 2, 3), read(2, 4, 5), read(1, 6, 7)}, false},
		"an unknown write shows late":             {[]linearizable.Op{write(1, 1, 2), unanswered(write(2, 3, 4)), read(1, 5, 6), read(2, 7, 8)}, true},
		"an unknown write never shows":            {[]linearizable.Op{write(1, 1, 2), unanswered(write(2, 3, 4)), read(1, 5, 6)}, true},
		"an unknown write shows and goes":         {[]linearizable.Op{write(1, 1, 2), unanswered(write(2, 3, 4)), read(2, 5, 6), read(1, 7, 8)}, false},
		"a deletion empties":                      {[]linearizable.Op{write(1, 1, 2), write(linearizable.None, 3, 4), read(1, 5, 6)}, false},
		"of two creations one is refused":         {[]linearizable.Op{create(1, 1, 4), refused(create(2, 2, 3)), read(1, 5, 6)}, true},
		"two creations succeed":                   {[]linearizable.Op{create(1, 1, 4), create(2, 2, 3), read(1, 5, 6)}, false},
		"a creation is refused by nothing":        {[]linearizable.Op{refused(create(1, 1, 2))}, false},
		"an unknown creation beside a value":      {[]linearizable.Op{write(1, 1, 2), unanswered(create(2, 3, 4)), read(1, 5, 6)}, true},
		"an unknown creation replaces a value":    {[]linearizable.Op{write(1, 1, 2), unanswered(create(2, 3, 4)), read(2, 5, 6)}, false},
		"a read without an answer says nothing":   {[]linearizable.Op{write(1, 1, 2), unanswered(read(7, 3, 4))}, true},
		"a value is read that nobody has written": {[]linearizable.Op{read(7, 1, 2)}, false},
	} {
		if err := linearizable.Check(name, c.ops, time.Minute); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
