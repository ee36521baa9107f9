package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
)

// Key describes one key of the configuration.
type Key struct {
	Path    string // "cache.size"; the name in Set and flags
	Env     string // "LETHE_CACHE_SIZE"; empty for keys within a list
	Type    string // the form of its values: "duration", "size", "integer"
	Default string // as it is written; "[]" or empty for none
	Doc     string // its meaning
	Section string // what its section has in common; empty at the top level
}

// Keys returns every key in the order of the file, with its comment.
func Keys() []Key {
	docs := commentsOf(initText)
	key := func(l leaf, env string) Key {
		section := l.path[:max(0, strings.LastIndex(l.path, "."))]
		return Key{l.path, env, typeOf(l.value), textOf(l.value), docs[l.path], docs[section]}
	}
	c := Default()
	var out []Key
	for _, l := range c.leaves() {
		out = append(out, key(l, l.env()))
		if l.value.Type() != reflect.TypeFor[[]Backend]() {
			continue
		}
		out[len(out)-1].Default = "one folder"
		for _, e := range leavesOf(l.path+"[].", l.value.Index(0)) {
			out = append(out, key(e, ""))
		}
	}
	return out
}

// typeOf names the form of values like v.
func typeOf(v reflect.Value) string {
	switch v.Interface().(type) {
	case Duration:
		return "duration"
	case Size:
		return "size"
	case Secret:
		return "secret"
	case Schedule:
		return "schedule"
	}
	switch v.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.String:
		return "text"
	}
	return ""
}

// textOf returns the text that sets v to its value.
func textOf(v reflect.Value) string {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		// The types of this package are always valid texts.
		text, _ := m.MarshalText()
		return string(text)
	}
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v.Interface())
}

// commentsOf returns the comment above each key of a file in the layout of
// lethe.yaml: two spaces per level, entries of a list as "path[].key".
func commentsOf(text string) map[string]string {
	docs := map[string]string{}
	var path, comment []string
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		level := (len(line) - len(strings.TrimLeft(line, " \t"))) / 2
		if trimmed == "" {
			comment = nil
			continue
		}
		if c, ok := strings.CutPrefix(trimmed, "#"); ok {
			comment = append(comment, strings.TrimPrefix(c, " "))
			continue
		}
		if entry, ok := strings.CutPrefix(trimmed, "- "); ok {
			path = append(path[:level], "[]")
			trimmed, level = entry, level+1
		}
		name, _, _ := strings.Cut(trimmed, ":")
		path = append(path[:level], name)
		docs[strings.ReplaceAll(strings.Join(path, "."), ".[]", "[]")] = strings.Join(comment, "\n")
		comment = nil
	}
	return docs
}
