package memadopt

import (
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
)

// Errors of the application's transactions.
var (
	// ErrRefused is the guard's refusal of a reference to a condemned content.
	// The application uploads again and repeats the transaction (SQLSTATE
	// 40001).
	ErrRefused = errors.New("content is being deleted: upload it again and repeat the transaction")
	// ErrTaken reports that a row with this key exists.
	ErrTaken = errors.New("there is such a row")
	// ErrNoRow reports that no row with this key exists.
	ErrNoRow = errors.New("there is no such row")
	// ErrCount reports that a count would fall below 0.
	ErrCount = errors.New("a count would fall below 0")
)

// guard refuses a new reference to a content whose mark stands.
func (db *DB) guard(content string) error {
	if m := db.marks[content]; m != nil && m.State != Waiting && !db.unguarded && !m.ended(db.o.Clock.Now()) {
		return fmt.Errorf("memadopt: %s: %w", content, ErrRefused)
	}
	return nil
}

// guardObject refuses a new content whose object has a mark that stands, of a content that is
// gone. What waits has this object no more.
func (db *DB) guardObject(object string) error {
	if !db.o.Numbered {
		return nil
	}
	var waits []string
	for content, m := range db.marks {
		if m.Object != object {
			continue
		}
		if err := db.guard(content); err != nil {
			return err
		}
		if m.State == Waiting {
			waits = append(waits, content)
		}
	}
	for _, content := range waits {
		delete(db.marks, content)
	}
	return nil
}

// numbered returns a content under the number that it has, or gets as a new one.
func (db *DB) numbered(c Content) Content {
	if !db.o.Numbered {
		return c
	}
	for _, have := range db.contents {
		if have.Object == c.Object {
			return *have
		}
	}
	db.ids++
	c.Key = fmt.Sprintf("%s#%d", c.Key, db.ids)
	return c
}

// refer increments the count of a content, and creates its row if it is
// missing.
func (db *DB) refer(content, object string) error {
	if err := db.guard(content); err != nil {
		return err
	}
	c := db.contents[content]
	if c == nil {
		if err := db.guardObject(object); err != nil {
			return err
		}
		c = &Content{Key: content, Object: object}
		db.contents[content] = c
	}
	db.count(c, 1)
	return nil
}

// count adds to a count, if there is one.
func (db *DB) count(c *Content, n int64) {
	if !db.o.Uncounted {
		c.Count += n
	}
}

// fits reports whether a count may fall by one.
func (db *DB) fits(c *Content) bool { return c != nil && (c.Count > 0 || db.o.Uncounted) }

// row returns a row that is not kept as deleted.
func (db *DB) row(key string) (*Row, error) {
	if r := db.rows[key]; r != nil && r.Status != Deleted {
		return r, nil
	}
	return nil, fmt.Errorf("memadopt: %s: %w", key, ErrNoRow)
}

// Create increments the count of a content and inserts a row. The object was
// uploaded before.
func (db *DB) Create(key string, c Content, end lethe.Time) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if r := db.rows[key]; r != nil {
		return fmt.Errorf("memadopt: %s: %w", key, ErrTaken)
	}
	c = db.numbered(c)
	if err := db.refer(c.Key, c.Object); err != nil {
		return err
	}
	db.rows[key] = &Row{Key: key, Content: c.Key, End: end, Status: Live}
	return nil
}

// Replace makes a row refer to another content.
func (db *DB) Replace(key string, c Content) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	r, err := db.row(key)
	if err != nil {
		return err
	}
	old := db.contents[r.Content]
	c = db.numbered(c)
	if !db.fits(old) && r.Content != c.Key {
		return fmt.Errorf("memadopt: %s: %w", r.Content, ErrCount)
	}
	if err := db.refer(c.Key, c.Object); err != nil {
		return err
	}
	db.count(old, -1)
	r.Content = c.Key
	return nil
}

// Extend sets a row's end; 0 is never.
func (db *DB) Extend(key string, end lethe.Time) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	r, err := db.row(key)
	if err == nil {
		r.End = end
	}
	return err
}

// Rename sets a row's other name, whatever its state.
func (db *DB) Rename(key, name string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	r, err := db.row(key)
	if err == nil {
		r.Name = name
	}
	return err
}

// Delete removes a row. It decrements the count of its content, or leaves
// behind what it owns.
func (db *DB) Delete(key string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	r, err := db.row(key)
	if err != nil {
		return err
	}
	if db.owns.any() {
		db.leave(db.owns.of(r), nil)
		delete(db.rows, key)
		return nil
	}
	c := db.contents[r.Content]
	if !db.fits(c) {
		return fmt.Errorf("memadopt: %s: %w", r.Content, ErrCount)
	}
	db.count(c, -1)
	delete(db.rows, key)
	return nil
}

// Read returns a row that the application serves: live, and not expired.
func (db *DB) Read(key string) (Row, Content, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	r, err := db.row(key)
	if err != nil || r.Status != Live || r.expired(db.o.Clock.Now()) {
		return Row{}, Content{}, fmt.Errorf("memadopt: %s: %w", key, ErrNoRow)
	}
	return *r, *db.contents[r.Content], nil
}

// Forget removes a content that no row refers to, as an application that cleans up
// after itself does.
func (db *DB) Forget(content string) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.contents[content] != nil && db.drop(content)
}

// SetCount sets a count, possibly a wrong one; it reports whether the content
// exists.
func (db *DB) SetCount(content string, n int64) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	c := db.contents[content]
	if c != nil {
		c.Count = n
	}
	return c != nil
}

// Refer inserts a row without counting, bypassing the guard.
func (db *DB) Refer(r Row) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.rows[r.Key] = &r
}

// Lock locks a content as a transaction does that has counted and not yet
// committed. It is refused like one. unlock ends it.
func (db *DB) Lock(content string) (unlock func(), err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.guard(content); err != nil {
		return nil, err
	}
	db.locked[content]++
	return func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		db.locked[content]--
	}, nil
}

// Pin sets whether a row of another table refers to a row, or to a content with
// Options.Shared.
func (db *DB) Pin(key string, pinned bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.pinned[key] = pinned
}

// Share counts a reference to a content, and pins it.
func (db *DB) Share(c Content) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	err := db.refer(c.Key, c.Object)
	if err == nil {
		db.pinned[c.Key] = true
	}
	return err
}

// Unshare takes back what Share has done.
func (db *DB) Unshare(content string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if c := db.contents[content]; db.fits(c) {
		db.count(c, -1)
	}
	delete(db.pinned, content)
}
