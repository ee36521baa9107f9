package paste

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"
)

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// TestCreateAndRead shows what a paste is made of.
func TestCreateAndRead(t *testing.T) {
	e := newSite(t)
	p := e.create("hello", time.Hour)
	e.reads(p.Code, "hello")
	if !validCode(p.Code) {
		t.Errorf("code %q is not one", p.Code)
	}
	if want := []string{"content/" + p.Hash}; !slices.Equal(e.keys(), want) {
		t.Errorf("the bucket holds %v, want %v", e.keys(), want)
	}
	row := ask[string](t, e.db, `SELECT concat_ws(' ', content_hash, object_key, size, ref_count) FROM content`)
	if want := p.Hash + " content/" + p.Hash + " 5 1"; row != want {
		t.Errorf("content is %q, want %q", row, want)
	}
	row = ask[string](t, e.db, `SELECT concat_ws(' ', short_code, content_hash, deletion_status, deletion_initiated_at IS NULL) FROM pastes
WHERE expires_at BETWEEN now() + interval '59 minutes' AND now() + interval '1 hour'`)
	if want := p.Code + " " + p.Hash + " NOT_EXPIRED t"; row != want {
		t.Errorf("the paste is %q, want %q", row, want)
	}
	if never := e.create("for ever", 0); never.ExpiresAt != nil {
		t.Errorf("a paste without an end expires at %v", never.ExpiresAt)
	}
	for _, code := range []string{newCode(), "", "x", strings.Repeat("A", codeLength), strings.Repeat("\x00", codeLength)} {
		e.reads(code, "")
	}
	if _, err := e.Create(t.Context(), nil, time.Hour); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty paste: %v, want ErrEmpty", err)
	}
}

// TestSharedContent counts pastes with equal bytes.
func TestSharedContent(t *testing.T) {
	e := newSite(t)
	a, b, c := e.create("same", time.Hour), e.create("same", 0), e.create("same", time.Minute)
	if n := e.count("same"); n != 3 {
		t.Fatalf("ref_count is %d, want 3", n)
	}
	for i, p := range []Paste{a, b, c} {
		if err := e.Delete(t.Context(), p.Code); err != nil {
			t.Fatal(err)
		}
		e.reads(p.Code, "")
		if n := e.count("same"); n != 2-i {
			t.Errorf("ref_count is %d, want %d", n, 2-i)
		}
	}
	if err := e.Delete(t.Context(), a.Code); !isNotFound(err) {
		t.Errorf("deleting again: %v, want ErrNotFound", err)
	}
	if n, keys := e.count("same"), e.keys(); n != 0 || len(keys) != 1 {
		t.Errorf("ref_count %d and objects %v: want 0, and the object left for a cleanup", n, keys)
	}
	e.create("same", time.Hour)
	if n := e.count("same"); n != 1 {
		t.Errorf("ref_count of a content that is used again is %d, want 1", n)
	}
}

// TestExpiredIsHidden: what has ended, or is being deleted, is not served; an owner
// can bring back what has ended.
func TestExpiredIsHidden(t *testing.T) {
	e := newSite(t)
	p := e.create("short", time.Hour)
	e.exec(`UPDATE pastes SET expires_at = clock_timestamp()`)
	e.reads(p.Code, "")
	back, err := e.Extend(t.Context(), p.Code, time.Hour)
	if err != nil || back.ExpiresAt == nil || back.Hash != p.Hash {
		t.Fatalf("extend: %+v, %v", back, err)
	}
	e.reads(p.Code, "short")

	e.exec(`UPDATE pastes SET expires_at = clock_timestamp(), deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = now()`)
	e.client.Del(t.Context(), "paste:"+p.Code)
	e.reads(p.Code, "")
	if _, err := e.Extend(t.Context(), p.Code, 0); err != nil {
		t.Fatal(err)
	}
	if status := ask[string](t, e.db, `SELECT deletion_status FROM pastes`); status != "DELETION_IN_PROGRESS" {
		t.Errorf("the status is %s: it belongs to whoever deletes", status)
	}
	e.reads(p.Code, "")
	e.exec(`UPDATE pastes SET deletion_status = 'NOT_EXPIRED', deletion_initiated_at = NULL`)
	e.reads(p.Code, "short")
}

