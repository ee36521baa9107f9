package receipt

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/lethe-storage/lethe"
)

const (
	// plainBelow is the size in bytes below which compression saves nothing.
	plainBelow = 512
	// pageSize is the least bytes of text in a page, except the last: a look-up reads one
	// page.
	pageSize = 64 << 10
	// maxText bounds the unpacked size of a body: a page, or the receipts of one
	// transaction.
	maxText = 64 << 20
)

// codec compresses and unpacks bodies; it is created at its first use.
var codec = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	enc, encErr := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	dec, decErr := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxText))
	if encErr != nil || decErr != nil {
		panic(fmt.Sprintf("receipt: zstd refuses fixed options: %v, %v", encErr, decErr))
	}
	return enc, dec
})

// Encode returns receipts as one body, in their order: lines of JSON, compressed if they are
// large.
func Encode(list []Receipt) ([]byte, error) {
	var text []byte
	for i := range list {
		var err error
		if text, err = list[i].appendLine(text); err != nil {
			return nil, err
		}
	}
	return pack(text), nil
}

func pack(text []byte) []byte {
	if len(text) < plainBelow {
		return text
	}
	enc, _ := codec()
	return enc.EncodeAll(text, nil)
}

// unpack is the inverse of pack. Lines of JSON begin with a brace, zstd does not.
func unpack(body []byte) ([]byte, error) {
	if len(body) == 0 || body[0] == '{' {
		return body, nil
	}
	_, dec := codec()
	text, err := dec.DecodeAll(body, nil)
	if err != nil {
		return nil, fmt.Errorf("receipt: unpack %d bytes: %w (%w)", len(body), lethe.ErrCorrupt, err)
	}
	return text, nil
}

// Decode returns the receipts of a body: ErrCorrupt.
func Decode(body []byte) ([]Receipt, error) {
	text, err := unpack(body)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// Search returns the receipts of one name in a page's body: ErrCorrupt for an unreadable
// line. It reads few lines, as they are sorted by name.
func Search(body []byte, name Name) ([]Receipt, error) {
	text, err := unpack(body)
	if err != nil {
		return nil, err
	}
	lines := slices.Collect(bytes.Lines(text))
	read := func(line []byte) (r Receipt) {
		if e := json.Unmarshal(line, &r); e != nil && err == nil {
			err = fmt.Errorf("receipt: %w (%w)", lethe.ErrCorrupt, e)
		}
		return r
	}
	at, _ := slices.BinarySearchFunc(lines, name, func(line []byte, name Name) int {
		r := read(line)
		return cmp.Compare(r.Name(), name)
	})
	var out []Receipt
	for _, line := range lines[at:] {
		r := read(line)
		if r.Name() != name {
			break
		}
		out = append(out, r)
	}
	return out, err
}

func parse(text []byte) ([]Receipt, error) {
	var out []Receipt
	for line := range bytes.Lines(text) {
		var r Receipt
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("receipt: %w (%w)", lethe.ErrCorrupt, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Page is a part of a segment: receipts sorted by name.
type Page struct {
	Number int  // from 0
	Lowest Name // of the first receipt
	Count  int
	Body   []byte
}

// text returns the page's text: ErrCorrupt if it contradicts the page's numbers, by which it
// is looked up.
func (p Page) text() ([]byte, error) {
	text, err := unpack(p.Body)
	if err != nil {
		return nil, err
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	list, err := parse(first)
	if err == nil && (len(list) != 1 || list[0].Name() != p.Lowest || bytes.Count(text, []byte("\n")) != p.Count) {
		err = fmt.Errorf("receipt: page %d does not match its numbers: %w", p.Number, lethe.ErrCorrupt)
	}
	return text, err
}

// named is a line with the name by which it is looked up.
type named struct {
	name Name
	line []byte
}

// lines returns receipts in their stored form, sorted by name.
func lines(batches []Batch) ([]named, error) {
	n := 0
	for _, b := range batches {
		n += len(b.Receipts)
	}
	out := make([]named, 0, n)
	for _, b := range batches {
		for i := range b.Receipts {
			line, err := b.Receipts[i].line()
			if err != nil {
				return nil, err
			}
			out = append(out, named{b.Receipts[i].Name(), line})
		}
	}
	slices.SortStableFunc(out, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.name, b.name), bytes.Compare(a.line, b.line))
	})
	return out, nil
}

// pages cuts lines into pages, and returns the digest of their whole text.
func pages(list []named) ([]Page, string) {
	var out []Page
	var text []byte
	h := sha256.New()
	for len(list) > 0 {
		p := Page{Number: len(out), Lowest: list[0].name}
		text = text[:0]
		for len(list) > 0 && len(text) < pageSize {
			text, list = append(text, list[0].line...), list[1:]
			p.Count++
		}
		h.Write(text)
		if p.Body = pack(text); len(text) < plainBelow {
			p.Body = bytes.Clone(text)
		}
		out = append(out, p)
	}
	return out, hex.EncodeToString(h.Sum(nil))
}
