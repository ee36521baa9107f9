package sim

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// The methods that clients use.

func (s *seam) CreateBucket(ctx context.Context, b ledger.Bucket) (ledger.Bucket, error) {
	return s.in.CreateBucket(ctx, b)
}

func (s *seam) Bucket(ctx context.Context, name string) (ledger.Bucket, error) {
	return read(s, "bucket", name, func() (ledger.Bucket, error) { return s.in.Bucket(ctx, name) })
}

func (s *seam) Buckets(ctx context.Context, q ledger.BucketQuery) ([]ledger.Bucket, error) {
	return s.in.Buckets(ctx, q)
}

func (s *seam) ConfigureBucket(ctx context.Context, name string, b ledger.BucketSettings, seen *ledger.BucketSettings) (ledger.Bucket, error) {
	return s.in.ConfigureBucket(ctx, name, b, seen)
}

func (s *seam) DeleteBucket(ctx context.Context, name string, id lethe.ID) error {
	return s.in.DeleteBucket(ctx, name, id)
}

func (s *seam) PutDocument(ctx context.Context, d ledger.Document) error {
	return s.in.PutDocument(ctx, d)
}

func (s *seam) Document(ctx context.Context, bucket, kind string) ([]byte, error) {
	return s.in.Document(ctx, bucket, kind)
}

func (s *seam) DeleteDocument(ctx context.Context, d ledger.Document) error {
	return s.in.DeleteDocument(ctx, d)
}

func (s *seam) SetBucketOwner(ctx context.Context, bucket, owner string) error {
	return s.in.SetBucketOwner(ctx, bucket, owner)
}

func (s *seam) Begin(ctx context.Context, in ledger.Intent) (ledger.Blob, error) {
	return write(s, "begin", string(in.ID)+"@"+in.Backend, scope{}, func() (ledger.Blob, error) {
		s.w.oracle.begun(in)
		return s.in.Begin(s.lasting(ctx), in)
	})
}

func (s *seam) Beat(ctx context.Context, id lethe.ID, size int64) error {
	return do(s, "beat", string(id), scope{rows: []lethe.ID{id}}, func() error { return s.in.Beat(s.lasting(ctx), id, size) })
}

func (s *seam) Abandon(ctx context.Context, id lethe.ID, late bool) error {
	return do(s, "abandon", fmt.Sprint(id, late), scope{rows: []lethe.ID{id}}, func() error { return s.in.Abandon(s.lasting(ctx), id, late) })
}

func (s *seam) CondemnLate(ctx context.Context, b ledger.LateBytes) error {
	err := do(s, "condemn-late", string(b.Blob), scope{rows: []lethe.ID{b.Blob}}, func() error {
		s.w.oracle.late[b.Blob] = true
		return s.in.CondemnLate(s.lasting(ctx), b)
	})
	s.w.rowed(b.Blob, err)
	return err
}

func (s *seam) Outcome(ctx context.Context, op lethe.ID) (ledger.Outcome, bool, error) {
	type answer struct {
		out   ledger.Outcome
		found bool
	}
	a, err := read(s, "outcome", string(op), func() (answer, error) {
		if err := s.w.await(s.w.cur, "outcome", scope{recorded: op}.holds("outcome")); err != nil {
			return answer{}, err
		}
		out, found, err := s.in.Outcome(ctx, op)
		return answer{out, found}, err
	})
	return a.out, a.found, err
}

func (s *seam) ExtendGrace(ctx context.Context, content lethe.ID) error {
	return do(s, "extend-grace", "", scope{}, func() error { return s.in.ExtendGrace(s.lasting(ctx), content) })
}

func (s *seam) Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error) {
	return write(s, "commit", c.What+" "+c.Object.Key, scope{bucket: c.Object.Bucket, keys: []string{c.Object.Key}, op: c.Op, recorded: c.Op}, func() (ledger.Committed, error) {
		s.w.oracle.wants(c.Op, c.Source)
		out, err := s.in.Commit(s.lasting(ctx), c)
		s.w.oracle.applied(c.Op, err)
		return out, err
	})
}

func (s *seam) Delete(ctx context.Context, d ledger.Deletion) (ledger.Deletions, error) {
	sc := scope{bucket: d.Bucket, recorded: d.Op}
	for _, item := range d.Items {
		sc.keys = append(sc.keys, item.Key)
	}
	return write(s, "delete", fmt.Sprint(sc.keys), sc, func() (ledger.Deletions, error) {
		s.w.oracle.wants(d.Op, nil)
		out, err := s.in.Delete(s.lasting(ctx), d)
		s.w.oracle.applied(d.Op, err)
		return out, err
	})
}

