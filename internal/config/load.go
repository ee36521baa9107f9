package config

import (
	_ "embed" // the commented file
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/lethe-storage/lethe/internal/yamlfile"
)

//go:embed lethe.yaml
var initText string

// Init returns a commented file with every key at its default.
func Init() string { return initText }

// Load reads the file at path (none if it is empty), then the LETHE_ variables
// of the environment in the form of os.Environ, then settings of the form
// "key=value" from flags, each overriding what came before, and validates the
// outcome. Its error lists all problems and wraps ErrInvalid, unless the file
// could not be read.
func Load(path string, environ []string, settings ...string) (*Config, error) {
	c, _, err := LoadWithSources(path, environ, settings...)
	return c, err
}

// Sources are where values come from, by key: a place in the file, a variable of the
// environment, or a flag. Keys that are left out have their defaults.
type Sources map[string]string

// LoadWithSources is Load, with where each value comes from.
func LoadWithSources(path string, environ []string, settings ...string) (*Config, Sources, error) {
	c, file := Default(), yamlfile.New(path, nil)
	if path != "" {
		data, err := readFile(path)
		if err != nil {
			return nil, nil, err
		}
		file = yamlfile.New(path, data)
		if c, err = decoded(file); err != nil {
			return nil, nil, err
		}
	}
	from := Sources{}
	for _, l := range c.leaves() {
		if place := file.Sets(l.path); place != "" {
			from[l.path] = place
		}
	}
	problems := c.applyEnviron(environ, file, from)
	for _, s := range settings {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			problems.add(yamlfile.Brief(s), "is no setting; write key=value, such as cache.size=1GiB")
			continue
		}
		problems.addErr(c.Set(key, value))
		file.Forget(key)
		from[key] = "a flag"
	}
	problems.addErr(located(file, c.Validate()))
	if err := problems.err(); err != nil {
		return nil, nil, err
	}
	return c, from, nil
}

// located adds the places in the file to problems of Validate.
func located(f *yamlfile.File, err error) error {
	var found Problems
	if !errors.As(err, &found) {
		return err
	}
	return Problems(f.Locate(found))
}

// readFile reads no more than a decoder would accept.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("config: there is no file %s; \"lethe config init\" writes one: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, yamlfile.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return data, nil
}

// decoded decodes the file over the defaults.
func decoded(f *yamlfile.File) (*Config, error) {
	c := Default()
	f.Decode(c, "")
	if err := Problems(f.Problems).err(); err != nil {
		return nil, err
	}
	return c, nil
}

// applyEnviron applies the environment's settings; an empty variable is
// ignored. Settings from there no longer count as the file's.
func (c *Config) applyEnviron(environ []string, file *yamlfile.File, from Sources) (problems Problems) {
	values := map[string]string{}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok && value != "" {
			values[name] = value
		}
	}
	for _, l := range c.leaves() {
		if text, ok := values[l.env()]; ok {
			problems.addErr(setLeaf(l.env(), l.value, text))
			file.Forget(l.path)
			from[l.path] = "the variable " + l.env()
		}
	}
	return problems
}

// addErr adds the problems of an error of this package.
func (p *Problems) addErr(err error) {
	var more Problems
	switch {
	case err == nil:
	case errors.As(err, &more):
		*p = append(*p, more...)
	default:
		*p = append(*p, strings.TrimPrefix(err.Error(), ErrInvalid.Error()+": "))
	}
}

// UnknownEnviron lists variables of the environment that begin with LETHE_ and
// set nothing, each with a likely correction. They are worth only a warning:
// container platforms create such names by themselves.
func UnknownEnviron(environ []string) []string {
	// What the commands read besides the configuration.
	names := []string{"LETHE_ADMIN_SERVER", "LETHE_ADMIN_TOKEN"}
	var out []string
	for _, l := range Default().leaves() {
		names = append(names, l.env())
	}
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "LETHE_") || slices.Contains(names, name) {
			continue
		}
		if near, ok := yamlfile.Nearest(name, names); ok {
			name += " (did you mean " + near + "?)"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Value is a setting as it is used.
type Value struct {
	Path string
	Text string // in YAML, secrets redacted
	From string // empty: the default
}

// Values returns every setting, in the order of the file.
func (c *Config) Values(from Sources) ([]Value, error) {
	var out []Value
	for _, l := range c.leaves() {
		text, err := yaml.Marshal(l.value.Interface())
		if err != nil {
			return nil, fmt.Errorf("config: %s: %w", l.path, err)
		}
		out = append(out, Value{l.path, strings.TrimSpace(string(text)), from[l.path]})
	}
	return out, nil
}

// Print writes the configuration as a valid file, with secrets redacted.
func (c *Config) Print(w io.Writer) error {
	out, err := yaml.MarshalWithOptions(c, yaml.IndentSequence(true))
	if err != nil {
		return fmt.Errorf("config: print: %w", err)
	}
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("config: print: %w", err)
	}
	return nil
}
