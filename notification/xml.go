package notification

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// namespace is that of S3's documents.
const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// Limits of S3's.
const (
	maxRules  = 100
	maxFilter = 1024 // bytes of a prefix or suffix
)

// Error is a configuration that is refused, with S3's code.
type Error struct{ Code, Message string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

func malformed(format string, args ...any) error {
	return &Error{Code: "MalformedXML", Message: "The notification configuration is not valid: " + fmt.Sprintf(format, args...) + "."}
}

func invalid(format string, args ...any) error {
	return &Error{Code: "InvalidArgument", Message: fmt.Sprintf(format, args...)}
}

// ARN returns the name of a target in S3's form.
func ARN(target string) string { return arnBegin + target + arnEnd }

const arnBegin, arnEnd = "arn:lethe:sqs::", ":webhook"

// document is S3's NotificationConfiguration.
type document struct {
	XMLName xml.Name `xml:"NotificationConfiguration"`
	Space   string   `xml:"xmlns,attr,omitempty"`
	Queues  []queue  `xml:"QueueConfiguration"`
	Others  []other  `xml:",any"`
}

type queue struct {
	ID     string   `xml:"Id"`
	Queue  []string `xml:"Queue"`
	Events []string `xml:"Event"`
	Filter *filter  `xml:"Filter"`
	Others []other  `xml:",any"`
}

type filter struct {
	Rules  []filterRule `xml:"S3Key>FilterRule"`
	Others []other      `xml:",any"`
}

type filterRule struct {
	Name  string `xml:"Name"`
	Value string `xml:"Value"`
}

type other struct{ XMLName xml.Name }

// ErrNoTarget and ErrNotAllowed say why a bucket may not use a target.
var (
	ErrNoTarget   = errors.New("targets are named by the setting events.targets")
	ErrNotAllowed = errors.New("the setting buckets of the target does not name this bucket")
)

// Parse reads a NotificationConfiguration and checks it: *Error. mayUse returns ErrNoTarget or
// ErrNotAllowed of a target that the bucket may not use.
func Parse(body []byte, mayUse func(target string) error) (Rules, error) {
	var doc document
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&doc); err != nil {
		return nil, malformed("it is not a NotificationConfiguration in XML")
	}
	if err := ended(d); err != nil {
		return nil, err
	}
	for _, o := range doc.Others {
		return nil, unserved(o.XMLName.Local)
	}
	if len(doc.Queues) > maxRules {
		return nil, invalid("A bucket has at most %d notification configurations.", maxRules)
	}
	var rs Rules
	for i := range doc.Queues {
		r, err := doc.Queues[i].rule(mayUse)
		if err != nil {
			return nil, err
		}
		r.ID = cmp.Or(r.ID, fmt.Sprintf("lethe-%d", i+1))
		for j := range rs {
			switch {
			case rs[j].ID == r.ID:
				return nil, invalid("Two configurations have the Id %q.", r.ID)
			case rs[j].overlaps(&r):
				return nil, invalid("The configurations %q and %q overlap: one event of one key would match both. Give them other events, prefixes or suffixes.", rs[j].ID, r.ID)
			}
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// ended refuses what follows the root, except for white space and comments.
func ended(d *xml.Decoder) error {
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		text, isText := token.(xml.CharData)
		if _, isComment := token.(xml.Comment); err != nil || !isComment && !(isText && len(bytes.TrimSpace(text)) == 0) {
			return malformed("something follows its root")
		}
	}
}

// unserved refuses a kind of configuration.
func unserved(element string) error {
	what := map[string]string{
		"TopicConfiguration": "topics (SNS)", "CloudFunctionConfiguration": "functions (Lambda)", "EventBridgeConfiguration": "EventBridge",
	}[element]
	if what == "" {
		return malformed("the element %s is not known", element)
	}
	return &Error{Code: "NotImplemented", Message: fmt.Sprintf("Events are not sent to %s. Use a QueueConfiguration whose Queue is %s, with a target of the setting events.targets.", what, ARN("NAME"))}
}

// rule checks one configuration.
func (q *queue) rule(mayUse func(string) error) (Rule, error) {
	r := Rule{ID: q.ID, Events: q.Events}
	for _, o := range q.Others {
		return r, malformed("the element %s is not known", o.XMLName.Local)
	}
	if len(q.ID) > 255 {
		return r, invalid("An Id has at most 255 bytes.")
	}
	if len(q.Queue) != 1 {
		return r, malformed("a QueueConfiguration has one Queue, not %d", len(q.Queue))
	}
	begun, ok := strings.CutPrefix(q.Queue[0], arnBegin)
	name, ended := strings.CutSuffix(begun, arnEnd)
	if !ok || !ended || name == "" {
		return r, invalid("The ARN %q does not have the form %s.", q.Queue[0], ARN("NAME"))
	}
	switch err := mayUse(name); {
	case errors.Is(err, ErrNotAllowed):
		return r, invalid("This bucket may not use the target %q: %v.", name, err)
	case err != nil:
		return r, invalid("There is no target %q: %v.", name, err)
	case len(q.Events) == 0:
		return r, malformed("a QueueConfiguration has no Event")
	}
	r.Target = name
	for i, event := range q.Events {
		if len(kindsOf(event)) == 0 {
			return r, invalid("The event %q is not sent by this store. It sends s3:%s, and * after ObjectCreated:, ObjectRemoved: and LifecycleExpiration:.", event, joined())
		}
		if slices.Contains(q.Events[:i], event) {
			return r, invalid("The event %q is named twice in one configuration.", event)
		}
	}
	return r, r.filter(q.Filter)
}

func joined() string {
	names := make([]string, len(Kinds))
	for i, k := range Kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", s3:")
}

// filter sets prefix and suffix.
func (r *Rule) filter(f *filter) error {
	if f == nil {
		return nil
	}
	for _, o := range f.Others {
		return malformed("the element %s is not known in a Filter", o.XMLName.Local)
	}
	seen := map[string]bool{}
	for _, rule := range f.Rules {
		name := strings.ToLower(rule.Name)
		switch {
		case name != "prefix" && name != "suffix":
			return invalid("The name of a filter rule is prefix or suffix, not %q.", rule.Name)
		case seen[name]:
			return invalid("A filter has one %s at most.", name)
		case len(rule.Value) > maxFilter:
			return invalid("A %s has at most %d bytes.", name, maxFilter)
		case name == "prefix":
			r.Prefix = rule.Value
		default:
			r.Suffix = rule.Value
		}
		seen[name] = true
	}
	return nil
}

// XML returns the rules as S3's NotificationConfiguration.
func (rs Rules) XML() []byte {
	doc := document{Space: namespace}
	for _, r := range rs {
		q := queue{ID: r.ID, Queue: []string{ARN(r.Target)}, Events: r.Events}
		if r.Prefix != "" || r.Suffix != "" {
			q.Filter = &filter{}
			for _, f := range []filterRule{{"Prefix", r.Prefix}, {"Suffix", r.Suffix}} {
				if f.Value != "" {
					q.Filter.Rules = append(q.Filter.Rules, f)
				}
			}
		}
		doc.Queues = append(doc.Queues, q)
	}
	out, _ := xml.Marshal(doc) // strings only
	return append([]byte(xml.Header), out...)
}
