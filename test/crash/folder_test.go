package crash_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// folder is a data folder that lives through many deaths.
type folder struct {
	dir     string
	journal *journal
	random  *rand.Rand
	deaths  int
	took    time.Duration // the last start
	under   []string      // a command that runs the server, if any
}

// newFolder makes the path of a data folder. What is in memory only survives
// kill -9 as well as what is on a disk.
func newFolder(random *rand.Rand) (*folder, error) {
	dir, err := os.MkdirTemp(scratch(), "crash-")
	if err != nil {
		return nil, err
	}
	return &folder{dir: filepath.Join(dir, "d"), journal: newJournal(), random: random}, nil
}

func scratch() string {
	const memory = "/dev/shm"
	if dir, err := os.MkdirTemp(memory, "crash-"); err == nil && os.Remove(dir) == nil {
		return memory
	}
	return os.TempDir()
}

func (f *folder) discard() error { return os.RemoveAll(filepath.Dir(f.dir)) }

// client makes a client of a server on the folder.
func (f *folder) client(s *server, prefix string) *client {
	return &client{server: s, journal: f.journal, prefix: prefix, random: rand.New(rand.NewPCG(f.random.Uint64(), 1))}
}

// furnish makes the buckets.
func (f *folder) furnish(ctx context.Context) error {
	s, err := f.start(ctx, "")
	if err != nil {
		return err
	}
	defer s.Kill()
	c := f.client(s, "x")
	for _, bucket := range []string{plainBucket, undoBucket} {
		if _, err := c.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
			return fmt.Errorf("create bucket: %w\n%s", err, s.Tail())
		}
		f.journal.buckets[bucket] = acked
	}
	return c.undo(ctx, undoBucket, "30d")
}

// verify serves the folder after a death, compares all that is there with the
// journal, and has lethe check it. The server dies again, with nothing to do.
func (f *folder) verify(ctx context.Context) error {
	s, err := f.start(ctx, "")
	if err != nil {
		return err
	}
	defer s.Kill()
	if s.Dead() {
		return fmt.Errorf("the folder is not served any more:\n%s", s.Tail())
	}
	c := f.client(s, "v")
	if err := errors.Join(c.checkUploads(ctx, false), c.checkAll(ctx), f.check(ctx)); err != nil {
		return fmt.Errorf("%w\nthe log since:\n%s", err, s.Tail())
	}
	return nil
}

