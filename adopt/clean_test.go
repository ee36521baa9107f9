package adopt

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// many is contents without end, that all are referenced.
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

// A pass looks at so many contents at most, in so many steps, and the next one goes on
// from there.
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

// A row whose key is empty has no object: none is told of as one outside of the prefix.
func TestEmptyKeysAreNotOutside(t *testing.T) {
	var told []string
	e := &Events{Outside: func(_ string, keys []string) { told = append(told, keys...) }}
	e.outside("photos", []string{""})
	e.outside("photos", []string{"", "elsewhere/x"})
	if len(told) != 1 || told[0] != "elsewhere/x" {
		t.Errorf("told of %q", told)
	}
}