// TestRecordsOfDeletionsStay: a row that is kept as DELETED is no paste any more.
func TestRecordsOfDeletionsStay(t *testing.T) {
	e := newSite(t)
	p := e.create("gone", time.Hour)
	e.exec(`UPDATE pastes SET deletion_status = 'DELETED', content_hash = NULL`)
	e.reads(p.Code, "")
	_, extended := e.Extend(t.Context(), p.Code, time.Hour)
	_, replaced := e.Replace(t.Context(), p.Code, []byte("new"))
	for _, err := range []error{extended, replaced, e.Delete(t.Context(), p.Code)} {
		if !isNotFound(err) {
			t.Errorf("changing a deleted paste: %v, want ErrNotFound", err)
		}
	}
	if n := e.count("new"); n != -1 {
		t.Errorf("ref_count of the new content is %d, want no row", n)
	}
}

// TestReplace moves the reference from one content to the other.
func TestReplace(t *testing.T) {
	e := newSite(t)
	p, other := e.create("old", time.Hour), e.create("old", time.Hour)
	for _, body := range []string{"new", "new", "old", "new"} {
		got, err := e.Replace(t.Context(), p.Code, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if !got.ExpiresAt.Equal(*p.ExpiresAt) {
			t.Errorf("the end moved from %v to %v", p.ExpiresAt, got.ExpiresAt)
		}
		e.reads(p.Code, body)
		e.reads(other.Code, "old")
	}
	if old, now := e.count("old"), e.count("new"); old != 1 || now != 1 {
		t.Errorf("ref_counts are %d and %d, want 1 and 1", old, now)
	}
	if _, err := e.Replace(t.Context(), newCode(), []byte("new")); !isNotFound(err) {
		t.Errorf("replacing what is not there: %v, want ErrNotFound", err)
	}
	if n := e.count("new"); n != 1 {
		t.Errorf("ref_count is %d after a refused change, want 1", n)
	}
}

// TestParallelWriters lets many write the same few contents; then every count is
// the number of rows that name the content.
func TestParallelWriters(t *testing.T) {
	e := newSite(t)
	body := func(n int) []byte { return fmt.Appendf(nil, "content %d", n%3) }
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 10 {
				p, err := e.Create(t.Context(), body(w+i), time.Hour)
				if err == nil {
					_, err = e.Replace(t.Context(), p.Code, body(w-i+30))
				}
				if err == nil && i%3 == 0 {
					_, err = e.Extend(t.Context(), p.Code, time.Minute)
				}
				if err == nil && i%2 == 0 {
					err = e.Delete(t.Context(), p.Code)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := ask[int](t, e.db, `SELECT count(*) FROM pastes`); n != 8*5 {
		t.Errorf("%d pastes, want %d", n, 8*5)
	}
	demandCounts(t, e)
}

// demandCounts compares every ref_count with the rows.
func demandCounts(t *testing.T, e *site) {
	t.Helper()
	if n := ask[int](t, e.db, `SELECT count(*) FROM content c
WHERE ref_count <> (SELECT count(*) FROM pastes p WHERE p.content_hash = c.content_hash)`); n != 0 {
		t.Errorf("%d contents have a wrong ref_count", n)
	}
}

// TestSwapsDoNotDeadlock: whichever of two contents a paste gets, the one with the
// lower hash is locked first. Else two pastes that trade contents would wait for each
// other.
func TestSwapsDoNotDeadlock(t *testing.T) {
	e := newSite(t)
	low, high := "A", "B"
	if contentOf([]byte(low)).hash > contentOf([]byte(high)).hash {
		low, high = high, low
	}
	const lock = `SELECT 1 FROM content WHERE content_hash = $1 FOR UPDATE`
	for from, to := range map[string]string{low: high, high: low} {
		p := e.create(from, time.Hour)
		e.create(to, time.Hour)
		tx, err := e.db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), lock, contentOf([]byte(low)).hash); err != nil {
			t.Fatal(err)
		}
		replaced := make(chan error, 1)
		go func() {
			_, err := e.Replace(t.Context(), p.Code, []byte(to))
			replaced <- err
		}()
		for ask[int](t, e.db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 0 {
		}
		if _, err := tx.Exec(t.Context(), lock+" NOWAIT", contentOf([]byte(high)).hash); err != nil {
			t.Errorf("from %s to %s: the higher hash was locked first: %v", from, to, err)
		}
		if err := errors.Join(tx.Rollback(t.Context()), <-replaced); err != nil {
			t.Fatal(err)
		}
	}
	demandCounts(t, e)
}

// TestLostBytes: a paste whose bytes are gone or damaged is an error of its own.
func TestLostBytes(t *testing.T) {
	e := newSite(t)
	p := e.create("bytes", time.Hour)
	key := contentOf([]byte("bytes")).key
	if _, err := e.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &e.bucket, Key: &key, Body: strings.NewReader("bites")}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Read(t.Context(), p.Code); !errors.Is(err, ErrBytesMissing) {
		t.Errorf("damaged bytes: %v, want ErrBytesMissing", err)
	}
	e.loseObject("bytes")
	if _, _, err := e.Read(t.Context(), p.Code); !errors.Is(err, ErrBytesMissing) {
		t.Errorf("lost bytes: %v, want ErrBytesMissing", err)
	}
}

// TestMigrate applies the schema again, from several at once, and on top of data.
func TestMigrate(t *testing.T) {
	e := newSite(t)
	e.exec(`DROP TABLE pastes, content`)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := e.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	p := e.create("stays", time.Hour)
	if err := e.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.reads(p.Code, "stays")
}

// TestSchemaRefuses shows what no writer can do to the tables.
func TestSchemaRefuses(t *testing.T) {
	e := newSite(t)
	e.create("used", time.Hour)
	for _, sql := range []string{
		`DELETE FROM content`,
		`UPDATE content SET ref_count = -1`,
		`UPDATE pastes SET deletion_status = 'GONE'`,
		`UPDATE pastes SET content_hash = NULL`,
		`UPDATE pastes SET content_hash = 'unknown'`,
	} {
		if _, err := e.db.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s was accepted", sql)
		}
	}
	err := pgx.BeginFunc(t.Context(), e.db, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `SET CONSTRAINTS ALL DEFERRED; DELETE FROM content; DELETE FROM pastes`)
		return err
	})
	if err != nil {
		t.Errorf("a content and its last paste in one transaction: %v", err)
	}
}