func (s *seam) Update(ctx context.Context, u ledger.Update) (ledger.Object, error) {
	return write(s, "update", u.Key, scope{bucket: u.Bucket, keys: []string{u.Key}, recorded: u.Op}, func() (ledger.Object, error) {
		s.w.oracle.updates(u)
		out, err := s.in.Update(s.lasting(ctx), u)
		s.w.oracle.applied(u.Op, err)
		return out, err
	})
}

func (s *seam) Resolve(ctx context.Context, bucket, key string) (ledger.Resolved, error) {
	return read(s, "resolve", key, func() (ledger.Resolved, error) {
		r, err := s.in.Resolve(ctx, bucket, key)
		s.w.fail(s.w.oracle.resolved(bucket, key, r.Object, err))
		s.w.cur.resolved()
		return r, err
	})
}

func (s *seam) StatObject(ctx context.Context, bucket, key string) (ledger.Resolved, error) {
	return read(s, "stat-object", key, func() (ledger.Resolved, error) {
		r, err := s.in.StatObject(ctx, bucket, key)
		s.w.fail(s.w.oracle.resolved(bucket, key, r.Object, err))
		return r, err
	})
}

func (s *seam) List(ctx context.Context, q ledger.ListQuery) (ledger.ListPage, error) {
	return read(s, "list", q.Bucket, func() (ledger.ListPage, error) { return s.in.List(ctx, q) })
}

func (s *seam) CreateUpload(ctx context.Context, u ledger.Upload) (ledger.Upload, error) {
	return write(s, "create-upload", u.Key, scope{}, func() (ledger.Upload, error) { return s.in.CreateUpload(s.lasting(ctx), u) })
}

func (s *seam) Upload(ctx context.Context, bucket, key string, id lethe.ID) (ledger.Upload, error) {
	return read(s, "upload", string(id), func() (ledger.Upload, error) { return s.in.Upload(ctx, bucket, key, id) })
}

func (s *seam) CommitPart(ctx context.Context, c ledger.PartCommit) (ledger.Part, error) {
	return write(s, "commit-part", fmt.Sprint(c.Part.UploadID, c.Part.Number), scope{recorded: c.Op}, func() (ledger.Part, error) {
		s.w.oracle.wants(c.Op, nil)
		out, err := s.in.CommitPart(s.lasting(ctx), c)
		s.w.oracle.applied(c.Op, err)
		return out, err
	})
}

func (s *seam) Complete(ctx context.Context, c ledger.Completion) (ledger.Committed, error) {
	return write(s, "complete", fmt.Sprint(c.UploadID, c.Parts), scope{bucket: c.Bucket, keys: []string{c.Key}, recorded: c.Op}, func() (ledger.Committed, error) {
		s.w.oracle.wants(c.Op, nil)
		out, err := s.in.Complete(s.lasting(ctx), c)
		s.w.oracle.applied(c.Op, err)
		return out, err
	})
}

func (s *seam) AbortUpload(ctx context.Context, op lethe.ID, bucket, key string, id lethe.ID) error {
	return do(s, "abort", string(id), scope{recorded: op}, func() error { return s.in.AbortUpload(s.lasting(ctx), op, bucket, key, id) })
}

func (s *seam) Uploads(ctx context.Context, q ledger.UploadQuery) ([]ledger.Upload, error) {
	return s.in.Uploads(ctx, q)
}

func (s *seam) Parts(ctx context.Context, upload lethe.ID, after, limit int) ([]ledger.Part, error) {
	return read(s, "parts", string(upload), func() ([]ledger.Part, error) { return s.in.Parts(ctx, upload, after, limit) })
}

func (s *seam) UploadByID(ctx context.Context, id lethe.ID) (ledger.Upload, error) {
	return read(s, "upload", string(id), func() (ledger.Upload, error) { return s.in.UploadByID(ctx, id) })
}

func (s *seam) Trash(ctx context.Context, q ledger.TrashQuery) ([]ledger.TrashEntry, error) {
	return read(s, "trash", q.Bucket, func() ([]ledger.TrashEntry, error) { return s.in.Trash(ctx, q) })
}

func (s *seam) Restore(ctx context.Context, op, entry lethe.ID, overwrite bool) (ledger.Object, error) {
	e, found := s.w.oracle.entry(entry)
	sc := scope{bucket: e.Object.Bucket, keys: []string{e.Object.Key}, recorded: op}
	return write(s, "restore", e.Object.Key, sc, func() (ledger.Object, error) {
		s.w.oracle.restores(op, e, found)
		out, err := s.in.Restore(s.lasting(ctx), op, entry, overwrite)
		s.w.oracle.applied(op, err)
		return out, err
	})
}

func (s *seam) PurgeTrash(ctx context.Context, entries []lethe.ID) (int, error) {
	return write(s, "purge-now", fmt.Sprint(len(entries)), scope{}, func() (int, error) { return s.in.PurgeTrash(s.lasting(ctx), entries) })
}
