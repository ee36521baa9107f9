package adopt

import (
	"fmt"
	"os"
	"testing"
)

// Keys are returned in order, in memory or not, and leave no file behind.
func TestKeyBuffer(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, n := range []int{0, 1, 100, 100_000} {
		s := new(keyBuffer)
		for i := range n {
			for range 2 { // a repeated key is ignored
				if err := s.put(fmt.Sprintf("files/%08d", i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.rewind(); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if want := fmt.Sprintf("files/%08d", i); s.key != want {
				t.Fatalf("of %d keys the %d. is %q, want %q", n, i, s.key, want)
			}
			if err := s.next(); err != nil {
				t.Fatal(err)
			}
		}
		if s.key != "" {
			t.Errorf("after %d keys there is %q", n, s.key)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("%d files are left, %v", len(left), err)
		}
	}
}