// TestIndexes shows that what a cleanup asks for is found by an index.
func TestIndexes(t *testing.T) {
	e := newSite(t)
	for sql, index := range map[string]string{
		`SELECT short_code, content_hash FROM pastes WHERE expires_at < now() AND deletion_status = 'NOT_EXPIRED' ORDER BY expires_at LIMIT 1000`: "pastes_due",
		`SELECT short_code FROM pastes WHERE deletion_status = 'DELETION_IN_PROGRESS' AND deletion_initiated_at < now() - interval '2 hours'`:     "pastes_in_progress",
		`SELECT 1 FROM pastes WHERE content_hash = 'x'`:                                         "pastes_by_content",
		`SELECT content_hash FROM content WHERE ref_count = 0 ORDER BY content_hash LIMIT 1000`: "content_unreferenced",
	} {
		err := pgx.BeginFunc(t.Context(), e.db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off`); err != nil {
				return err
			}
			rows, err := tx.Query(t.Context(), `EXPLAIN `+sql)
			if err != nil {
				return err
			}
			plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if text := strings.Join(plan, "\n"); !strings.Contains(text, index) {
				t.Errorf("%s does not use %s:\n%s", sql, index, text)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestFill makes as many pastes and contents as it is asked for.
func TestFill(t *testing.T) {
	e := newSite(t)
	err := Fill(t.Context(), e.Store, Filling{Pastes: 200, Shared: 0.3, TTL: time.Hour, Salt: "s"})
	if err != nil {
		t.Fatal(err)
	}
	pastes, contents := ask[int](t, e.db, `SELECT count(*) FROM pastes`), ask[int](t, e.db, `SELECT count(*) FROM content`)
	if pastes != 200 || contents != 140+60/SharedBy {
		t.Errorf("%d pastes and %d contents, want 200 and %d", pastes, contents, 140+60/SharedBy)
	}
	if n := ask[int](t, e.db, `SELECT count(*) FROM content WHERE ref_count = $1 AND size >= 200`, SharedBy); n != 60/SharedBy {
		t.Errorf("%d contents are shared by %d, want %d", n, SharedBy, 60/SharedBy)
	}
	demandCounts(t, e)
	if err := Fill(t.Context(), e.Store, Filling{Pastes: 1, Shared: 2}); err == nil {
		t.Error("a shared part of 2 was accepted")
	}
}
