package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
)

// operatorNull asks whether there is a value.
const operatorNull = "Null"

// operator compares a value with one of a policy's.
type operator struct {
	same     func(have, want string) bool
	negated  bool
	ifExists bool // holds where there is no value
}

var operators = map[string]operator{
	"StringEquals":              {same: equal},
	"StringNotEquals":           {same: equal, negated: true},
	"StringEqualsIgnoreCase":    {same: strings.EqualFold},
	"StringNotEqualsIgnoreCase": {same: strings.EqualFold, negated: true},
	"StringLike":                {same: like},
	"StringNotLike":             {same: like, negated: true},
}

func equal(have, want string) bool { return have == want }

// like matches a value with a pattern, in which * is any text and ? any character.
func like(have, want string) bool { return glob(characters(want)).matches(characters(have)) }

// glob is a pattern, in which * is any text and ? any character.
type glob []rune

// matches reports whether it is a pattern of a text. A * of the text is a character like
// any other: it does not use up that of the pattern.
func (g glob) matches(text []rune) bool {
	star, from := -1, 0 // where the last * stands, and the text that follows what it takes
	i, j := 0, 0
	for i < len(text) {
		switch {
		case j < len(g) && g[j] == '*':
			star, from = j, i
			j++
		case j < len(g) && (g[j] == '?' || g[j] == text[i]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = from, star+1
		default:
			return false
		}
	}
	for j < len(g) && g[j] == '*' {
		j++
	}
	return j == len(g)
}

// characters are those of a text; bytes that are none stay apart.
func characters(s string) []rune {
	out := make([]rune, 0, len(s))
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			r = utf8.MaxRune + 1 + rune(s[i])
		}
		out = append(out, r)
	}
	return out
}

// operatorOf reads the name of an operator.
func operatorOf(name string) (operator, bool) {
	if name == operatorNull {
		return operator{}, true
	}
	base, ifExists := strings.CutSuffix(name, "IfExists")
	o, ok := operators[base]
	o.ifExists = ifExists
	return o, ok
}

// holds says that a condition does; have is nil where there is no value. One that is
// negated holds then, as AWS has it.
func (c clause) holds(have *string) bool {
	o, ok := operatorOf(c.operator)
	switch {
	case !ok:
		return false
	case c.operator == operatorNull:
		return len(c.values) == 1 && (c.values[0] == "true") == (have == nil)
	case have == nil:
		return o.ifExists || o.negated
	}
	for _, want := range c.values {
		if o.same(*have, want) {
			return !o.negated
		}
	}
	return o.negated
}

// conditionValues are what conditions are held against, for one request and a bucket
// that it names.
type conditionValues struct {
	ctx    context.Context
	b      *Backend
	req    *request
	bucket string
}

// hold says that all conditions of a statement hold for an action.
func (v *conditionValues) hold(clauses []clause, action auth.Action) (bool, error) {
	for _, c := range clauses {
		have, err := c.key.value(v, action, c.tag)
		if err != nil || !c.holds(have) {
			return false, err
		}
	}
	return true, nil
}

// header reads a header of the request, nil if it is not there. One that is repeated is
// refused: of lists of grants all would count, of others the first.
func header(name string) func(*conditionValues, auth.Action, string) (*string, error) {
	return func(v *conditionValues, _ auth.Action, _ string) (*string, error) {
		value := strings.Clone(v.req.web.Get(name))
		if len(v.req.web.Request().Header.PeekAll(name)) > 1 {
			return nil, s3err.InvalidArgumentError{
				Description:  "The bucket's policy has a condition on this header, which the request repeats. Send it once.",
				ArgumentName: name, ArgumentValue: value,
			}
		}
		return ptr(value), nil
	}
}

// copySource is the source of a copy, decoded: bucket/key.
func (v *conditionValues) copySource(auth.Action, string) (*string, error) {
	bucket, key, err := v.source()
	if err != nil || bucket == "" {
		return nil, err
	}
	return to(bucket + "/" + key), nil
}

func (v *conditionValues) source() (bucket, key string, err error) {
	source := v.req.web.Get("X-Amz-Copy-Source")
	if source == "" || v.req.web.Method() != http.MethodPut {
		return "", "", nil
	}
	bucket, key, _, err = backend.ParseCopySource(strings.Clone(source))
	return bucket, key, err
}

// key names the object in the bucket that an action is about: a copy gets its source.
func (v *conditionValues) key(action auth.Action) (string, error) {
	bucket, key, err := v.source()
	switch {
	case err != nil:
		return "", err
	case bucket != "" && (action == auth.GetObjectAction || action == auth.GetObjectVersionAction):
		if bucket != v.bucket {
			return "", nil
		}
		return key, nil
	}
	routed := strings.Clone(v.req.web.Params("bucket"))
	key, ok := strings.CutPrefix(strings.Clone(v.req.web.Path()), "/"+routed+"/")
	if !ok || routed != v.bucket {
		return "", nil
	}
	return key, nil
}

// existingTag is a tag of the object as it lies there.
func (v *conditionValues) existingTag(action auth.Action, tag string) (*string, error) {
	key, err := v.key(action)
	if err != nil || key == "" {
		return nil, err
	}
	ctx, cancel := v.b.context(v.req, false)
	defer cancel()
	obj, err := v.b.store.Objects.Head(ctx, object.GetRequest{Bucket: v.bucket, Key: key})
	if errors.Is(err, lethe.ErrNoSuchKey) || errors.Is(err, lethe.ErrInvalidKey) || errors.Is(err, lethe.ErrNoSuchBucket) {
		return nil, nil
	}
	return tagOf(obj.Tags, tag), err
}

func tagOf(tags map[string]string, tag string) *string {
	if value, ok := tags[tag]; ok {
		return &value
	}
	return nil
}

// requestTag is a tag that the request gives the object: by a document, a field of a
// form, or a header.
func (v *conditionValues) requestTag(_ auth.Action, tag string) (*string, error) {
	web := v.req.web
	form, isForm := formOf(v.ctx)
	switch {
	case web.Method() == http.MethodPut && web.Request().URI().QueryArgs().Has("tagging"):
		return documentTag(web.Request().Body(), tag)
	case isForm:
		for name, value := range form.Fields {
			if strings.EqualFold(name, "tagging") {
				return documentTag([]byte(value), tag)
			}
		}
		return nil, nil
	case web.Method() == http.MethodPut && web.Get("X-Amz-Copy-Source") != "" && web.Get("X-Amz-Tagging-Directive") != "REPLACE":
		return nil, nil
	}
	text := strings.Clone(web.Get("X-Amz-Tagging"))
	tags, err := tagsOf(&text)
	return tagOf(tags, tag), err
}

func documentTag(body []byte, tag string) (*string, error) {
	if len(body) == 0 {
		return nil, nil
	}
	tags, ok := map[string]string{}, false
	if len(body) <= s3.MaxTagDocument {
		tags, ok = s3.DocumentTags(body)
	}
	if !ok {
		return nil, s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	return tagOf(tags, tag), nil
}
