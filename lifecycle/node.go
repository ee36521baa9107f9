package lifecycle

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// node is an element of a configuration in XML or JSON: either text or children.
type node struct {
	name     string
	text     string
	children []node
}

// Limits on input, well above what rules need.
const (
	maxBody  = 1 << 20
	maxDepth = 6
)

// readXML parses a document strictly: one root, no directives, and no element with both text
// and children.
func readXML(body []byte) (node, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	var open []node // from the root to the current element
	var root *node
	for {
		token, err := d.Token()
		if err == io.EOF && root != nil {
			return *root, nil
		}
		if err != nil {
			return node{}, malformed("it is not one XML document")
		}
		switch t := token.(type) {
		case xml.StartElement:
			if root != nil || len(open) == maxDepth {
				return node{}, malformed("element %q is out of place", t.Name.Local)
			}
			open = append(open, node{name: t.Name.Local})
		case xml.EndElement:
			n := open[len(open)-1]
			if open = open[:len(open)-1]; len(open) == 0 {
				root = &n
			} else {
				up := &open[len(open)-1]
				up.children = append(up.children, n)
			}
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(t)
			} else if len(bytes.TrimSpace(t)) > 0 {
				return node{}, malformed("there is text outside of its root")
			}
		case xml.Directive:
			return node{}, malformed("it has a directive")
		}
	}
}

// lists maps JSON names to the XML elements that they repeat.
var lists = map[string]string{"Rules": "Rule", "Tags": "Tag", "Transitions": "Transition", "NoncurrentVersionTransitions": "NoncurrentVersionTransition"}

// readJSON parses the form that the aws command line uses.
func readJSON(body []byte) (node, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	n := node{name: rootName}
	err := n.object(d, 0)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = errors.New("there is text after its end")
		}
	}
	if err != nil {
		return n, malformed("as JSON: %v", err)
	}
	return n, nil
}

// object parses a JSON object into the node's children.
func (n *node) object(d *json.Decoder, depth int) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("%s is not an object", n.name)
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if seen[name] || depth == maxDepth {
			return fmt.Errorf("%q is out of place", name)
		}
		seen[name] = true
		if err := n.value(d, name, depth); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// value parses the value of a name: a list, an object, or a scalar.
func (n *node) value(d *json.Decoder, name string, depth int) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	if one, ok := lists[name]; ok {
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return fmt.Errorf("%s is not a list", name)
		}
		for _, item := range items {
			if err := n.child(one, item, depth); err != nil {
				return err
			}
		}
		return nil
	}
	return n.child(name, raw, depth)
}

func (n *node) child(name string, raw json.RawMessage, depth int) error {
	c := node{name: name}
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		inner := json.NewDecoder(bytes.NewReader(raw))
		inner.UseNumber()
		if err := c.object(inner, depth+1); err != nil {
			return err
		}
	case '"':
		if err := json.Unmarshal(raw, &c.text); err != nil {
			return err
		}
	case '[', 'n':
		return fmt.Errorf("%s has no valid value", name)
	default:
		c.text = string(raw)
	}
	n.children = append(n.children, c)
	return nil
}

// only refuses text beside elements, elements that are not named, and elements that occur
// twice, except repeated.
func (n *node) only(repeated string, names ...string) error {
	if len(n.children) > 0 && strings.TrimSpace(n.text) != "" {
		return malformed("there is text in %s", n.name)
	}
	seen := map[string]bool{}
	for _, c := range n.children {
		switch {
		case c.name == repeated:
		case !slices.Contains(names, c.name):
			return malformed("%s has no place in %s", c.name, n.name)
		case seen[c.name]:
			return malformed("there are two of %s in %s", c.name, n.name)
		}
		seen[c.name] = true
	}
	return nil
}

// find returns the child with the name, nil if there is none.
func (n *node) find(name string) *node {
	for i := range n.children {
		if n.children[i].name == name {
			return &n.children[i]
		}
	}
	return nil
}

// leaf returns the text of an element, or an error if it has children.
func (n *node) leaf() (string, error) {
	if len(n.children) > 0 {
		return "", malformed("%s has elements in it", n.name)
	}
	return n.text, nil
}
