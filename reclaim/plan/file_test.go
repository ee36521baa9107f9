package plan_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/reclaim/plan"
)

func written(t testing.TB, items ...plan.Item) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := plan.NewWriter(&b, plan.Header{Store: "s", Ledger: "l", Command: "reclaim"})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range items {
		if err := w.Add(i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close([]plan.Estimate{{Do: "clean", Calls: 3}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func item(n int) plan.Item {
	return plan.Item{Do: "clean", Kind: "blob", ID: fmt.Sprint("b", n), Backend: "disk", Size: int64(n), Why: "expiry", Due: time.Unix(int64(n), 0).UTC()}
}

func TestRoundTrip(t *testing.T) {
	text := written(t, item(1), item(2), plan.Item{Do: "expire", Kind: "object", ID: "v", Bucket: "b", Key: "k\n\"<", Size: 7, Why: "expiry"})
	r, err := plan.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []plan.Item
	for {
		i, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, i)
	}
	if len(got) != 3 || got[0] != item(1) || got[2].Key != "k\n\"<" {
		t.Fatalf("read %+v", got)
	}
	if e := r.End; e.Totals.Items != 3 || e.Totals.Bytes != 10 || len(e.Totals.Groups) != 2 || e.Estimates[0].Calls != 3 || !e.Totals.Groups[0].Oldest.Equal(time.Unix(1, 0)) {
		t.Fatalf("end %+v", e)
	}
}

// TestAnyChangeIsFound cuts a plan at every byte, and changes every byte.
func TestAnyChangeIsFound(t *testing.T) {
	text := written(t, item(1), item(2))
	for n := range text {
		if _, _, err := plan.Check(bytes.NewReader(text[:n])); err == nil {
			t.Fatalf("cut after %d bytes is taken for whole", n)
		}
		changed := bytes.Clone(text)
		changed[n] ^= 1
		if _, _, err := plan.Check(bytes.NewReader(changed)); err == nil {
			t.Fatalf("byte %d changed is taken for the same", n)
		}
	}
	lines := strings.SplitAfter(string(text), "\n")
	for name, other := range map[string]string{
		"a line left out": lines[0] + lines[1] + lines[3], "a line twice": lines[0] + lines[1] + lines[1] + lines[2] + lines[3],
		"lines exchanged": lines[0] + lines[2] + lines[1] + lines[3], "something behind": string(text) + "\n",
		"an empty line": lines[0] + lines[1] + "\n" + lines[2] + lines[3], "an empty line for an end": lines[0] + lines[1] + "\n",
		"two plans": string(text) + string(text),
	} {
		if _, _, err := plan.Check(strings.NewReader(other)); err == nil {
			t.Errorf("%s is taken for the same", name)
		}
	}
}

// What is no plan is refused without the words of its parser.
func TestNoPlan(t *testing.T) {
	for text, want := range map[string]string{
		"": "this is not a plan: it has no whole line", "CREATE TABLE\n": `this is not a plan: a plan begins with {"lethe_plan":1,`,
		"{\"time\":1}\n": `this is not a plan: a plan begins with {"lethe_plan":1,`, "{\"lethe_plan\":7}\n": "its format is 7, not 1",
	} {
		if _, _, err := plan.Check(strings.NewReader(text)); !errors.Is(err, plan.ErrFormat) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestGroupsAreBounded(t *testing.T) {
	var totals plan.Totals
	for n := range 10 * plan.MaxGroups {
		i := item(n)
		i.Why = fmt.Sprint("rule ", n)
		totals.Add(i)
	}
	if len(totals.Groups) > plan.MaxGroups+1 || totals.By()["clean"].Items != 10*plan.MaxGroups {
		t.Fatalf("%d groups, %+v", len(totals.Groups), totals.By())
	}
}

func FuzzReader(f *testing.F) {
	f.Add(written(f, item(1), item(2)))
	f.Add([]byte(`{"lethe_plan":1}` + "\n" + `{"end":true}` + "\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, end, err := plan.Check(bytes.NewReader(text))
		if err != nil {
			return
		}
		if h.Version != plan.Version || len(end.SHA256) != 64 || end.Totals.Items < 0 {
			t.Fatalf("%+v %+v", h, end)
		}
	})
}
