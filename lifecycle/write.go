package lifecycle

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// namespace of S3's documents.
const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// XML returns the rules in S3's form.
func (rs Rules) XML() []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	b.WriteString(`<` + rootName + ` xmlns="` + namespace + `">`)
	root := rs.tree()
	for _, r := range root.children {
		r.xml(&b)
	}
	b.WriteString(`</` + rootName + `>`)
	return b.Bytes()
}

func (n *node) xml(b *bytes.Buffer) {
	b.WriteString("<" + n.name + ">")
	// Writing to a buffer cannot fail.
	_ = xml.EscapeText(b, []byte(n.text))
	for i := range n.children {
		n.children[i].xml(b)
	}
	b.WriteString("</" + n.name + ">")
}

// JSON returns the rules in the form of the aws command line.
func (rs Rules) JSON() ([]byte, error) {
	root := rs.tree()
	return json.MarshalIndent(root.plain(), "", "  ")
}

// numbers are the elements whose values are numbers in JSON.
var numbers = []string{"Days", "DaysAfterInitiation", "ObjectSizeGreaterThan", "ObjectSizeLessThan"}

// holders are the elements that are objects in JSON, even if empty.
var holders = []string{rootName, "Rule", "Filter"}

// plain returns the node as a value for encoding/json.
func (n *node) plain() any {
	if len(n.children) == 0 && !slices.Contains(holders, n.name) {
		if slices.Contains(numbers, n.name) {
			return json.Number(n.text)
		}
		return n.text
	}
	out := map[string]any{}
	for i := range n.children {
		c := &n.children[i]
		name := c.name
		switch {
		case name == "Rule":
			name = "Rules"
		case name == "Tag" && n.name == "And":
			name = "Tags"
		default:
			out[name] = c.plain()
			continue
		}
		list, _ := out[name].([]any)
		out[name] = append(list, c.plain())
	}
	return out
}

func element(name, text string) node { return node{name: name, text: text} }

func (rs Rules) tree() node {
	root := node{name: rootName}
	for i := range rs {
		root.children = append(root.children, rs[i].tree())
	}
	return root
}

func (r *Rule) tree() node {
	n := node{name: "Rule", children: []node{element("ID", r.ID), r.filter(), element("Status", r.Status())}}
	if r.Expires() {
		end := element("Days", strconv.Itoa(r.Days))
		if r.Date != 0 {
			end = element("Date", r.Date.Time().Format("2006-01-02T15:04:05.000Z"))
		}
		n.children = append(n.children, node{name: "Expiration", children: []node{end}})
	}
	if r.AbortDays != 0 {
		n.children = append(n.children, node{name: "AbortIncompleteMultipartUpload",
			children: []node{element("DaysAfterInitiation", strconv.Itoa(r.AbortDays))}})
	}
	return n
}

// Status returns S3's word for whether the rule is enabled.
func (r *Rule) Status() string {
	if r.Disabled {
		return "Disabled"
	}
	return "Enabled"
}

// filter returns the conditions: one by itself, several in And.
func (r *Rule) filter() node {
	conditions := r.conditions()
	switch {
	case r.Legacy && len(conditions) == 0:
		return element("Prefix", "")
	case r.Legacy && len(conditions) == 1 && r.Prefix != "":
		return conditions[0]
	case len(conditions) == 0:
		conditions = []node{element("Prefix", "")}
	case len(conditions) > 1:
		conditions = []node{{name: "And", children: conditions}}
	}
	return node{name: "Filter", children: conditions}
}

func (r *Rule) conditions() (out []node) {
	if r.Prefix != "" {
		out = append(out, element("Prefix", r.Prefix))
	}
	for _, k := range slices.Sorted(maps.Keys(r.Tags)) {
		out = append(out, node{name: "Tag", children: []node{element("Key", k), element("Value", r.Tags[k])}})
	}
	if r.Over != nil {
		out = append(out, element("ObjectSizeGreaterThan", strconv.FormatInt(*r.Over, 10)))
	}
	if r.Under != nil {
		out = append(out, element("ObjectSizeLessThan", strconv.FormatInt(*r.Under, 10)))
	}
	return out
}

// String describes the rule's effect in words.
func (r *Rule) String() string {
	var b strings.Builder
	if r.Expires() {
		b.WriteString("ends objects")
		if r.Date != 0 {
			b.WriteString(" from " + r.Date.Time().Format(time.DateOnly) + " on")
		} else {
			b.WriteString(" " + counted(int64(r.Days), "day") + " after they were modified")
		}
	}
	if r.AbortDays > 0 {
		if b.Len() > 0 {
			b.WriteString(" and ")
		}
		b.WriteString("aborts uploads " + counted(int64(r.AbortDays), "day") + " after they were begun")
	}
	b.WriteString(" under " + strconv.Quote(r.Prefix))
	for _, k := range slices.Sorted(maps.Keys(r.Tags)) {
		b.WriteString(", with tag " + k + "=" + r.Tags[k])
	}
	if r.Over != nil {
		b.WriteString(", larger than " + counted(*r.Over, "byte"))
	}
	if r.Under != nil {
		b.WriteString(", smaller than " + counted(*r.Under, "byte"))
	}
	return b.String()
}

// counted returns a number with its noun.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}
