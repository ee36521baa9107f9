package gateway

import (
	"errors"
	"io"

	"github.com/versity/versitygw/s3err"
)

// chunked reads an aws-chunked body and refuses what versitygw's readers
// accept: a size with other characters than hexadecimal digits, and bytes after
// the last chunk.
//
// With feeds set, it drops line feeds that stand alone in the trailer. MinIO's
// clients end a signed trailer with one before the line's end, and versitygw's
// reader would take it for a part of the checksum.
type chunked struct {
	r       io.Reader
	trailer bool // a trailer may follow the last chunk
	feeds   bool

	left   int64 // remaining bytes of a chunk, with its line end
	size   int64 // of the next chunk, as far as it was read
	digits int   // of the size
	sized  bool  // the size was read, and the chunk's signature follows
	over   bool  // the last chunk's header was read, and the trailer follows
	line   int   // bytes of the trailer's line so far
	lines  int   // of the trailer
	ended  bool  // nothing may follow
	bad    bool  // invalid body
	last   byte  // of a header or the trailer
}

// maxDigits bounds the digits of a chunk's size.
const maxDigits = 15

// Read implements io.Reader.
func (c *chunked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	at := 0
	for at < n && !c.over && !c.bad {
		at += c.chunk(p[at:n])
	}
	n = at + c.trailing(p[at:n])
	if c.ended && !c.bad && err == nil {
		err = c.end()
	}
	switch {
	case c.bad && c.ended && c.trailer && c.lines == 0:
		return 0, s3err.GetAPIError(s3err.ErrMalformedTrailer)
	case c.bad:
		return 0, s3err.GetAPIError(s3err.ErrIncompleteBody)
	}
	return n, err
}

// end reports an error unless the body ended with its last chunk.
func (c *chunked) end() error {
	var behind [1]byte
	n, err := io.ReadFull(c.r, behind[:])
	c.bad = n > 0
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// chunk consumes bytes of a chunk from p, or one byte of its header.
func (c *chunked) chunk(p []byte) int {
	if c.left > 0 {
		n := min(c.left, int64(len(p)))
		c.left -= n
		return int(n)
	}
	switch b := p[0]; {
	case b == '\n':
		c.bad = c.last != '\r'
		c.over = c.size == 0
		c.left = c.size + int64(len("\r\n"))
		c.size, c.digits, c.sized = 0, 0, false
	case b == ';' || b == '\r':
		c.bad = c.digits == 0
		c.sized = true
	case !c.sized:
		digit, ok := hexadecimal(b)
		c.size = c.size<<4 | digit
		c.digits++
		c.bad = !ok || c.digits > maxDigits
	}
	c.last = p[0]
	return 1
}

func hexadecimal(b byte) (digit int64, ok bool) {
	switch {
	case '0' <= b && b <= '9':
		return int64(b - '0'), true
	case 'a' <= b|0x20 && b|0x20 <= 'f':
		return int64(b|0x20-'a') + 10, true
	}
	return 0, false
}

// trailing moves the bytes of p that are kept to its front, and returns their
// number.
func (c *chunked) trailing(p []byte) (n int) {
	for _, b := range p {
		ends := b == '\n' && c.last == '\r'
		switch {
		case c.ended || ends && c.line > 0 && !c.trailer:
			c.bad = true
		case ends && c.line == 0:
			c.ended = true
		case ends:
			c.lines++
			c.line = 0
		case b != '\r':
			c.line++
		}
		if b != '\n' || ends || !c.feeds {
			p[n] = b
			n++
		}
		c.last = b
	}
	return n
}
