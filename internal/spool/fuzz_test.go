package spool

import (
	"bufio"
	"bytes"
	"testing"
)

// FuzzParse: whatever lies in a file, reading it ends, answers only what was
// written as an entry, and accounts for every line.
func FuzzParse(f *testing.F) {
	line, err := encode(Entry{Stage: "commit", Blob: "b", Size: 7})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add(append(bytes.Clone(line), line[:9]...))
	f.Add([]byte("00000000 {}\n\n\nx"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, bad, err := parse(bufio.NewReaderSize(bytes.NewReader(text), maxEntry))
		if err != nil {
			t.Fatal(err)
		}
		lines := int64(bytes.Count(text, []byte("\n")))
		if int64(len(out))+bad.corrupt+bad.torn > lines+1 || bad.torn > 1 || int64(len(out))+bad.corrupt < lines {
			t.Fatalf("%d entries, %+v of %d lines", len(out), bad, lines)
		}
		for _, e := range out {
			if _, err := encode(e); err != nil {
				t.Fatal(err)
			}
		}
	})
}
