// Package yamlfile reads a YAML file strictly into the types of a
// configuration, and reports every problem with its line, its column and its
// key. It knows no particular settings.
package yamlfile

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

// MaxBytes bounds the file: many times what all keys with their comments take.
const MaxBytes = 64 << 10

// File decodes a YAML document by the types and collects every problem with its
// place. The library's own decoder stops at the first, gives no place for
// values with their own grammar, and truncates 1.5 to 1 for a whole number.
type File struct {
	// Problems each name file, line, column and key, and show the line unless
	// it could have a secret.
	Problems []string
	name     string
	lines    []string
	data     []byte
	places   map[string]*token.Token // tokens of what it has set, by key
}

// New returns a file with its content; problems have the name.
func New(name string, data []byte) *File {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return &File{name: name, data: data, lines: strings.Split(string(data), "\n"), places: map[string]*token.Token{}}
}

// Filled is an entry of a list or a mapping that has defaults.
type Filled interface{ Fill() }

// Keyed is a value that is written as one text, or as a mapping of keys.
type Keyed interface {
	// Keys returns a pointer to a struct of the keys.
	Keys() any
	// SetKeys sets the value by what Keys returned.
	SetKeys(keys any) error
}

// Decode sets what v points to by the file. Path is the key of the document's root, empty
// for a whole file.
func (d *File) Decode(v any, path string) {
	if root := d.parse(); root != nil {
		d.decode(root, reflect.ValueOf(v).Elem(), path)
	}
}

// at adds a problem with its line and column; the line itself is shown unless
// it could have a secret.
func (d *File) at(tok *token.Token, path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	if tok == nil || tok.Position == nil {
		d.Problems = append(d.Problems, d.name+": "+text)
		return
	}
	line, column := tok.Position.Line, tok.Position.Column
	text = fmt.Sprintf("%s:%d:%d: %s", d.name, line, column, text)
	if line >= 1 && line <= len(d.lines) && !d.hides(line) {
		text += fmt.Sprintf("\n%5d | %s\n      | %s^", line, Brief(strings.TrimRight(d.lines[line-1], "\r")),
			strings.Repeat(" ", max(0, min(column, 80)-1)))
	}
	d.Problems = append(d.Problems, text)
}

