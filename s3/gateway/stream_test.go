package gateway_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	hashcrc "hash/crc32"
	"hash/crc64"
	"io"
	"math/bits"
	"net/http"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

// trailed is a body in chunks with a checksum in the trailer, as a client sends
// it, whose parts tests may corrupt.
type trailed struct {
	payload  string // x-amz-content-sha256
	announce string // x-amz-trailer
	name     string // of the checksum, in the body
	value    string // of the checksum
	length   int    // x-amz-decoded-content-length
	feed     string // before the end of the checksum's line
	// signature changes the trailer's signature, and end everything after the
	// last chunk.
	signature func(string) string
	end       func(string) string
	chunk     func(i int, frame []byte) []byte
}

const (
	signedTrailer   = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
	unsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

func crc(b []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, hashcrc.ChecksumIEEE(b)))
}

func newTrailed(payload string, data [][]byte) trailed {
	whole := bytes.Join(data, nil)
	same := func(s string) string { return s }
	return trailed{
		payload: payload, announce: "x-amz-checksum-crc32", name: "x-amz-checksum-crc32", value: crc(whole), length: len(whole),
		signature: same, end: same, chunk: func(_ int, frame []byte) []byte { return frame },
	}
}

// body signs the chunks and the trailer of a request.
func (b trailed) body(r *http.Request, data [][]byte) []byte {
	var out bytes.Buffer
	previous, date := seed(r), r.Header.Get("X-Amz-Date")
	for i, d := range append(data[:len(data):len(data)], nil) {
		frame := fmt.Appendf(nil, "%x\r\n%s\r\n", len(d), d)
		if b.payload == signedTrailer {
			frame, previous = chunk(r, root.Secret, previous, d)
		}
		if len(d) == 0 {
			frame = frame[:len(frame)-2] // the trailer follows directly
		}
		out.Write(b.chunk(i, frame))
	}
	line := b.name + ":" + b.value
	end := line + b.feed + "\r\n"
	if b.payload == signedTrailer {
		text := "AWS4-HMAC-SHA256-TRAILER\n" + date + "\n" + scope(date) + "\n" + previous + "\n" + sum([]byte(line+"\n"))
		end += "x-amz-trailer-signature:" + b.signature(hex.EncodeToString(mac(signingKey(root.Secret, date), text))) + "\r\n"
	}
	out.WriteString(b.end(end + "\r\n"))
	return out.Bytes()
}

// sendTrailed puts data with a key, in pieces of n bytes (0 for one): each
// piece is a chunk of the transfer encoding, which the server reads separately.
func (s *site) sendTrailed(key string, data [][]byte, b trailed, piece int) (int, string) {
	s.t.Helper()
	r := s.raw(http.MethodPut, "/"+key, nil)
	r.Header.Set("X-Amz-Decoded-Content-Length", itoa(b.length))
	r.Header.Set("Content-Encoding", "aws-chunked")
	if b.announce != "" {
		r.Header.Set("X-Amz-Trailer", b.announce)
	}
	r = signed(r, root, b.payload)
	body := b.body(r, data)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if piece > 0 {
		r.Body, r.ContentLength = io.NopCloser(pieces{bytes.NewReader(body), piece}), -1
	}
	status, _, answer := s.send(r)
	return status, answer
}

// pieces reads n bytes at a time.
type pieces struct {
	r    io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.size)]) }

