package budget

import "testing"

func TestClientShareAndTotalAreBounded(t *testing.T) {
	b := New(100, 60)
	for _, c := range []struct {
		client string
		n      int64
		want   bool
	}{{"a", 60, true}, {"a", 1, false}, {"b", 41, false}, {"b", 40, true}, {"c", 1, false}} {
		if got := b.Take(c.client, c.n); got != c.want {
			t.Errorf("%d for %s: %v", c.n, c.client, got)
		}
	}
	b.Give("a", 60)
	if !b.Take("c", 60) {
		t.Error("what was given back cannot be taken")
	}
	b.Give("b", 40)
	b.Give("c", 60)
	if len(b.by) != 0 || b.held != 0 {
		t.Errorf("%d bytes of %v are held by nobody", b.held, b.by)
	}
}
