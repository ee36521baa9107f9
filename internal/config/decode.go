package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFile is the largest file that is read, in bytes: many times what all keys
// with their comments take.
const maxFile = 64 << 10

// decoder walks a YAML document along the types and collects every problem with
// its place. The library's own decoder stops at the first, gives no place for
// values with a grammar of their own, and cuts 1.5 to 1 for a whole number.
type decoder struct {
	name     string
	lines    []string
	data     []byte
	problems Problems
	places   map[string]*token.Token // of what it has set, by key
}

func newDecoder(name string, data []byte) *decoder {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return &decoder{name: name, data: data, lines: strings.Split(string(data), "\n"), places: map[string]*token.Token{}}
}

// at adds a problem with its line and column; the line itself is shown unless
// that could show a secret.
func (d *decoder) at(tok *token.Token, path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	if tok == nil || tok.Position == nil {
		d.problems = append(d.problems, d.name+": "+text)
		return
	}
	line, column := tok.Position.Line, tok.Position.Column
	text = fmt.Sprintf("%s:%d:%d: %s", d.name, line, column, text)
	if line >= 1 && line <= len(d.lines) && !d.hides(line) {
		text += fmt.Sprintf("\n%5d | %s\n      | %s^", line, brief(strings.TrimRight(d.lines[line-1], "\r")),
			strings.Repeat(" ", max(0, min(column, 80)-1)))
	}
	d.problems = append(d.problems, text)
}

// hides reports whether a line may hold a secret: it speaks of one, or lies
// below a line that does.
func (d *decoder) hides(line int) bool {
	level := indent(d.lines[line-1]) + 1
	for i := line - 1; i >= 0 && level > 0; i-- {
		l := d.lines[i]
		if strings.TrimSpace(l) == "" || indent(l) >= level {
			continue
		}
		if isSensitive(l) {
			return true
		}
		level = indent(l)
	}
	return false
}

// sensitive are words of lines that may hold a secret; they take in the sections
// around secrets, for the sake of a key that is misspelt.
var sensitive = []string{"secret", "root", "database", "redis", "postgres", "password"}

// userInfo is a URL with a name and a password in it.
var userInfo = regexp.MustCompile(`//.*@`)

func isSensitive(line string) bool {
	line = strings.ToLower(line)
	if userInfo.MatchString(line) {
		return true
	}
	if slices.ContainsFunc(sensitive, func(word string) bool { return strings.Contains(line, word) }) {
		return true
	}
	// The section around a backend's secret says nothing of it.
	words := strings.FieldsFunc(line, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(word string) bool { return distance(word, "secret_key") <= 3 })
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// parse returns the document's node, nil if it is empty or has problems.
func (d *decoder) parse() ast.Node {
	if len(d.data) > maxFile {
		d.at(nil, "", "has %d bytes; at most %d are read, so this is no configuration of Lethe", len(d.data), maxFile)
		return nil
	}
	if !utf8.Valid(d.data) {
		d.at(nil, "", "is not a text in UTF-8")
		return nil
	}
	file, err := parser.ParseBytes(d.data, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) {
			d.at(at.GetToken(), "", "%s", d.syntax(at))
		} else {
			d.at(nil, "", "%v", err)
		}
		return nil
	}
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			d.at(doc.Body.GetToken(), "", "a second document begins here; write one")
			return nil
		}
		root = doc.Body
	}
	return root
}

// syntax is the parser's message, which may quote the text around it.
func (d *decoder) syntax(err yaml.Error) string {
	tok := err.GetToken()
	if tok != nil && tok.Position != nil && tok.Position.Line >= 1 && tok.Position.Line <= len(d.lines) && d.hides(tok.Position.Line) {
		return "is not valid YAML"
	}
	return brief(err.GetMessage())
}

// decode sets v by the node.
func (d *decoder) decode(node ast.Node, v reflect.Value, path string) {
	node = unwrap(node)
	d.places[path] = node.GetToken()
	if keyed, ok := v.Addr().Interface().(*Schedule); ok && isMapping(node) {
		d.schedule(node, keyed, path)
		return
	}
	switch {
	case node.Type() == ast.AliasType:
		d.at(node.GetToken(), path, "is an alias; write the value itself")
	case isSection(v):
		d.section(node, v, path)
	case v.Kind() == reflect.Slice && node.Type() == ast.SequenceType:
		d.list(node, v, path)
	case v.Kind() == reflect.Slice && isSection(reflect.New(v.Type().Elem()).Elem()):
		d.at(node.GetToken(), path, "is not a list; begin each entry with a dash")
	default:
		d.scalar(node, v, path)
	}
}

func (d *decoder) section(node ast.Node, v reflect.Value, path string) {
	if node.Type() == ast.NullType {
		return
	}
	if !isMapping(node) {
		d.at(node.GetToken(), path, "is not a section; write its keys below it, indented by two spaces")
		return
	}
	fields := map[string]reflect.Value{}
	var names []string
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		names = append(names, name)
		fields[name] = v.Field(i)
	}
	for _, entry := range entries(node) {
		name := entry.Key.GetToken().Value
		field, ok := fields[name]
		if !ok {
			d.unknown(entry.Key.GetToken(), join(path, name), name, names)
			continue
		}
		d.decode(entry.Value, field, join(path, name))
	}
}

func (d *decoder) unknown(tok *token.Token, path, name string, names []string) {
	if near, ok := nearest(name, names); ok {
		d.at(tok, brief(path), "there is no such key; did you mean %s?", near)
		return
	}
	d.at(tok, brief(path), "there is no such key; possible here: %s", strings.Join(names, ", "))
}

func (d *decoder) list(node ast.Node, v reflect.Value, path string) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		d.at(node.GetToken(), path, "is not a list")
		return
	}
	list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		if b, ok := list.Index(i).Addr().Interface().(*Backend); ok {
			b.S3 = defaultS3()
		}
		d.decode(item, list.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(list)
}

func (d *decoder) schedule(node ast.Node, s *Schedule, path string) {
	before := len(d.problems)
	var keys scheduleKeys
	d.section(node, reflect.ValueOf(&keys).Elem(), path)
	if len(d.problems) > before {
		return
	}
	parsed, err := keys.schedule()
	if err != nil {
		d.at(node.GetToken(), path, "%v", err)
		return
	}
	*s = parsed
}

func (d *decoder) scalar(node ast.Node, v reflect.Value, path string) {
	text, ok := scalarText(node)
	switch {
	case node.Type() == ast.NullType:
		d.at(node.GetToken(), path, "has no value; write one, or leave the key out for the default")
	case !ok:
		d.at(node.GetToken(), path, "is not a single value; write one value after the colon")
	default:
		if err := setText(v, text); err != nil {
			d.at(node.GetToken(), path, "%v", err)
		}
	}
}

// unwrap removes tags and anchors, which mean nothing here.
func unwrap(node ast.Node) ast.Node {
	for {
		switch n := node.(type) {
		case *ast.TagNode:
			node = n.Value
		case *ast.AnchorNode:
			node = n.Value
		default:
			return node
		}
	}
}

// scalarText returns the text of a scalar as it was written, without its quotes.
func scalarText(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func isMapping(node ast.Node) bool {
	return node.Type() == ast.MappingType || node.Type() == ast.MappingValueType
}

func entries(node ast.Node) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