// spoilt are corruptions of bodies that differ from what was signed or
// declared.
var spoilt = map[string]func(*trailed){
	"another checksum":          func(b *trailed) { b.value = crc([]byte("another")) },
	"no checksum":               func(b *trailed) { b.value = "" },
	"nonsense for a checksum":   func(b *trailed) { b.value = "nonsense" },
	"the name of another":       func(b *trailed) { b.name = "x-amz-checksum-crc32c" },
	"another is announced":      func(b *trailed) { b.announce = "x-amz-checksum-sha256" },
	"no trailer":                func(b *trailed) { b.end = func(string) string { return "\r\n" } },
	"nothing behind the chunks": func(b *trailed) { b.end = func(string) string { return "" } },
	"cut off in the trailer":    func(b *trailed) { b.end = func(s string) string { return s[:len(s)/2] } },
	"one byte too few":          func(b *trailed) { b.length-- },
	"one byte too many":         func(b *trailed) { b.length++ },
	"ends with the data": func(b *trailed) {
		b.chunk, b.end = endsEarly(func(f []byte) []byte { return f[:len(f)-2] })
	},
	"ends with other data": func(b *trailed) {
		b.chunk, b.end = endsEarly(func(f []byte) []byte { return flipped(f, len(f)-3)[:len(f)-2] })
	},
	"ends behind the data": func(b *trailed) {
		b.chunk, b.end = endsEarly(func(f []byte) []byte { return f })
	},
	"no last chunk": func(b *trailed) {
		b.chunk = replaced(2, func([]byte) []byte { return nil })
	},
	"a sign before a size": func(b *trailed) {
		b.chunk = replaced(0, func(f []byte) []byte { return append([]byte("+"), f...) })
	},
	"zeros before a size": func(b *trailed) {
		b.chunk = replaced(0, func(f []byte) []byte { return append(bytes.Repeat([]byte("0"), 20), f...) })
	},
	"a byte behind the end":    func(b *trailed) { b.end = func(s string) string { return s + "x" } },
	"a request behind the end": func(b *trailed) { b.end = func(s string) string { return s + "GET / HTTP/1.1\r\n\r\n" } },
	"an altered chunk": func(b *trailed) {
		b.chunk = replaced(0, func(f []byte) []byte { return flipped(f, len(f)-3) })
	},
}

// spoiltSignatures are those of a signed trailer.
var spoiltSignatures = map[string]func(*trailed){
	"another signature": func(b *trailed) { b.signature = func(string) string { return strings.Repeat("0", 64) } },
	"one letter of it":  func(b *trailed) { b.signature = func(s string) string { return string(flipped([]byte(s), 63)) } },
	"half a signature":  func(b *trailed) { b.signature = func(s string) string { return s[:32] } },
	"an empty one":      func(b *trailed) { b.signature = func(string) string { return "" } },
	"none": func(b *trailed) {
		b.end = func(s string) string { return s[:strings.Index(s, "x-amz-trailer-signature")] + "\r\n" }
	},
	"a checksum that was altered later": func(b *trailed) {
		b.end = func(s string) string { return strings.Replace(s, b.value, crc([]byte("another")), 1) }
	},
	"a name in other letters, altered later": func(b *trailed) {
		b.end = func(s string) string { return strings.Replace(s, "x-amz-checksum-crc32:", "X-Amz-Checksum-Crc32:", 1) }
	},
}

