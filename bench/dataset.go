package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"

	_ "modernc.org/sqlite" // the driver

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// Dataset is a store full of objects that are due.
type Dataset struct {
	Objects int
	Size    int // bytes of each content, at least 8
	// Shared is the share of objects, in percent, whose content ten of them have
	// in common; the others have contents of their own.
	Shared int
	// Shuffled gives the objects keys in random order. Otherwise the keys are in
	// the order of writing, as names with dates or counters are.
	Shuffled bool
	// Living is the number of objects beside them that are not due for a year.
	Living int
	// Before is how many objects the store has had: it is there, and more are written.
	Before int
	// Oldest are those that are due; otherwise the living lie between them, evenly.
	Oldest bool
	// RowsOnly leaves the files out.
	RowsOnly bool
	// Inline puts the bytes into the ledger: there are neither blobs nor files.
	Inline bool
}

// keyPattern makes the key of an object of its number.
const keyPattern = "2026/07/%09d.bin"

// sharers is how many objects have a shared content in common.
const sharers = 10

// backendID is the one backend of a bench's store.
const backendID = "main"

// filler writes a data set past the ledger's own methods: rows by bulk SQL, bytes
// as plain files. A recount finds the books exact afterwards.
type filler struct {
	Dataset
	blobs   string // folder of the bytes
	store   lethe.ID
	bucket  lethe.ID
	random  *rand.ChaCha8
	rows    rowSink
	made    lethe.Time
	folders map[string]bool
	// of the current shared content
	content lethe.ID
	digest  string
	users   int

	contents, live int64
}

// rowSink takes rows past the ledger's methods.
type rowSink interface {
	// add inserts one row with the columns of its table.
	add(ctx context.Context, table string, values ...any) error
	close(ctx context.Context, commit bool) error
}

// Fill makes the data set in dir, which must have no store yet.
func (d Dataset) Fill(ctx context.Context, dir string, now lethe.Time) error {
	db, err := sqlledger.Open(ctx, LedgerPath(dir), ledger.Options{})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(blobPath(dir), 0o700); err != nil {
		return errors.Join(err, db.Close())
	}
	f := d.filler(blobPath(dir))
	if err := f.create(ctx, db); err != nil {
		return err
	}
	if f.rows, err = openBulk(ctx, LedgerPath(dir)); err != nil {
		return err
	}
	return f.run(ctx, now)
}

func (d Dataset) filler(blobs string) *filler {
	return &filler{Dataset: d, blobs: blobs, random: rand.NewChaCha8([32]byte{1, byte(min(d.Before, 1))}), folders: map[string]bool{}}
}

// run fills, and ends the rows' sink.
func (f *filler) run(ctx context.Context, now lethe.Time) error {
	err := f.fill(ctx, now)
	if err := errors.Join(err, f.rows.close(ctx, err == nil)); err != nil {
		return fmt.Errorf("bench: fill: %w", err)
	}
	// A file that was never written to the disk costs little to remove.
	if !f.RowsOnly {
		syscall.Sync()
	}
	return nil
}

// LedgerPath is the ledger of the store in dir.
func LedgerPath(dir string) string { return filepath.Join(dir, "ledger.db") }

func blobPath(dir string) string { return filepath.Join(dir, "blobs") }

// create makes one backend and one bucket in an empty store, or finds them, and closes it.
func (f *filler) create(ctx context.Context, db *sqlledger.DB) error {
	id, err := db.Identity(ctx)
	if f.Before > 0 {
		b, failed := db.Bucket(ctx, "bench")
		f.store, f.bucket, f.contents = id.ID, b.ID, int64(f.Before)
		return errors.Join(err, failed, db.Close())
	}
	if err == nil {
		_, err = db.AddBackend(ctx, ledger.Backend{ID: backendID})
	}
	var b ledger.Bucket
	if err == nil {
		b, err = db.CreateBucket(ctx, ledger.Bucket{Name: "bench", Owner: "bench"})
	}
	f.store, f.bucket = id.ID, b.ID
	return errors.Join(err, db.Close())
}

// fill writes the objects as if they had come one each 100 us until an hour ago,
// with half an hour to live.
func (f *filler) fill(ctx context.Context, now lethe.Time) error {
	const apart = 100
	f.made = now - lethe.Time(apart*(f.Objects+f.Living)) - 3600_000_000
	for i := range f.Objects + f.Living {
		f.made += apart
		due := f.made + 1800_000_000
		between := f.Living > 0 && i*f.Living/(f.Objects+f.Living) != (i+1)*f.Living/(f.Objects+f.Living)
		if f.Oldest && i >= f.Objects || !f.Oldest && between {
			due = now + 365*86400_000_000
		}
		if err := f.object(ctx, i, due); err != nil {
			return err
		}
	}
	return f.counters(ctx)
}

func (f *filler) id() lethe.ID { return lethe.NewID(f.made, f.random) }

func (f *filler) object(ctx context.Context, i int, due lethe.Time) error {
	content, digest, err := f.chooseContent(ctx, i)
	if err != nil {
		return err
	}
	key := fmt.Sprintf(keyPattern, i)
	if f.Shuffled {
		key = fmt.Sprintf("%016x/%d.bin", f.random.Uint64(), i)
	}
	return f.rows.add(ctx, "objects", f.bucket, key, f.id(), content, f.Size, digest[:32],
		f.made, due, 0, due, `{"ct":"application/octet-stream"}`, `{}`)
}

