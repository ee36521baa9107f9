package s3

import "io"

// trailing reads a body in signed chunks and leaves the line feeds out of its trailer
// that stand alone. The trailer's line ends in one where it is signed, and MinIO's
// clients send it so, before the line's end; versitygw's reader would take it for a
// part of the checksum.
type trailing struct {
	r     io.Reader
	left  int64 // bytes of a chunk to come, with the line's end behind them
	size  int64 // of the next chunk, as far as its header was read
	sized bool  // the size was read, and the chunk's signature follows
	over  bool  // the last chunk's header was read, and the trailer follows
	last  byte  // of the trailer
}

// Read implements io.Reader.
func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	at := 0
	for at < n && !t.over {
		at += t.chunk(p[at:n])
	}
	return at + t.trailer(p[at:n]), err
}

// chunk passes what a chunk has of p, or one byte of its header.
func (t *trailing) chunk(p []byte) int {
	if t.left > 0 {
		n := min(t.left, int64(len(p)))
		t.left -= n
		return int(n)
	}
	switch c := p[0]; {
	case c == '\n':
		t.over = t.size == 0
		t.left = t.size + int64(len("\r\n"))
		t.size, t.sized = 0, false
	case c == ';':
		t.sized = true
	case !t.sized:
		t.size = t.size<<4 | digit(c)
	}
	return 1
}

// digit reads a hexadecimal digit; versitygw's reader refuses what is none.
func digit(c byte) int64 {
	if c >= 'A' {
		return int64(c|0x20-'a') + 10
	}
	return int64(c - '0')
}

// trailer moves the bytes together that stay of p, and counts them.
func (t *trailing) trailer(p []byte) (n int) {
	for _, c := range p {
		if c != '\n' || t.last == '\r' {
			p[n] = c
			n++
		}
		t.last = c
	}
	return n
}
