package receipt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/lethe-storage/lethe"
)

// line returns the receipt's canonical form, which is stored, exported and hashed.
func (r *Receipt) line() ([]byte, error) { return r.appendLine(nil) }

// appendLine appends the canonical form: what json.Marshal writes, and a newline. Each
// deletion writes such lines, and reflection would be an eighth of its processor time.
func (r *Receipt) appendLine(b []byte) ([]byte, error) {
	if r.Collection != "" {
		return appendValue(b, r, '\n')
	}
	b = appendText(b, `{"kind":`, string(r.Kind))
	b = appendInstant(append(b, `,"at":`...), r.At)
	b = appendText(b, `,"reason":`, string(r.Reason))
	b = strconv.AppendInt(append(b, `,"size":`...), r.Size, 10)
	b = appendSome(b, `,"content":`, string(r.Content))
	b = appendSome(b, `,"bucket":`, r.Bucket)
	b = appendSome(b, `,"bucket_id":`, string(r.BucketID))
	b = appendSome(b, `,"key":`, r.Key)
	b = appendSome(b, `,"version":`, string(r.Version))
	b = appendSome(b, `,"etag":`, r.ETag)
	if r.Due != 0 {
		b = appendInstant(append(b, `,"due":`...), r.Due)
	}
	b = appendSome(b, `,"rule":`, r.Rule)
	if r.RuleNumber != 0 {
		b = strconv.AppendInt(append(b, `,"rule_number":`...), r.RuleNumber, 10)
	}
	b = appendSome(b, `,"op":`, string(r.Op))
	b = appendCaller(b, r.By)
	var err error
	if r.Trash != nil {
		b, err = appendValue(append(b, `,"trash":`...), r.Trash)
	}
	b = appendSome(b, `,"blob":`, string(r.Blob))
	b = appendSome(b, `,"backend":`, r.Backend)
	b = appendSome(b, `,"how":`, r.How)
	return append(b, '}', '\n'), err
}

func appendCaller(b []byte, c lethe.Caller) []byte {
	if c == (lethe.Caller{}) {
		return b
	}
	b = append(b, `,"by":{`...)
	first := len(b)
	b = appendSome(b, `,"key":`, c.Key)
	b = appendSome(b, `,"request":`, c.Request)
	b = appendSome(b, `,"run":`, string(c.Run))
	return append(slices.Delete(b, first, first+1), '}') // without the first comma
}

func appendInstant(b []byte, i Instant) []byte {
	return append(lethe.Time(i).Time().AppendFormat(append(b, '"'), instant), '"')
}

// appendSome appends a field that is omitted if it is empty.
func appendSome(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return appendText(b, name, text)
}

func appendText(b []byte, name, text string) []byte {
	b = append(b, name...)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // never fails for a string
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// appendValue appends a value by reflection, and what follows it.
func appendValue(b []byte, v any, then ...byte) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return b, fmt.Errorf("receipt: %w", err)
	}
	return append(append(b, text...), then...), nil
}