// checkAll compares buckets, objects and trash with the journal.
func (c *client) checkAll(ctx context.Context) error {
	if err := c.checkBuckets(ctx); err != nil {
		return err
	}
	trash, err := c.trash(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, bucket := range []string{plainBucket, undoBucket} {
		listed, err := c.list(ctx, bucket)
		if err != nil {
			return err
		}
		for _, at := range c.journal.names(bucket) {
			o := seen{trash: trash[at], from: now()}
			if listed[at] {
				if o.live, err = c.get(ctx, at); err != nil {
					return err
				}
			}
			o.to = now()
			delete(listed, at)
			errs = append(errs, c.journal.observe(at, o))
		}
		for at := range listed {
			errs = append(errs, fmt.Errorf("%s is there, which nobody wrote", at))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.journal.whole()
}

func (c *client) checkBuckets(ctx context.Context) error {
	list, err := c.s3.ListBuckets(ctx, &s3.ListBucketsInput{})
	if err != nil {
		return fmt.Errorf("list buckets: %w", err)
	}
	found := map[string]bool{}
	for _, b := range list.Buckets {
		found[*b.Name] = true
	}
	for bucket, last := range c.journal.buckets {
		if last != unknown && found[bucket] != (last == acked) {
			return fmt.Errorf("bucket %s is there: %t; was made: %t", bucket, found[bucket], last == acked)
		}
	}
	return nil
}

func (c *client) list(ctx context.Context, bucket string) (map[name]bool, error) {
	out := map[name]bool{}
	pages := s3.NewListObjectsV2Paginator(c.s3, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", bucket, err)
		}
		for _, o := range page.Contents {
			out[name{bucket, *o.Key}] = true
		}
	}
	return out, nil
}

// trash lists the sizes of what lies in the trash.
func (c *client) trash(ctx context.Context) (map[name][]int64, error) {
	out := map[name][]int64{}
	for req := (api.TrashRequest{}); ; {
		list, err := api.Call[api.TrashList](ctx, c.admin, "trash/list", req)
		if err != nil {
			return nil, err
		}
		for _, e := range list.Entries {
			at := name{e.Bucket, e.Key}
			out[at] = append(out[at], e.Size)
		}
		if req.After = list.Next; req.After == "" {
			return out, nil
		}
	}
}

// finish lets the engine do all that there is to do, sees that nothing is left
// but what lives, in the ledger and on the disk, and stops the server in order.
func (f *folder) finish(ctx context.Context) error {
	s, err := f.start(ctx, "", impatient...)
	if err != nil {
		return err
	}
	defer s.Kill()
	c := f.client(s, "v")
	steps := []func() error{
		func() error { return c.drain(ctx) },
		func() error { return f.swept(ctx) },
		func() error { return c.checkUploads(ctx, true) },
		func() error { return c.checkAll(ctx) },
		func() error { return f.check(ctx) },
		s.Stop,
		func() error { return f.compare(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("at the end: %w\nthe log since:\n%s", err, s.Tail())
		}
	}
	if left := f.journal.overdue(); len(left) > 0 {
		return fmt.Errorf("at the end: purged and still in the trash: %v", left)
	}
	return nil
}

// drain runs all routines until nothing pends and nothing is condemned.
func (c *client) drain(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for {
		if err := c.reclaim(ctx); err != nil {
			return err
		}
		status, err := c.admin.Status(ctx)
		if err != nil {
			return err
		}
		left := map[string]int64{}
		for _, t := range status.Backends[0].States {
			if t.State != lethe.Live.String() && t.Blobs > 0 {
				left[t.State] = t.Blobs
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-limit.C:
			return fmt.Errorf("blobs are left: %v", left)
		case <-tick.C:
		}
	}
}

// swept waits until no temporary file is left: they are looked for with the heartbeat
// that follows the first deletes.
func (f *folder) swept(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := os.ReadDir(filepath.Join(f.blobs(), ".tmp"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("temporary files are left: %v", left)
		case <-tick.C:
		}
	}
}

// compare opens the ledger and compares its blobs with the files one by one.
func (f *folder) compare(ctx context.Context) (err error) {
	db, err := sqlledger.Open(ctx, filepath.Join(f.dir, "ledger.db"), ledger.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := db.Identity(ctx)
	if err != nil {
		return err
	}
	rows := map[string]int64{}
	for q := (ledger.BlobQuery{Backend: "main", Limit: 1000}); ; {
		list, err := db.Blobs(ctx, q)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		for _, b := range list {
			if b.State != lethe.Live {
				return fmt.Errorf("blob %s is %s", b.ID, b.State)
			}
			rows[lethe.BlobKey(store.ID, b.ID)] = b.Size
			q.After = b.ID
		}
	}
	files, err := f.files(string(store.ID) + "/epoch")
	if err != nil {
		return err
	}
	if !maps.Equal(rows, files) {
		return fmt.Errorf("the ledger has %d live blobs, the backend %d files:\n%v\n%v", len(rows), len(files), rows, files)
	}
	return nil
}

// blobs is the folder of the backend.
func (f *folder) blobs() string { return filepath.Join(f.dir, "blobs") }

// files lists the files of the backend with their sizes, those in the folder of
// epochs left out.
func (f *folder) files(epochs string) (map[string]int64, error) {
	root := f.blobs()
	out := map[string]int64{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || filepath.Dir(rel) == filepath.FromSlash(epochs) {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out[filepath.ToSlash(rel)] = info.Size()
		}
		return err
	})
	return out, err
}

// some draws n different keys of the client's in a bucket.
func (c *client) some(bucket string, n int) []name {
	var out []name
	for len(out) < n {
		if at := c.key(bucket); !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}
