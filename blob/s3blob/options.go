package s3blob

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
)

// Limits of S3 (user guide, "multipart upload limits", and DeleteObjects).
const (
	maxBatch = 1000    // keys of one DeleteObjects
	maxParts = 10_000  // parts of one upload
	minPart  = 5 << 20 // bytes of a part that is not the last
	maxPart  = 5 << 30 // bytes of a part, and of one PUT
	maxName  = 1024    // bytes of a name
)

// Options of a Store. The zero values of all but Bucket are sensible.
type Options struct {
	// Endpoint is the URL of the service; empty is AWS.
	Endpoint string
	// Region is a name such as eu-central-1; empty is us-east-1.
	Region string
	// Bucket exists already, without versions and without object lock.
	Bucket string
	// Prefix stands before every key: empty, or ending in a slash. Keys elsewhere
	// in the bucket are never read.
	Prefix string
	// Foreign: another program gave the keys (blob.CheckForeign).
	Foreign bool
	// AccessKey, SecretKey and, for temporary ones, SessionToken sign requests.
	// Without them they come from AWS's usual sources: the environment, profiles,
	// roles of machines.
	AccessKey, SecretKey, SessionToken string
	// PathStyle puts the bucket's name in the path and not in the host.
	PathStyle bool
	// CA is PEM of certificate authorities to be trusted beside the system's.
	CA []byte
	// Transport replaces the HTTP transport; CA is then ignored.
	Transport http.RoundTripper

	// Timeout is how long a request may take, and how long a body may stall.
	// Requests with a body get a second more for each 256 KiB. 0 is 30 s.
	Timeout time.Duration
	// PartSize is the size from which on a blob is sent in parts, and that of the
	// parts; 5 MiB to 5 GiB. Parts grow where 10,000 would not suffice. 0 is 16
	// MiB.
	PartSize int64
	// CopyWhole is the most bytes that one request copies; up to 5 GiB, which 0 is.
	CopyWhole int64
	// CopyPart is how many bytes of a larger object one request copies, if the
	// parts of its upload are unknown; 5 MiB to 5 GiB. 0 is 512 MiB.
	CopyPart int64
	// Memory bounds the bytes of bodies that are held at once, over all Puts; at
	// least PartSize. 0 is 256 MiB.
	Memory int64
	// MaxBatch is the most keys per DeleteObjects, up to 1,000, which 0 is.
	MaxBatch int
	// Concurrency is the most requests of deletions at once. 0 is 16.
	Concurrency int
	// ProbeEvery is how often service and bucket are probed again. 0 is 1 h.
	ProbeEvery time.Duration
	// Clock measures pauses and the age of a probe. nil is lethe.Monotonic.
	Clock lethe.Clock
	// Random makes the names of probes. nil is crypto/rand.
	Random io.Reader
	Events Events

	// smallParts lets tests send parts smaller than S3 allows, pageSize list by
	// smaller pages.
	smallParts bool
	pageSize   int32
}

// Events report what a store does by itself. Any of them may be nil. They return
// fast, and may be called by several goroutines at once.
type Events struct {
	// Pace: deletions now use so many keys per request and so many requests at
	// once.
	Pace func(batch, concurrency int)
	// Throttled: the service requested a pause, or took too long; deletions wait.
	Throttled func(op string, wait time.Duration, err error)
	// Probed: a probe ended. err is nil even if the bucket was found unfit.
	Probed func(c Capabilities, err error)
	// Protocol: a response contradicts the request; its effect is unknown.
	Protocol func(op string, err error)
}

func (e Events) pace(batch, concurrency int) {
	if e.Pace != nil {
		e.Pace(batch, concurrency)
	}
}

func (e Events) throttled(op string, wait time.Duration, err error) {
	if e.Throttled != nil {
		e.Throttled(op, wait, err)
	}
}

func (e Events) probed(c Capabilities, err error) {
	if e.Probed != nil {
		e.Probed(c, err)
	}
}

func (e Events) protocol(op string, err error) {
	if e.Protocol != nil {
		e.Protocol(op, err)
	}
}

func (o Options) withDefaults() Options {
	o.Region = or(o.Region, "us-east-1")
	o.Timeout = or(o.Timeout, 30*time.Second)
	o.PartSize = or(o.PartSize, 16<<20)
	o.CopyWhole, o.CopyPart = or(o.CopyWhole, maxPart), or(o.CopyPart, 512<<20)
	o.Memory = max(or(o.Memory, 256<<20), o.PartSize)
	o.MaxBatch = or(o.MaxBatch, maxBatch)
	o.Concurrency = or(o.Concurrency, 16)
	o.ProbeEvery = or(o.ProbeEvery, time.Hour)
	if o.Clock == nil {
		o.Clock = lethe.Monotonic{}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return o
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func (o Options) check() error {
	switch {
	case o.Bucket == "":
		return errors.New("no bucket is named")
	case strings.HasSuffix(o.Bucket, "--x-s3"):
		return fmt.Errorf("%s is a directory bucket, which lists in no order; use a general purpose bucket", o.Bucket)
	case (o.AccessKey == "") != (o.SecretKey == ""):
		return errors.New("only one of access key and secret key is given; give both or none")
	case o.PartSize > maxPart || o.PartSize < minPart && !o.smallParts:
		return fmt.Errorf("part size is %d bytes; use %d to %d", o.PartSize, minPart, maxPart)
	case o.CopyWhole < 1 || o.CopyWhole > maxPart || o.CopyPart < minPart || o.CopyPart > maxPart:
		return fmt.Errorf("one request is to copy %d bytes, or %d of a larger object; use up to %d, and from %d", o.CopyWhole, o.CopyPart, maxPart, minPart)
	case o.MaxBatch < 1 || o.MaxBatch > maxBatch:
		return fmt.Errorf("%d keys per DeleteObjects; use 1 to %d", o.MaxBatch, maxBatch)
	case o.Concurrency < 1:
		return fmt.Errorf("concurrency is %d; use 1 or more", o.Concurrency)
	}
	return errors.Join(checkEndpoint(o.Endpoint), checkPrefix(o.Prefix))
}

func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the endpoint is no URL of an S3 service; use one such as https://s3.example.org")
	}
	return nil
}

// checkPrefix refuses what not every service accepts in a name, and what XML cannot
// represent (Go's encoder would silently name another object).
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	bad := func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\\' || r >= 0xfffe && r <= 0xffff || r == utf8.RuneError
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(prefix, "/"), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("prefix %q has a segment that is empty or dots", prefix)
		}
	}
	switch {
	case !strings.HasSuffix(prefix, "/"):
		return fmt.Errorf("prefix %q does not end in a slash", prefix)
	case len(prefix) > maxName/2 || !utf8.ValidString(prefix) || strings.ContainsFunc(prefix, bad):
		return fmt.Errorf("prefix %q is longer than %d bytes, or has characters that not every service accepts", prefix, maxName/2)
	}
	return nil
}
