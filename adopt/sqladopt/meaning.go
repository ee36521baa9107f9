package sqladopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	wording "github.com/lethe-storage/lethe/internal/words"
)

// What stands in lethe.condemned is the name of a content, an object or a folder: which of them,
// and of a content by which key, only the description says. By another description the name
// would not be found, and an object that a row names would go; or it would be forgotten, and
// the object stay. The meaning is recorded, and changes when nothing waits under it.

const (
	readMeaning   = `SELECT meaning FROM {lethe}meanings WHERE collection = ?1`
	dropMeaning   = `DELETE FROM {lethe}meanings WHERE collection = ?1`
	insertMeaning = `INSERT INTO {lethe}meanings (collection, meaning) VALUES (?1, ?2)`
	dropNames     = `DELETE FROM {lethe}condemned WHERE collection = ?1`
	// meant counts what cannot be forgotten: ?3 is 1 if Lethe alone knows of all that waits,
	// ?4 if marks that are over are looked at again.
	meant = `SELECT count(*) FROM {lethe}condemned d WHERE d.collection = ?1
		AND (d.state = 2 OR d.state = 1 AND (d.attempts > 0 OR ?3 = 1) OR d.state = 3 AND (d.due_at > ?2 OR ?4 = 1))`
)

// Meanings of collections whose names are whole keys: whatever templates they came from, a row
// is looked for by all of today's.
const (
	meansObjects = "rows with objects"
	meansFolders = "rows with folders"
)

// meansContents is the meaning of contents of which no key was recorded.
const meansContents = "contents"

// errMeaning reports that what waits may be of another description. Nothing was done.
var errMeaning = errors.New("what waits has not been compared with the description yet")

// meaning returns what a name of the collection in lethe.condemned stands for.
func (c *Collection) meaning() string {
	switch {
	case c.c.Contents != nil:
		return fmt.Sprintf("contents with the key %s and the object %s", c.c.Contents.Key, c.c.Contents.Object)
	case c.c.Rows.OwnFolders():
		return meansFolders
	}
	return meansObjects
}

// ofLethe returns 1 if Lethe alone knows of what waits by a meaning. Contents that wait have
// rows, and are found again.
func ofLethe(meaning string) int {
	if meaning == meansObjects || meaning == meansFolders {
		return 1
	}
	return 0
}

// recorded returns the meaning of what waits; empty before there was one.
func (c *Collection) recorded(t *tx) (string, error) {
	if there, err := c.db.engine.has(t, "meanings"); err != nil || !there {
		return "", err
	}
	list, err := all(t, text, readMeaning, c.name)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0], nil
}

// shown returns the meaning that the installed guard shows if it is of another kind; no other
// can be told where none was recorded, as in an installation of before.
func (c *Collection) shown(t *tx) (string, error) {
	list, err := t.installed(c.db.engine, c.name)
	if err != nil || len(list) == 0 || list[0].table == "" {
		return "", err
	}
	owned := slices.ContainsFunc(list, func(x installed) bool { return strings.HasSuffix(x.text, `_left"`) })
	switch there, err := c.db.engine.has(t, "condemned"); {
	case err != nil || !there || owned == (c.c.Contents == nil):
		return "", err
	case owned:
		return meansObjects, nil
	}
	return meansContents, nil
}

// keepShown records the meaning that the installed guard shows, before it is dropped.
func (c *Collection) keepShown(t *tx) error {
	was, err := c.recorded(t)
	if err != nil || was != "" {
		return err
	}
	if was, err = c.shown(t); err == nil && was != "" {
		_, err = t.exec(insertMeaning, c.name, was)
	}
	return err
}

// means returns errMeaning unless what waits is of this description. The collection is locked.
func (c *Collection) means(t *tx) error {
	list, err := all(t, text, readMeaning, c.name)
	if err == nil && (len(list) != 1 || list[0] != c.meaning()) {
		err = errMeaning
	}
	return err
}

// waitsOtherwise describes what waits and has another meaning; empty if nothing does.
func (c *Collection) waitsOtherwise(t *tx) (what string, err error) {
	was, err := c.recorded(t)
	if err == nil && was == "" {
		was, err = c.shown(t)
	}
	if err != nil || was == "" || was == c.meaning() {
		return "", err
	}
	again := 0
	if c.c.Guard == adopt.QuarantineGuard {
		again = 1
	}
	var n int64
	if err := t.row(meant, c.name, t.now, ofLethe(was), again).Scan(&n); err != nil || n == 0 {
		return "", err
	}
	return fmt.Sprintf("%s for a description of %s as %s, and this one is of %s", wording.Plural(n, "object waits", "objects wait"), c.name, was, c.meaning()), nil
}

// endOtherwise is what to do about it.
const endOtherwise = "let \"lethe adopt run\" end what waits, with that description in mode reclaim and its guard installed, and try again; or leave it in the bucket: \"lethe adopt remove --forget\""

// mayMean returns an error while something waits that has another meaning.
func (c *Collection) mayMean(t *tx) error {
	what, err := c.waitsOtherwise(t)
	if err == nil && what != "" {
		err = errors.New(what + ": " + endOtherwise)
	}
	return err
}

// describe records what names mean from here on, and fails as mayMean does. It is alone: nobody
// marks. Names of contents are forgotten where keys of objects are meant now: such a content
// has its row, and may be found again.
func (c *Collection) describe(t *tx) error {
	if _, err := c.lock(t, lockAlone); err != nil {
		return err
	}
	was, err := c.recorded(t)
	if err != nil || was == c.meaning() {
		return err
	}
	if err := c.mayMean(t); err != nil {
		return err
	}
	if was != "" && ofLethe(was) != ofLethe(c.meaning()) {
		if _, err := t.exec(dropNames, c.name); err != nil {
			return err
		}
	}
	if _, err := t.exec(dropMeaning, c.name); err != nil {
		return err
	}
	_, err = t.exec(insertMeaning, c.name, c.meaning())
	return err
}

// otherMeaning finds what waits by another description.
func (c *Collection) otherMeaning(ctx context.Context) (out []adopt.Finding, err error) {
	err = c.read(ctx, "compare the description with what waits", func(t *tx) error {
		out = nil
		what, err := c.waitsOtherwise(t)
		if err == nil && what != "" {
			out = []adopt.Finding{{Problem: true, What: what, Do: endOtherwise}}
		}
		return err
	})
	return out, err
}
