package paste

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
)

// alphabet of codes and tokens: letters and digits without those that are easily
// confused (0 O 1 I l).
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

const (
	codeLength  = 7  // 40 bits: 2 million million codes
	tokenLength = 32 // 186 bits
	// maxDraws of a code: so many are taken only if nearly all are.
	maxDraws = 20
)

// aliasForm is the form of an alias that a client may choose, and of every code.
var aliasForm = regexp.MustCompile(`^[A-Za-z0-9_-]{3,64}$`)

// draw returns n characters of the alphabet, each as likely as every other: a
// byte beyond the last multiple of its length is drawn again.
func draw(random io.Reader, n int) (string, error) {
	const fair = 256 - 256%len(alphabet)
	out := make([]byte, 0, n)
	buf := make([]byte, n)
	for len(out) < n {
		need := buf[:n-len(out)]
		if _, err := io.ReadFull(random, need); err != nil {
			return "", fmt.Errorf("paste: random source: %w", err)
		}
		for _, b := range need {
			if int(b) < fair {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out), nil
}

// hashed is the form in which a delete token is stored. A token is random and long,
// so that a fast hash without salt suffices.
func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// tokenMatches reports whether the token has the stored hash, in constant time.
func tokenMatches(token, hash string) bool {
	return subtle.ConstantTimeCompare([]byte(hashed(token)), []byte(hash)) == 1
}
