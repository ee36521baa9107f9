package console

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
)

// pageKeys is how many keys and folders a page lists.
const pageKeys = 1000

// folder is what the page of a bucket shows.
type folder struct {
	Bucket api.Bucket
	Prefix string
	Flat   bool // keys below folders are listed too
	After  string
	Page   api.ObjectList
	Has    string // how much there is, for people
	Now    time.Time
	// Typed are settings that were refused, and why; Evicts is what would go by them.
	Typed           url.Values
	Problem, Evicts string
	Command         string // sets them in a shell
}

// folderURL is the page of a folder, or of all keys with a prefix.
func folderURL(bucket, prefix string) string {
	return link("/bucket", "name", bucket, "prefix", prefix)
}

func (v *visit) buckets() (templ.Component, error) {
	list, err := api.Call[[]api.Bucket](v.as(), v.h.admin, "buckets/list", api.None{})
	if err != nil {
		return nil, err
	}
	v.sameAs("buckets", "list")
	return bucketsPage(v.frame(), list, v.h.newBucket(nil, "")), nil
}

func (v *visit) bucket() (templ.Component, error) { return v.folder(nil, "") }

// settingsAgain shows the bucket with the form of its settings as it was typed.
func (v *visit) settingsAgain(problem string) (templ.Component, error) {
	return v.folder(v.r.PostForm, problem)
}

func (v *visit) folder(typed url.Values, problem string) (templ.Component, error) {
	q := v.r.URL.Query()
	b, err := v.bucketNamed(q.Get("name"))
	if err != nil {
		return nil, err
	}
	f := folder{Bucket: b, Prefix: q.Get("prefix"), Flat: q.Get("flat") != "", After: q.Get("after"), Now: v.now.Time(), Typed: typed, Problem: problem, Evicts: v.evicts}
	f.Command = v.h.opt.Command("buckets", "set", b.Name, "--default-ttl", "30d", "--undo", "7d", "--quota", "10GiB")
	f.Page, err = api.Call[api.ObjectList](v.as(), v.h.admin, "objects/list",
		api.ObjectListRequest{Bucket: b.Name, Prefix: f.Prefix, Recursive: f.Flat, After: f.After, Limit: pageKeys})
	if err != nil {
		return nil, err
	}
	if f.Has, err = v.has(f); err != nil {
		return nil, err
	}
	v.nav, v.search, v.title = "/buckets", s3Name(b.Name, f.Prefix), s3Name(b.Name, f.Prefix)
	v.sameAs("ls", s3Name(b.Name, f.Prefix))
	if v.may(contentRole) {
		v.commands = append(v.commands, v.h.awsCommand("s3", "cp", "FILE", s3Name(b.Name, folderOf(f.Prefix))))
	}
	return folderPage(v.frame(), f), nil
}

// has says how much a folder has. The first page of a prefix counts it.
func (v *visit) has(f folder) (string, error) {
	whole := objectsOf(f.Bucket.Objects, f.Bucket.Bytes)
	switch {
	case f.Prefix == "":
		return sentence(whole), nil
	case f.After != "":
		return "The bucket has " + whole + ".", nil
	case len(f.Page.Prefixes) == 0 && !f.Page.More:
		var bytes int64
		for _, o := range f.Page.Objects {
			bytes += o.Size
		}
		return objectsOf(int64(len(f.Page.Objects)), bytes) + ", of " + whole + " in the bucket.", nil
	}
	u, err := api.Call[api.Usage](v.as(), v.h.admin, "usage", api.UsageRequest{Bucket: f.Bucket.Name, Prefix: f.Prefix})
	if err != nil || u.At.IsZero() {
		return "Not counted yet, of " + whole + " in the bucket.", err
	}
	text := objectsOf(u.Objects, u.Bytes)
	if u.Partial {
		text = "at least " + text
	}
	if !u.Live {
		text += ", " + countedText(u.UsageCount, f.Now)
	}
	return sentence(text + ", of " + whole + " in the bucket"), nil
}

// awsCommand is a command of an S3 client in a shell.
func (h *Handler) awsCommand(words ...string) string {
	text := "aws --endpoint-url " + cmp.Or(h.opt.Links.Endpoint(), "URL")
	for _, w := range words {
		text += " " + shellWord(w)
	}
	return text
}

// shellWord quotes a word for a shell if it has to be.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r))
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// bucketNamed returns a bucket with its settings.
func (v *visit) bucketNamed(name string) (api.Bucket, error) {
	list, err := api.Call[[]api.Bucket](v.as(), v.h.admin, "buckets/list", api.None{})
	if err != nil {
		return api.Bucket{}, err
	}
	for _, b := range list {
		if b.Name == name {
			return b, nil
		}
	}
	return api.Bucket{}, &api.Error{Code: "no_such_bucket", Message: "there is no bucket " + strconv.Quote(name)}
}

func (h *Handler) bucketActions() []action {
	return []action{
		{"/trash/restore", api.Operate, func(v *visit) string { return v.trashURL() }, (*visit).restore},
	}
}

// trash lists what can be restored.
func (v *visit) trash() (templ.Component, error) {
	q := v.r.URL.Query()
	req := api.TrashRequest{Bucket: q.Get("bucket"), Prefix: q.Get("prefix"), After: q.Get("after"), Limit: shownRows}
	list, err := api.Call[api.TrashList](v.as(), v.h.admin, "trash/list", req)
	if err != nil {
		return nil, err
	}
	command := []string{"trash", "list"}
	if req.Bucket != "" {
		command = append(command, "--bucket", req.Bucket)
	}
	v.sameAs(command...)
	v.sameAs("trash", "restore", "ENTRY")
	return trashPage(v.frame(), list, req, v.now.Time()), nil
}

// trashURL is the page of the trash from which a form came.
func (v *visit) trashURL() string {
	q := v.r.URL.Query()
	return link("/trash", "bucket", q.Get("bucket"), "prefix", q.Get("prefix"), "after", q.Get("after"))
}

// next is the following page of a folder.
func (f folder) next() string {
	return f.at(f.Page.Next)
}

func (f folder) at(after string) string {
	flat := ""
	if f.Flat {
		flat = "1"
	}
	return link("/bucket", "name", f.Bucket.Name, "prefix", f.Prefix, "flat", flat, "after", after)
}

// crumb is a folder above a key.
type crumb struct{ Name, URL string }

// crumbsOf are the folders above a key, the bucket first.
func crumbsOf(bucket, key string) []crumb {
	out := []crumb{{bucket, folderURL(bucket, "")}}
	for at := 0; ; {
		i := strings.IndexByte(key[at:], '/')
		// A page with hundreds of folders above it helps nobody.
		if i < 0 || len(out) > 12 {
			return out
		}
		out = append(out, crumb{cmp.Or(key[at:at+i], "/"), folderURL(bucket, key[:at+i+1])})
		at += i + 1
	}
}
