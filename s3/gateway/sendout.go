package gateway

import (
	"errors"
	"io"
	"sync"
)

// sendBytes is the unit in which bodies are sent. By default the server copies
// them through its buffer for headers, in 4 KiB.
const sendBytes = 128 << 10

var sendBuffers = sync.Pool{New: func() any { return new([sendBytes]byte) }}

// WriteTo implements io.WriterTo, which the server prefers over Read.
func (s *servedBody) WriteTo(w io.Writer) (written int64, err error) {
	buf := sendBuffers.Get().(*[sendBytes]byte)
	defer sendBuffers.Put(buf)
	for {
		n, err := s.Read(buf[:])
		if n > 0 {
			sent, werr := w.Write(buf[:n])
			written += int64(sent)
			if werr != nil {
				return written, werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return written, nil
		case err != nil:
			return written, err
		}
	}
}