// chooseContent answers the content of the i-th object, making it if it is new.
func (f *filler) chooseContent(ctx context.Context, i int) (lethe.ID, string, error) {
	shared := i%100 < f.Shared
	if shared && f.users > 0 {
		f.users--
		return f.content, f.digest, nil
	}
	refs := 1
	if shared {
		// The last ones of the data set may be fewer.
		refs = f.sharersFrom(i)
	}
	content, digest, err := f.newContent(ctx, i, refs)
	if shared {
		f.content, f.digest, f.users = content, digest, refs-1
	}
	return content, digest, err
}

// sharersFrom counts the objects that will share a content first used by the
// i-th.
func (f *filler) sharersFrom(i int) (n int) {
	for ; i < f.Objects+f.Living && n < sharers; i++ {
		if i%100 < f.Shared {
			n++
		}
	}
	return n
}

func (f *filler) newContent(ctx context.Context, i, refs int) (content lethe.ID, digest string, err error) {
	body := bytes.Repeat(fmt.Appendf(nil, "%08d", i), f.Size/8+1)[:f.Size]
	sum := sha256.Sum256(body)
	digest, content = hex.EncodeToString(sum[:]), f.id()
	f.contents++
	f.live++
	if err := f.rows.add(ctx, "digests", digest[:16], "bench", content); err != nil {
		return content, digest, err
	}
	if f.Inline {
		err = errors.Join(
			f.rows.add(ctx, "contents", content, "bench", lethe.Whole, digest, f.Size, refs, 0, f.made, f.contents),
			f.rows.add(ctx, "bodies", f.contents, int64(ledger.NewBody(digest, body).CRC32C), body, []byte{}))
		return content, digest, err
	}
	blob := f.id()
	err = f.rows.add(ctx, "contents", content, "bench", lethe.Whole, digest, f.Size, refs, 0, f.made, 0)
	if err == nil {
		err = f.rows.add(ctx, "blobs", blob, backendID, int(lethe.Live), f.Size, digest, content, 0, 0, 0,
			f.made, f.made, 0, "", 0, 0, 0, "", 0, f.made, "", 0, 0)
	}
	if err == nil && !f.RowsOnly {
		err = f.file(lethe.BlobKey(f.store, blob), body)
	}
	return content, digest, err
}

func (f *filler) file(key string, body []byte) error {
	path := filepath.Join(f.blobs, filepath.FromSlash(key))
	if folder := filepath.Dir(path); !f.folders[folder] {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		f.folders[folder] = true
	}
	return os.WriteFile(path, body, 0o600)
}

// counters writes the totals that go with the rows.
func (f *filler) counters(ctx context.Context) error {
	n, slot := int64(f.Objects+f.Living), 0
	if f.Before > 0 {
		slot = 1000 // none of a ledger's own
	}
	err := f.rows.add(ctx, "bucket_counters", f.bucket, slot, n, n*int64(f.Size))
	place := backendID
	if f.Inline {
		place = ledger.InLedger
	}
	if err == nil {
		err = f.rows.add(ctx, "blob_counters", place, int(lethe.Live), slot, f.live, f.live*int64(f.Size))
	}
	return err
}

// bulk inserts rows in large transactions without flushing.
type bulk struct {
	pool  *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	n     int
}

func openBulk(ctx context.Context, path string) (*bulk, error) {
	pool, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?mode=rw")
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	b := &bulk{pool: pool, conn: conn, stmts: map[string]*sql.Stmt{}}
	for _, text := range []string{"PRAGMA synchronous = OFF", "PRAGMA cache_size = -131072", "BEGIN"} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return nil, errors.Join(err, b.end())
		}
	}
	return b, nil
}

// columns are those that a data set fills, by table.
var columns = map[string]string{
	"objects":         "bucket_id, key, id, content_id, size, etag, modified_at, ttl_at, rule_at, due_at, attrs, tags",
	"contents":        "id, domain, kind, digest, size, refs, closed, created_at, body_no",
	"digests":         "prefix, domain, content_id",
	"bodies":          "no, crc32c, head, tail",
	"blobs":           "id, backend, state, size, digest, content_id, segment, replica, part, created_at, beat_at, died_at, reason, due_at, late_until, attempts, last_error, suspect, verified_at, worker, fence, claimed_at",
	"bucket_counters": "bucket_id, slot, n, bytes",
	"blob_counters":   "backend, state, slot, n, bytes",
}

// add inserts one row with its columns.
func (b *bulk) add(ctx context.Context, table string, values ...any) error {
	st := b.stmts[table]
	if st == nil {
		insert := "INSERT"
		if table == "digests" {
			insert = "INSERT OR REPLACE" // ended contents may have left some
		}
		text := fmt.Sprintf(insert+" INTO %s (%s) VALUES (?%s)", table, columns[table], string(bytes.Repeat([]byte(", ?"), len(values)-1)))
		var err error
		if st, err = b.conn.PrepareContext(ctx, text); err != nil {
			return err
		}
		b.stmts[table] = st
	}
	if _, err := st.ExecContext(ctx, values...); err != nil {
		return err
	}
	if b.n++; b.n%100_000 != 0 {
		return nil
	}
	_, err := b.conn.ExecContext(ctx, "COMMIT; BEGIN")
	return err
}

// close commits if all went well, and moves everything into the database file.
func (b *bulk) close(ctx context.Context, commit bool) error {
	text := "ROLLBACK"
	if commit {
		text = "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)"
	}
	_, err := b.conn.ExecContext(ctx, text)
	return errors.Join(err, b.end())
}

func (b *bulk) end() error {
	closers := []io.Closer{}
	for _, st := range b.stmts {
		closers = append(closers, st)
	}
	var errs []error
	for _, c := range append(closers, b.conn, b.pool) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
