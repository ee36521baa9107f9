package plan

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// Version is the format version. A file is lines of JSON: a Header, Items, and last
// an End with the digest of all lines before it.
const Version = 1

// maxLine bounds a line in bytes; lifecycle rules are the longest that one holds.
const maxLine = 2 << 20

// Header identifies the plan and its ledger.
type Header struct {
	Version int       `json:"lethe_plan"`
	Store   string    `json:"store"`
	Ledger  string    `json:"ledger"` // identity of the database; another one after a restore
	At      time.Time `json:"at"`     // by the ledger's clock
	Command string    `json:"command"`
	By      string    `json:"by,omitempty"` // version of the program
}

// End holds the totals of the plan. SHA256 is that of all bytes before the line,
// and of the line without the digest.
type End struct {
	End       bool       `json:"end"`
	Totals    Totals     `json:"totals"`
	Estimates []Estimate `json:"estimates"`
	SHA256    string     `json:"sha256"`
}

// Errors of a file that is not a plan, or was changed.
var (
	ErrFormat  = errors.New("this is not a plan")
	ErrAltered = errors.New("the plan was changed or cut off after it was written: make a new one")
)

// Writer writes a plan.
type Writer struct {
	w      *bufio.Writer
	sum    hash.Hash
	totals Totals
}

// NewWriter begins a plan.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	sum := sha256.New()
	out := &Writer{w: bufio.NewWriter(w), sum: sum}
	h.Version = Version
	return out, out.line(h)
}

func (w *Writer) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if len(text) > maxLine {
		return fmt.Errorf("a line of a plan has %d bytes, at most %d", len(text), maxLine)
	}
	w.sum.Write(text)
	_, err = w.w.Write(text)
	return err
}

// Add writes an item.
func (w *Writer) Add(i Item) error {
	if err := i.check(); err != nil {
		return err
	}
	w.totals.Add(i)
	return w.line(i)
}

// Totals returns the totals of the items added so far.
func (w *Writer) Totals() *Totals { return &w.totals }

// Close ends the plan; the estimates belong to its totals.
func (w *Writer) Close(estimates []Estimate) (End, error) {
	end := End{End: true, Totals: w.totals, Estimates: estimates}
	digest, err := end.digest(w.sum)
	if err != nil {
		return end, err
	}
	end.SHA256 = digest
	if err := w.line(end); err != nil {
		return end, err
	}
	return end, w.w.Flush()
}

// failure ends a plan that could not be made.
type failure struct {
	Failed string `json:"failed"`
}

// Fail ends a plan that could not be made, and records why for its readers.
func (w *Writer) Fail(why error) error {
	if err := w.line(failure{why.Error()}); err != nil {
		return err
	}
	return w.w.Flush()
}

func failed(text []byte) error {
	var f failure
	if err := strict(text, &f); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return fmt.Errorf("the plan could not be made: %s", f.Failed)
}

// digest adds the line without its digest to the sum of the lines before it.
func (e End) digest(sum hash.Hash) (string, error) {
	e.SHA256 = ""
	text, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Reader reads a plan. What it has read is certain only once Next has returned
// io.EOF: read a plan to its end (Check) before acting on any of it.
type Reader struct {
	Header Header
	End    End // once Next has returned io.EOF
	in     *bufio.Reader
	sum    hash.Hash
	totals Totals
	n      int
}

// NewReader reads a plan's header: ErrFormat.
func NewReader(r io.Reader) (*Reader, error) {
	out := &Reader{in: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
	text, err := out.line()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: it has no whole line", ErrFormat)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	case strict(text, &out.Header) != nil: // in the words of the parser, which help nobody
		return nil, fmt.Errorf("%w: a plan begins with {\"lethe_plan\":1,", ErrFormat)
	}
	if out.Header.Version != Version {
		return nil, fmt.Errorf("%w that this program knows: its format is %d, not %d", ErrFormat, out.Header.Version, Version)
	}
	out.sum.Write(text)
	return out, nil
}

// line reads one line with its end: io.ErrUnexpectedEOF if the file ends before.
func (r *Reader) line() ([]byte, error) {
	r.n++
	var out []byte
	for {
		part, err := r.in.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case err == nil:
			return out, nil
		case len(out) > maxLine:
			return nil, fmt.Errorf("line %d is longer than %d bytes", r.n, maxLine)
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// strict decodes one value, and nothing else, into known fields.
func strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(v); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the line is empty, or ends within a value") // not the plan's end
	case err != nil:
		return err
	}
	if d.More() {
		return errors.New("more than one value on a line")
	}
	return nil
}

// Next reads the next item: io.EOF after the last one of a whole plan; ErrAltered,
// ErrFormat.
func (r *Reader) Next() (Item, error) {
	if r.End.End {
		return Item{}, io.EOF
	}
	text, err := r.line()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return Item{}, fmt.Errorf("%w (it ends at line %d)", ErrAltered, r.n)
	}
	if err != nil {
		return Item{}, err
	}
	switch {
	case bytes.HasPrefix(text, []byte(`{"end":`)):
		return Item{}, r.finish(text)
	case bytes.HasPrefix(text, []byte(`{"failed":`)):
		return Item{}, failed(text)
	}
	var i Item
	if err = strict(text, &i); err == nil {
		err = i.check()
	}
	if err != nil {
		return Item{}, fmt.Errorf("%w: line %d: %w", ErrFormat, r.n, err)
	}
	r.sum.Write(text)
	r.totals.Add(i)
	return i, nil
}

func (r *Reader) finish(text []byte) error {
	var end End
	if err := strict(text, &end); err != nil {
		return fmt.Errorf("%w: line %d: %w", ErrFormat, r.n, err)
	}
	want, err := end.digest(r.sum)
	if err != nil {
		return err
	}
	end.End = true
	if _, more := r.in.ReadByte(); want != end.SHA256 || more == nil || end.Totals.Items != r.totals.Items || end.Totals.Stays != r.totals.Stays {
		return ErrAltered
	}
	r.End = end
	return io.EOF
}

// Check reads a plan to its end and reports whether it is whole.
func Check(r io.Reader) (Header, End, error) {
	in, err := NewReader(r)
	if err != nil {
		return Header{}, End{}, err
	}
	for {
		if _, err := in.Next(); errors.Is(err, io.EOF) {
			return in.Header, in.End, nil
		} else if err != nil {
			return in.Header, End{}, err
		}
	}
}
