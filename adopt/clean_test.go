package adopt

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// many is an endless sequence of contents, all referenced.
type many struct {
	Contents
	looked int
}

func (*many) Unmark(context.Context, int) (int, error) { return 0, nil }

func (m *many) Find(_ context.Context, after string, limit int, _ time.Duration) (int, string, error) {
	at, _ := strconv.Atoi(after) // empty is the beginning
	if at != m.looked {
		m.looked = -1
		return 0, "", nil
	}
	m.looked += limit
	return 0, strconv.Itoa(m.looked), nil
}

func (*many) Mark(context.Context, MarkRequest) (Marked, error) { return Marked{}, nil }

// A pass looks at a bounded number of contents, in a bounded number of steps,
// and the next one continues from there.
func TestCleanLooksOn(t *testing.T) {
	for batch, most := range map[int]int{2500: 10_000, 1000: 10_000, 100: 10_000, 5: 500} {
		m := &many{}
		c := &Clean{Contents: m, Batch: batch, Boot: lethe.Monotonic{}}
		for pass := range 3 {
			step := c.Pass("")
			for more, err := true, error(nil); more; {
				if more, err = step(t.Context(), func(string, int64) {}); err != nil {
					t.Fatal(err)
				}
			}
			if want := (pass + 1) * most; m.looked != want {
				t.Fatalf("batches of %d: after pass %d, %d contents were looked at, want %d", batch, pass, m.looked, want)
			}
		}
	}
}

// A row with an empty key has no object: none is reported as outside of the
// prefix.
func TestEmptyKeysAreNotOutside(t *testing.T) {
	var reported []string
	e := &Events{Outside: func(_ string, keys []string) { reported = append(reported, keys...) }}
	e.outside("photos", []string{""})
	e.outside("photos", []string{"", "elsewhere/x"})
	if len(reported) != 1 || reported[0] != "elsewhere/x" {
		t.Errorf("reported %q", reported)
	}
}