// endsEarly ends a body with its last chunk of data, or what f leaves of it.
func endsEarly(f func([]byte) []byte) (chunk func(int, []byte) []byte, end func(string) string) {
	return func(i int, frame []byte) []byte {
		switch i {
		case 1:
			return f(frame)
		case 2:
			return nil
		}
		return frame
	}, func(string) string { return "" }
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

func replaced(n int, f func([]byte) []byte) func(int, []byte) []byte {
	return func(i int, frame []byte) []byte {
		if i == n {
			return f(frame)
		}
		return frame
	}
}

// Hole 5: a body without its last chunk is invalid, wherever it ends: the
// signature of a chunk is checked with the next one's header.
func TestChunkedBodiesThatEndEarly(t *testing.T) {
	s := newSite(t)
	before := int(live(s))
	data := [][]byte{pattern(8 << 10), []byte("last")}
	up := s.create("up", nil)
	for name, f := range map[string]func([]byte) []byte{
		"with the data":   func(b []byte) []byte { return b[:len(b)-2] },
		"with other data": func(b []byte) []byte { return flipped(b, len(b)-3)[:len(b)-2] },
		"within the CRLF": func(b []byte) []byte { return b[:len(b)-1] },
		"behind the data": func(b []byte) []byte { return b },
	} {
		chunk, _ := endsEarly(f)
		for _, key := range []string{"bad", "up?partNumber=1&uploadId=" + up.id} {
			if status, body := s.chunks(key, data, 8<<10+4, chunk); status != 400 || !strings.Contains(body, "<Code>IncompleteBody</Code>") && name != "with other data" {
				t.Errorf("%s ends %s: %d %s", key, name, status, body)
			}
		}
	}
	s.missing("bad")
	s.leftNothing(before)
}

// A chunk's size has only digits, and nothing follows the last chunk.
func TestSecurityChunksHaveOneReading(t *testing.T) {
	s := newSite(t)
	data := [][]byte{pattern(8 << 10), []byte("last")}
	for name, chunk := range map[string]func(int, []byte) []byte{
		"a sign before a size":  replaced(1, func(f []byte) []byte { return append([]byte("+"), f...) }),
		"a byte behind the end": replaced(2, func(f []byte) []byte { return append(f, 'x') }),
		"a line behind the end": replaced(2, func(f []byte) []byte { return append(f, "x-amz-checksum-crc32:AAAAAA==\r\n\r\n"...) }),
	} {
		if status, body := s.chunks("k", data, 8<<10+4, chunk); status != 400 || !strings.Contains(body, "<Code>IncompleteBody</Code>") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	s.missing("k")
	if status, body := s.chunks("k", data, 8<<10+4, nil); status != 200 {
		t.Errorf("as it should be: %d %s", status, body)
	}
}

// A complete body of another length than declared is refused with that.
func TestChunkedBodiesOfAnotherLength(t *testing.T) {
	s := newSite(t)
	data := [][]byte{[]byte("eight by")}
	for _, length := range []int{7, 9} {
		status, body := s.chunks("k", data, length, nil)
		if status != 400 || !strings.Contains(body, "<Code>IncompleteBody</Code>") || !strings.Contains(body, "did not provide the number of bytes") {
			t.Errorf("8 bytes of %d: %d %s", length, status, body)
		}
	}
	s.missing("k")
}

// deleted deletes a key.
func (s *site) deleted(key string) error {
	_, err := s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	return err
}

// Hole 5: a trailer and its signature are verified before a byte of the body is
// visible.
func TestTrailers(t *testing.T) {
	s := newSite(t)
	data := [][]byte{pattern(8 << 10), []byte("last")}
	whole := string(bytes.Join(data, nil))
	for _, payload := range []string{signedTrailer, unsignedTrailer, signedTrailer + "\n", unsignedTrailer + "\n"} {
		payload, fed := strings.CutSuffix(payload, "\n")
		sent := newTrailed(payload, data)
		if fed {
			// As MinIO's clients send it.
			sent.feed = "\n"
		}
		if status, body := s.sendTrailed("good", data, sent, 0); status != 200 {
			t.Fatalf("%s, %q: %d %s", payload, sent.feed, status, body)
		}
		if got, _ := s.get("good"); got != whole {
			t.Errorf("%s, %q: %d bytes came back", payload, sent.feed, len(got))
		}
		before := int(live(s))
		try := func(name string, spoil func(*trailed)) {
			b := sent
			spoil(&b)
			if status, body := s.sendTrailed("bad", data, b, 0); status < 400 || status >= 500 {
				t.Errorf("%s, %q, %s: %d %s", payload, sent.feed, name, status, body)
			}
		}
		for name, spoil := range spoilt {
			try(name, spoil)
		}
		if payload == signedTrailer {
			for name, spoil := range spoiltSignatures {
				try(name, spoil)
			}
		}
		s.missing("bad")
		s.leftNothing(before)
	}
}

// An announced trailer that is an empty line is malformed, as on S3; only then
// is what follows ignored.
func TestAnEmptyTrailerIsMalformed(t *testing.T) {
	s := newSite(t)
	data := [][]byte{pattern(8 << 10), []byte("last")}
	b := newTrailed(signedTrailer, data)
	b.end = func(end string) string { return "\r\n" + end[strings.Index(end, "x-amz-trailer-signature"):] }
	if status, body := s.sendTrailed("k", data, b, 0); status != 400 || !strings.Contains(body, "<Code>MalformedTrailerError</Code>") {
		t.Errorf("%d %s", status, body)
	}
	b.end = func(end string) string { return end + "x" }
	if status, body := s.sendTrailed("k", data, b, 0); status != 400 || !strings.Contains(body, "<Code>IncompleteBody</Code>") {
		t.Errorf("a byte behind it: %d %s", status, body)
	}
	s.missing("k")
}

// Hole 5: the pieces in which a body arrives do not matter: a chunk's header,
// its signature and the trailer may span several.
func TestChunkHeadersInPieces(t *testing.T) {
	s := newSite(t)
	data := [][]byte{pattern(8 << 10), []byte("last")}
	whole := string(bytes.Join(data, nil))
	for _, payload := range []string{signedTrailer, unsignedTrailer} {
		for _, size := range []int{1, 2, 3, 5, 7, 13, 29, 43, 61, 83, 89, 97, 8193, 8203, 8279, 8281, 8283} {
			good, bad := newTrailed(payload, data), newTrailed(payload, data)
			good.feed = "\n"
			if status, body := s.sendTrailed("good", data, good, size); status != 200 {
				t.Errorf("%s in pieces of %d: %d %s", payload, size, status, body)
				continue
			}
			if got, _ := s.get("good"); got != whole {
				t.Errorf("%s in pieces of %d: %d bytes came back", payload, size, len(got))
			}
			s.must(s.deleted("good"))
			bad.chunk = replaced(1, func(f []byte) []byte { return flipped(f, len(f)-3) })
			if status, body := s.sendTrailed("bad", data, bad, size); status < 400 || status >= 500 {
				t.Errorf("%s, altered, in pieces of %d: %d %s", payload, size, status, body)
			}
		}
	}
	s.missing("bad")
}

// U15: a checksum of every algorithm is accepted in a trailer, of objects and
// of parts, with any line end; a wrong one is refused.
func TestTrailersOfEveryAlgorithm(t *testing.T) {
	s := newSite(t)
	up := s.create("up", nil)
	data := [][]byte{pattern(64 << 10), pattern(64 << 10), []byte("last")}
	for name, h := range map[string]hash.Hash{
		"crc32": hashcrc.NewIEEE(), "crc32c": hashcrc.New(hashcrc.MakeTable(hashcrc.Castagnoli)),
		"crc64nvme": crc64.New(crc64.MakeTable(bits.Reverse64(0xad93d23594c93659))),
		"sha1":      sha1.New(), "sha256": sha256.New(), "sha512": sha512.New(), "md5": md5.New(),
	} {
		h.Write(bytes.Join(data, nil))
		right := base64.StdEncoding.EncodeToString(h.Sum(nil))
		h.Write([]byte("more"))
		wrong := base64.StdEncoding.EncodeToString(h.Sum(nil))
		for _, payload := range []string{signedTrailer, unsignedTrailer} {
			for _, feed := range []string{"", "\n"} {
				b := newTrailed(payload, data)
				b.announce, b.name, b.feed = "x-amz-checksum-"+name, "x-amz-checksum-"+name, feed
				for _, key := range []string{"k", "up?partNumber=1&uploadId=" + up.id} {
					b.value = right
					if status, body := s.sendTrailed(key, data, b, 0); status != 200 {
						t.Errorf("%s of %s, %s, %q: %d %s", name, key, payload, feed, status, body)
					}
					b.value = wrong
					if status, body := s.sendTrailed(key, data, b, 0); status != 400 || !strings.Contains(body, "<Code>BadDigest</Code>") {
						t.Errorf("a wrong %s of %s, %s, %q: %d %s", name, key, payload, feed, status, body)
					}
				}
				s.must(s.deleted("k"))
			}
		}
	}
}
