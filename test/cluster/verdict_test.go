package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

// drain waits until nothing is left to do: no object is due, no write under way,
// nothing condemned. Dead letters are given another chance, as an operator does.
func (w *world) drain(ctx context.Context) error {
	pause(ctx, expiring)
	return w.until(ctx, drainTime, func() error {
		st, err := w.nodes[0].admin().Status(ctx)
		if err != nil {
			return err
		}
		for _, b := range st.Backends {
			for _, t := range b.States {
				if t.State == lethe.Dead.String() && t.Blobs > 0 {
					return fmt.Errorf("%d dead letters", t.Blobs)
				}
				if t.State != lethe.Live.String() && t.Blobs > 0 {
					return fmt.Errorf("%d blobs are %s", t.Blobs, t.State)
				}
			}
		}
		return errors.Join(idle(st), w.ask(ctx, whenStopped))
	})
}

func idle(st api.Status) error {
	for _, r := range st.Routines {
		// Receipts of deletion wait for more of them, for longer than this test lasts.
		if r.Backlog.Due > 0 || r.Backlog.Scheduled > 0 && r.Name != "receipts" {
			return fmt.Errorf("%s has %d due and %d scheduled", r.Name, r.Backlog.Due, r.Backlog.Scheduled)
		}
	}
	return nil
}