// hides reports whether a line may have a secret: it mentions one, or is below
// a line that does.
func (d *File) hides(line int) bool {
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

// sensitive are words of lines that may have a secret; they include the
// sections around secrets, for misspelt keys. The URL of a webhook may have a
// token, and so may the arguments of a hook.
var sensitive = []string{"secret", "root", "database", "redis", "postgres", "password", "targets", "hook"}

// userInfo matches a URL with a name and a password.
var userInfo = regexp.MustCompile(`//.*@`)

func isSensitive(line string) bool {
	line = strings.ToLower(line)
	if userInfo.MatchString(line) {
		return true
	}
	if slices.ContainsFunc(sensitive, func(word string) bool { return strings.Contains(line, word) }) {
		return true
	}
	// The section of a backend's secret does not mention it.
	words := strings.FieldsFunc(line, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(word string) bool { return distance(word, "secret_key") <= 3 })
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// parse returns the document's node, nil if it is empty or has problems.
func (d *File) parse() ast.Node {
	if len(d.data) > MaxBytes {
		d.at(nil, "", "has %d bytes; at most %d are read, so this is no configuration of Lethe", len(d.data), MaxBytes)
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

// syntax returns the parser's message, which may quote the surrounding text.
func (d *File) syntax(err yaml.Error) string {
	tok := err.GetToken()
	if tok != nil && tok.Position != nil && tok.Position.Line >= 1 && tok.Position.Line <= len(d.lines) && d.hides(tok.Position.Line) {
		return "is not valid YAML"
	}
	return Brief(err.GetMessage())
}

// decode sets v by the node.
func (d *File) decode(node ast.Node, v reflect.Value, path string) {
	node = unwrap(node)
	d.places[path] = node.GetToken()
	if keyed, ok := v.Addr().Interface().(Keyed); ok && isMapping(node) {
		d.keyed(node, keyed, path)
		return
	}
	switch {
	case v.Kind() == reflect.Pointer:
		d.pointer(node, v, path)
	case v.Kind() == reflect.Map && node.Type() != ast.AliasType:
		d.mapping(node, v, path)
	case node.Type() == ast.AliasType:
		d.at(node.GetToken(), path, "is an alias; write the value itself")
	case IsSection(v):
		d.section(node, v, path)
	case v.Kind() == reflect.Slice && node.Type() == ast.SequenceType:
		d.list(node, v, path)
	case v.Kind() == reflect.Slice && IsSection(reflect.New(v.Type().Elem()).Elem()):
		d.at(node.GetToken(), path, "is not a list; begin each entry with a dash")
	default:
		d.scalar(node, v, path)
	}
}

func (d *File) section(node ast.Node, v reflect.Value, path string) {
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
		if name == "" {
			continue
		}
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
		d.entry(entry, field, join(path, name))
	}
}

func (d *File) unknown(tok *token.Token, path, name string, names []string) {
	if near, ok := Nearest(name, names); ok {
		d.at(tok, Brief(path), "there is no such key; did you mean %s?", near)
		return
	}
	d.at(tok, Brief(path), "there is no such key; possible here: %s", strings.Join(names, ", "))
}

func (d *File) list(node ast.Node, v reflect.Value, path string) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		d.at(node.GetToken(), path, "is not a list")
		return
	}
	list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		fill(list.Index(i))
		d.decode(item, list.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(list)
}

func (d *File) keyed(node ast.Node, v Keyed, path string) {
	before := len(d.Problems)
	keys := v.Keys()
	d.section(node, reflect.ValueOf(keys).Elem(), path)
	if len(d.Problems) > before {
		return
	}
	if err := v.SetKeys(keys); err != nil {
		d.at(node.GetToken(), path, "%v", err)
	}
}

// pointer sets an optional value; a section without keys counts as missing.
func (d *File) pointer(node ast.Node, v reflect.Value, path string) {
	fresh := reflect.New(v.Type().Elem())
	if node.Type() == ast.NullType && IsSection(fresh.Elem()) {
		return
	}
	before := len(d.Problems)
	d.decode(node, fresh.Elem(), path)
	if len(d.Problems) == before {
		v.Set(fresh)
	}
}

// mapping sets a map whose keys are names.
func (d *File) mapping(node ast.Node, v reflect.Value, path string) {
	if node.Type() == ast.NullType {
		return
	}
	if !isMapping(node) {
		d.at(node.GetToken(), path, "is not a section; write each name below it, indented by two spaces")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, entry := range entries(node) {
		name := entry.Key.GetToken().Value
		fresh := reflect.New(v.Type().Elem()).Elem()
		d.entry(entry, fresh, join(path, name))
		v.SetMapIndex(reflect.ValueOf(name), fresh)
	}
}

// entry sets the value of a key.
func (d *File) entry(e *ast.MappingValueNode, v reflect.Value, path string) {
	fill(v)
	d.decode(e.Value, v, path)
	if isMapping(unwrap(e.Value)) {
		d.places[path] = e.Key.GetToken()
	}
}

// fill gives a value its defaults.
func fill(v reflect.Value) {
	if f, ok := v.Addr().Interface().(Filled); ok {
		f.Fill()
	}
}

func (d *File) scalar(node ast.Node, v reflect.Value, path string) {
	text, ok := scalarText(node)
	switch {
	case node.Type() == ast.NullType:
		d.at(node.GetToken(), path, "has no value; write one, or leave the key out for the default")
	case !ok:
		d.at(node.GetToken(), path, "is not a single value; write one value after the colon")
	default:
		if err := SetText(v, text); err != nil {
			d.at(node.GetToken(), path, "%v", err)
		}
	}
}

// unwrap removes tags and anchors, which have no meaning here.
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
