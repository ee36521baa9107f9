package paste

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// counting returns every byte value equally often.
type counting struct{ n int }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c.n)
		c.n++
	}
	return len(p), nil
}

// TestEveryCharacterIsAsLikely: the remainder of a byte would favour the first
// characters by a quarter.
func TestEveryCharacterIsAsLikely(t *testing.T) {
	const rounds = 256 * 4
	text, err := draw(&counting{}, rounds*len(alphabet))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alphabet {
		if n := strings.Count(text, string(r)); math.Abs(float64(n-rounds)) > 4 {
			t.Errorf("%c was drawn %d times out of %d, want %d", r, n, len(text), rounds)
		}
	}
	if strings.ContainsAny(alphabet, "0O1Il") || len(alphabet) != 57 {
		t.Errorf("the alphabet %q holds characters that look alike", alphabet)
	}
}

func TestDrawFailsWithItsSource(t *testing.T) {
	if s, err := draw(bytes.NewReader([]byte{1, 2}), 3); err == nil {
		t.Errorf("drew %q from a source of two bytes", s)
	}
}

func TestTokenOpensItsHashOnly(t *testing.T) {
	if !tokenMatches("secret", hashed("secret")) || tokenMatches("Secret", hashed("secret")) || tokenMatches("", "") || tokenMatches(hashed("a"), hashed("a")) {
		t.Error("a token does not open its own hash, or another")
	}
}