// checkObjects compares every listing with what may be there, and reads all that
// lasts, through every instance.
func (w *world) checkObjects(ctx context.Context) error {
	nodes := w.serving()
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = w.checkThrough(ctx, n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (w *world) checkThrough(ctx context.Context, n *node) error {
	listed, err := list(ctx, n.client(), bucket)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range w.clients {
		for _, e := range append(append([]*entry{}, c.lasting...), c.retired...) {
			found, err := w.patiently(ctx, c, n, place{bucket, e.key})
			if _, there := listed[e.key]; err == nil && there != found.there {
				err = fmt.Errorf("%s: is listed: %v, can be read: %v", e.key, there, found.there)
			}
			errs = append(errs, err, e.fits(found))
			delete(listed, e.key)
		}
	}
	if len(listed) > 0 {
		errs = append(errs, fmt.Errorf("%s lists %d objects that have expired, or that nobody wrote, %s for one", n.name, len(listed), anyOf(listed)))
	}
	return errors.Join(errs...)
}

// patiently reads an object: an answer that took longer than lethe waits for it, as
// on a machine with other work, says nothing.
func (w *world) patiently(ctx context.Context, c *client, n *node, p place) (found seen, err error) {
	err = w.until(ctx, requestTime, func() (err error) {
		found, err = c.get(ctx, n.client(), p)
		return err
	})
	return found, err
}

func anyOf(m map[string]int64) string {
	for key := range m {
		return key
	}
	return ""
}

// list answers all keys of a bucket with their sizes.
func list(ctx context.Context, from *s3.Client, bucket string) (map[string]int64, error) {
	out := map[string]int64{}
	pages := s3.NewListObjectsV2Paginator(from, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", bucket, err)
		}
		for _, o := range page.Contents {
			out[*o.Key] = aws.ToInt64(o.Size)
		}
	}
	return out, nil
}

// books are questions whose answer is 0 when the books are right, counted from
// the rows alone.
var books = map[string]string{
	"blobs that are not live":            "SELECT count(*) FROM blobs WHERE state <> 2",
	"rows that are claimed":              "SELECT count(*) FROM blobs WHERE worker <> '' OR fence <> 0 OR claimed_at <> 0",
	"copies and moves that are claimed":  "SELECT count(*) FROM placements WHERE worker <> '' OR fence <> 0",
	"intents that the reaper may finish": "SELECT count(*) FROM promotions",
	"uploads under way":                  "SELECT count(*) FROM uploads",
	"objects that have expired":          "SELECT count(*) FROM objects WHERE due_at IS NOT NULL",
	"contents with a wrong count of references": `SELECT count(*) FROM contents c WHERE c.refs <>
		(SELECT count(*) FROM objects o WHERE o.content_id = c.id) + (SELECT count(*) FROM trash t WHERE t.content_id = c.id)`,
	"contents without bytes": `SELECT count(*) FROM contents c WHERE CASE body_no WHEN 0
		THEN NOT EXISTS (SELECT 1 FROM blobs b WHERE b.content_id = c.id AND b.state = 2)
		ELSE NOT EXISTS (SELECT 1 FROM bodies y WHERE y.no = c.body_no AND length(y.head) + length(y.tail) = c.size) END`,
	"inline bytes of no content": "SELECT count(*) FROM bodies y WHERE NOT EXISTS (SELECT 1 FROM contents c WHERE c.body_no = y.no)",
	"blobs of no content":        "SELECT count(*) FROM blobs b WHERE NOT EXISTS (SELECT 1 FROM contents c WHERE c.id = b.content_id)",
	"wrong counters of backends": `SELECT count(*) FROM
		(SELECT backend, state, sum(n) n, sum(bytes) bytes FROM blob_counters GROUP BY backend, state) k
		FULL JOIN (SELECT backend, state, count(*) n, sum(size) bytes FROM blobs GROUP BY backend, state
			UNION ALL SELECT '', 2, count(*), sum(size) FROM contents WHERE body_no <> 0 HAVING count(*) > 0) b
		ON k.backend = b.backend AND k.state = b.state
		WHERE coalesce(k.n, 0) <> coalesce(b.n, 0) OR coalesce(k.bytes, 0) <> coalesce(b.bytes, 0)`,
	"wrong counters of buckets": `SELECT count(*) FROM
		(SELECT bucket_id, sum(n) n, sum(bytes) bytes FROM bucket_counters GROUP BY bucket_id) k
		FULL JOIN (SELECT bucket_id, count(*) n, sum(size) bytes FROM objects GROUP BY bucket_id) o ON k.bucket_id = o.bucket_id
		WHERE coalesce(k.n, 0) <> coalesce(o.n, 0) OR coalesce(k.bytes, 0) <> coalesce(o.bytes, 0)`,
}

// whenStopped are those whose answer is 0 when nothing runs: the runs of killed
// instances were ended by others, those of stopped ones by themselves.
var whenStopped = map[string]string{
	"runs without an end": "SELECT count(*) FROM runs WHERE finished_at = 0",
}

// checkLedger asks the database itself.
func (w *world) checkLedger(ctx context.Context) error { return w.ask(ctx, books) }

func (w *world) ask(ctx context.Context, questions map[string]string) error {
	conn, err := pgx.Connect(ctx, w.database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var errs []error
	for what, question := range questions {
		var n int64
		if err := conn.QueryRow(ctx, question).Scan(&n); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		} else if n != 0 {
			errs = append(errs, fmt.Errorf("%s: %d", what, n))
		}
	}
	return errors.Join(errs...)
}

// checkBackend compares the bucket of each backend with the rows, key by key.
func (w *world) checkBackend(ctx context.Context) error {
	var errs []error
	for backend, bucket := range w.buckets() {
		errs = append(errs, w.checkBucket(ctx, backend, bucket))
	}
	return errors.Join(errs...)
}

func (w *world) checkBucket(ctx context.Context, backend, bucket string) error {
	keys, err := list(ctx, w.storage.Client(), bucket)
	if err != nil {
		return err
	}
	uploads, err := w.storage.Client().ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil {
		return err
	}
	var errs []error
	if n := len(uploads.Uploads); n > 0 {
		errs = append(errs, fmt.Errorf("%d multipart uploads are left on the backend", n))
	}
	var id string
	var size int64
	store, err := w.eachBlob(ctx, "SELECT id, size FROM blobs WHERE backend = $1", []any{backend}, []any{&id, &size}, func(store lethe.ID) error {
		key := lethe.BlobKey(store, lethe.ID(id))
		if got, there := keys[key]; !there || got != size {
			errs = append(errs, fmt.Errorf("%s has %d bytes in the ledger; on the backend: %v, %d", key, size, there, got))
		}
		delete(keys, key)
		return nil
	})
	if err != nil {
		return err
	}
	for key := range keys {
		if !strings.HasPrefix(key, string(store)+"/epoch") {
			errs = append(errs, fmt.Errorf("%s lies on the backend without a row", key))
		}
	}
	return errors.Join(errs...)
}

// eachBlob asks the database for blobs, and calls fn, with the id of the store that begins
// their names, after each row was read.
func (w *world) eachBlob(ctx context.Context, question string, args, row []any, fn func(store lethe.ID) error) (store lethe.ID, err error) {
	conn, err := pgx.Connect(ctx, w.database)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, "SELECT id FROM store").Scan(&store); err != nil {
		return "", err
	}
	rows, err := conn.Query(ctx, question, args...)
	if err != nil {
		return "", err
	}
	_, err = pgx.ForEachRow(rows, row, func() error { return fn(store) })
	return store, err
}

// check runs lethe check, which has to find nothing.
func (w *world) check(ctx context.Context) error {
	out, err := w.nodes[0].lethe(ctx, "check", "--checksums")
	if err != nil || !strings.Contains(out, "nothing is wrong") {
		return errors.Join(fmt.Errorf("lethe check: %s", out), err)
	}
	return nil
}
