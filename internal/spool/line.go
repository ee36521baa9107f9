package spool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode writes an entry as a line.
func encode(e Entry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
	if len(line) >= maxEntry {
		return nil, fmt.Errorf("an entry has %d bytes, at most %d", len(line), maxEntry)
	}
	return line, nil
}

// errLine: a line is not what encode writes.
var errLine = errors.New("corrupt line")

// decode reads a line without its end.
func decode(line []byte) (e Entry, err error) {
	sum, text, found := bytes.Cut(line, []byte(" "))
	if !found || len(sum) != 8 {
		return e, errLine
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || uint32(want) != crc32.Checksum(text, castagnoli) {
		return e, errLine
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, errLine
	}
	return e, nil
}

// parse reads lines to their end. The last one without an end was torn; of others
// that cannot be read nothing is known but that they are there.
func parse(r *bufio.Reader) (out []Entry, bad damage, err error) {
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			bad.corrupt++
			if err := skip(r); err != nil {
				return out, bad, ignoreEOF(err)
			}
			continue
		case errors.Is(err, io.EOF):
			if len(line) > 0 {
				bad.torn++
			}
			return out, bad, nil
		case err != nil:
			return out, bad, err
		}
		e, err := decode(line[:len(line)-1])
		if err != nil {
			bad.corrupt++
			continue
		}
		out = append(out, e)
	}
}

// skip reads on to the end of a line that is too long.
func skip(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
