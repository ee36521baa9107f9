package lethe

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// ID is a unique, never reused identifier of 128 bits, as 26 lower-case base32hex
// characters: 48 bits of milliseconds since 1970, 10 bits of microseconds within that
// millisecond, 70 random bits. Later IDs sort later, so rows written together are stored
// together, and uploads list in the order in which they were opened.
type ID string

// idLen is the length of an ID's text.
const idLen = 26

var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// NewID returns an ID for the instant now with random bits from random. It panics if random
// fails, which crypto/rand never does.
func NewID(now Time, random io.Reader) ID {
	var b [16]byte
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now/1000))
	copy(b[:6], ms[2:])
	if _, err := io.ReadFull(random, b[6:]); err != nil {
		panic(fmt.Sprintf("lethe: random source: %v", err))
	}
	within := now % 1000
	b[6] = byte(within >> 2)
	b[7] = b[7]&0x3f | byte(within<<6)
	return ID(idEncoding.EncodeToString(b[:]))
}

// RandomID returns an ID for the instant now with the system's random bits.
func RandomID(now Time) ID { return NewID(now, rand.Reader) }

// ParseID returns s as an ID, or an error if it does not have the form of one.
func ParseID(s string) (ID, error) {
	if len(s) != idLen || strings.Trim(s, "0123456789abcdefghijklmnopqrstuv") != "" {
		return "", fmt.Errorf("lethe: %q is not an id of %d base32hex characters", s, idLen)
	}
	return ID(s), nil
}

// Made returns when the id was made, to the millisecond; zero if it is not an ID.
func (id ID) Made() Time {
	b, err := idEncoding.DecodeString(string(id))
	if err != nil || len(b) != 16 {
		return 0
	}
	var ms [8]byte
	copy(ms[2:], b[:6])
	return Time(binary.BigEndian.Uint64(ms[:])) * 1000
}

// BlobKey returns the name of a blob's bytes on its backend: store id "/" two characters of
// fan-out "/" blob id. The fan-out is taken from the random end of the id (1,024 folders).
// The name depends only on ids that are never reused, and consists of [a-z0-9/], so that
// every backend reads it alike.
func BlobKey(store, blob ID) string {
	return string(store) + "/" + string(blob[len(blob)-3:len(blob)-1]) + "/" + string(blob)
}

// ParseBlobKey is the inverse of BlobKey for the given store. ok is false for every key not
// exactly of that form: such keys are foreign.
func ParseBlobKey(store ID, key string) (blob ID, ok bool) {
	rest, found := strings.CutPrefix(key, string(store)+"/")
	if !found || len(rest) != 2+1+idLen {
		return "", false
	}
	id, err := ParseID(rest[3:])
	if err != nil || BlobKey(store, id) != key {
		return "", false
	}
	return id, true
}
