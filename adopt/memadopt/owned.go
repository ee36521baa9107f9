package memadopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// owning describes what rows without contents own: an object, or everything
// below a folder, for each template.
type owning struct {
	within    adopt.Collection
	templates []adopt.Template
}

// newOwning parses templates over the columns key and name.
func newOwning(texts []string, prefix string) (o owning) {
	o.within = adopt.Collection{Prefix: prefix, Rows: adopt.Rows{Objects: texts}}
	for _, text := range texts {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			panic(fmt.Sprintf("memadopt: %v", err))
		}
		o.templates = append(o.templates, t)
	}
	return o
}

// any reports whether rows own objects.
func (o owning) any() bool { return len(o.templates) > 0 }

// of returns the keys of what a row owns.
func (o owning) of(r *Row) (keys []string) {
	for _, t := range o.templates {
		var values []string
		for _, column := range t.Columns() {
			values = append(values, map[string]string{"key": r.Key, "name": r.Name}[column])
		}
		keys = append(keys, t.Fill(values))
	}
	return keys
}

// mayOwn refuses a row whose folder would be inside another row's, and
// condemned objects that the row did not name before.
func (db *DB) mayOwn(r *Row, had []string) error {
	for i, key := range db.owns.of(r) {
		text := db.o.Owns[i]
		if strings.HasSuffix(text, "/") && strings.Count(key, "/") != strings.Count(text, "/") {
			return fmt.Errorf("memadopt: row %s owns a folder: its name has no slash", r.Key)
		}
		if slices.Contains(had, key) {
			continue
		}
		if err := db.guard(key); err != nil {
			return err
		}
	}
	return nil
}

// leave records what a row leaves behind, except what it keeps.
func (db *DB) leave(had, keeps []string) {
	for _, key := range had {
		if !slices.Contains(keeps, key) {
			db.wait(&Content{Key: key, Object: key}, db.o.Grace.Unreferenced)
		}
	}
}

// Insert adds a row that owns objects. They were uploaded before.
func (db *DB) Insert(key, name string, end lethe.Time) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.rows[key] != nil {
		return fmt.Errorf("memadopt: %s: %w", key, ErrTaken)
	}
	r := &Row{Key: key, Name: name, End: end, Status: Live}
	if err := db.mayOwn(r, nil); err != nil {
		return err
	}
	db.rows[key] = r
	return nil
}

// Move gives a row that owns objects another name. The objects of the new name
// were uploaded before.
func (db *DB) Move(key, name string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	r, err := db.row(key)
	if err != nil {
		return err
	}
	had := db.owns.of(r)
	moved := *r
	moved.Name = name
	if err := db.mayOwn(&moved, had); err != nil {
		return err
	}
	*r = moved
	db.leave(had, db.owns.of(r))
	return nil
}

// content returns a content, nil if there is none. What rows own has no
// separate row that could be missing.
func (db *DB) content(m *Mark) *Content {
	if db.owns.any() {
		return &Content{Key: m.Content, Object: m.Object}
	}
	return db.contents[m.Content]
}

// reaches reports whether an object may be deleted at all.
func (db *DB) reaches(object string) bool { return !db.owns.any() || db.owns.within.Reaches(object) }
