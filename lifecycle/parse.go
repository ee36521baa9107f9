package lifecycle

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

const rootName = "LifecycleConfiguration"

// Parse reads a lifecycle configuration in the XML of S3's clients or the JSON of the aws
// command line, and completes the rules: *Error. An unsupported element is refused by name;
// none is ignored.
func Parse(body []byte) (Rules, error) {
	if len(body) > maxBody {
		return nil, malformed("it has %d bytes, at most %d are read", len(body), maxBody)
	}
	read := readXML
	if b := bytes.TrimSpace(body); len(b) > 0 && b[0] == '{' {
		read = readJSON
	}
	root, err := read(body)
	if err != nil {
		return nil, err
	}
	return root.rules()
}

func (n *node) rules() (Rules, error) {
	if n.name != rootName {
		return nil, malformed("its root is %q", n.name)
	}
	if err := n.only("Rule"); err != nil {
		return nil, err
	}
	if len(n.children) == 0 {
		return nil, malformed("it has no rules: delete it to have none")
	}
	rs := make(Rules, len(n.children))
	for i := range n.children {
		if err := n.children[i].rule(&rs[i]); err != nil {
			return nil, err
		}
	}
	return rs, rs.Complete()
}

// unsupported are S3's elements of a rule that Parse refuses.
var unsupported = []string{"Transition", "NoncurrentVersionTransition", "NoncurrentVersionExpiration"}

func (n *node) rule(r *Rule) error {
	for _, c := range n.children {
		if slices.Contains(unsupported, c.name) {
			return missing(c.name)
		}
	}
	err := n.only("", "ID", "Prefix", "Filter", "Status", "Expiration", "AbortIncompleteMultipartUpload")
	if err != nil {
		return err
	}
	prefix, filter := n.find("Prefix"), n.find("Filter")
	if (prefix == nil) == (filter == nil) {
		return malformed("a rule has either a Filter or a Prefix")
	}
	r.Legacy = prefix != nil
	return cmp.Or(
		n.each(map[string]func(*node) error{
			"ID": r.setID, "Prefix": r.setPrefix, "Filter": r.setFilter, "Status": r.setStatus,
			"Expiration": r.setExpiration, "AbortIncompleteMultipartUpload": r.setAbort,
		}),
		n.needs("Status"))
}

// each passes each child to the function of its name.
func (n *node) each(by map[string]func(*node) error) error {
	for i := range n.children {
		take := by[n.children[i].name]
		if take == nil {
			return malformed("there is %q in %s", n.children[i].name, n.name)
		}
		if err := take(&n.children[i]); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) needs(name string) error {
	if n.find(name) == nil {
		return malformed("%s has no %s", n.name, name)
	}
	return nil
}

func (r *Rule) setID(n *node) (err error) {
	r.ID, err = n.leaf()
	return err
}

func (r *Rule) setPrefix(n *node) (err error) {
	r.Prefix, err = n.leaf()
	return err
}

func (r *Rule) setStatus(n *node) error {
	status, err := n.leaf()
	if err == nil && status != "Enabled" && status != "Disabled" {
		err = malformed("Status is %q, not Enabled or Disabled", status)
	}
	r.Disabled = status == "Disabled"
	return err
}

func (r *Rule) setFilter(n *node) error {
	if err := n.only("", "Prefix", "Tag", "ObjectSizeGreaterThan", "ObjectSizeLessThan", "And"); err != nil {
		return err
	}
	if len(n.children) > 1 {
		return malformed("a Filter has one condition; several stand in And")
	}
	if strings.TrimSpace(n.text) != "" {
		return malformed("there is text in Filter")
	}
	if and := n.find("And"); and != nil {
		return r.setAnd(and)
	}
	return r.setConditions(n)
}

func (r *Rule) setAnd(n *node) error {
	if len(n.children) == 0 {
		return malformed("And has no conditions")
	}
	if err := n.only("Tag", "Prefix", "ObjectSizeGreaterThan", "ObjectSizeLessThan"); err != nil {
		return err
	}
	return r.setConditions(n)
}

func (r *Rule) setConditions(n *node) error {
	return n.each(map[string]func(*node) error{
		"Prefix": r.setPrefix, "Tag": r.addTag,
		"ObjectSizeGreaterThan": func(n *node) error { return n.size(&r.Over) },
		"ObjectSizeLessThan":    func(n *node) error { return n.size(&r.Under) },
	})
}

func (n *node) size(to **int64) error {
	s, err := n.leaf()
	if err != nil {
		return err
	}
	v, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return malformed("%s is %q, not a number of bytes", n.name, s)
	}
	*to = &v
	return nil
}

func (r *Rule) addTag(n *node) error {
	if err := cmp.Or(n.only("", "Key", "Value"), n.needs("Key"), n.needs("Value")); err != nil {
		return err
	}
	key, err := n.find("Key").leaf()
	if err != nil {
		return err
	}
	value, err := n.find("Value").leaf()
	if err != nil {
		return err
	}
	if _, twice := r.Tags[key]; twice {
		return refused("Duplicate Tag Keys are not allowed: %q.", key)
	}
	if r.Tags == nil {
		r.Tags = map[string]string{}
	}
	r.Tags[key] = value
	return nil
}

func (r *Rule) setExpiration(n *node) error {
	if err := n.only("", "Days", "Date", "ExpiredObjectDeleteMarker"); err != nil {
		return err
	}
	if m := n.find("ExpiredObjectDeleteMarker"); m != nil && strings.TrimSpace(m.text) != "false" {
		return missing("ExpiredObjectDeleteMarker")
	}
	days, date := n.find("Days"), n.find("Date")
	switch {
	case (days == nil) == (date == nil):
		return malformed("Expiration has either Days or Date")
	case days != nil:
		return days.days(&r.Days)
	}
	return date.date(&r.Date)
}

func (r *Rule) setAbort(n *node) error {
	if err := cmp.Or(n.only("", "DaysAfterInitiation"), n.needs("DaysAfterInitiation")); err != nil {
		return err
	}
	return n.find("DaysAfterInitiation").days(&r.AbortDays)
}

func (n *node) days(to *int) error {
	s, err := n.leaf()
	if err != nil {
		return err
	}
	v, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return malformed("%s is %q, not a number of days", n.name, s)
	}
	if v < 1 || v > maxDays {
		return invalid("'%s' must be a positive integer of at most %d.", n.name, maxDays)
	}
	*to = int(v)
	return nil
}

// dates are the forms of ISO 8601 that clients use.
var dates = []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly, "20060102T150405Z"}

func (n *node) date(to *lethe.Time) error {
	s, err := n.leaf()
	if err != nil {
		return err
	}
	for _, form := range dates {
		t, err := time.Parse(form, strings.TrimSpace(s))
		if err != nil {
			continue
		}
		if t.Year() > latest.Year() || !t.After(time.Unix(0, 0)) {
			return invalid("'Date' must lie between 1970 and %d.", latest.Year())
		}
		if t.Nanosecond() != 0 {
			return invalid("'Date' must be at midnight GMT.")
		}
		*to = lethe.FromTime(t)
		return nil
	}
	return malformed("Date is %q, not a date in ISO 8601", s)
}
