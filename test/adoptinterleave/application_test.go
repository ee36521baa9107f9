package adoptinterleave_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// isolations are those of the application's transactions, with what their actions' names
// end in.
var isolations = []struct {
	level pgx.TxIsoLevel
	name  string
}{{pgx.ReadCommitted, ""}, {pgx.RepeatableRead, " (repeatable read)"}, {pgx.Serializable, " (serializable)"}}

// write is a transaction of the application.
type write struct {
	pgx.Tx
	*act
	site
}

// one runs a statement that has to change one row.
func (w write) one(query string, args ...any) error {
	tag, err := w.Exec(w.ctx, query, args...)
	if err == nil && tag.RowsAffected() != 1 {
		err = pgx.ErrNoRows
	}
	return err
}

// app makes an action of a transaction of the application, one for each isolation.
func (s site) app(name string, on []string, run func(w write) error) (out []action) {
	for _, i := range isolations {
		out = append(out, action{name: s.name + ": " + name + i.name, site: s.name, on: on, app: true, run: func(a *act) (any, error) {
			return nil, a.transact(i.level, func(tx pgx.Tx) error {
				// The snapshot is older than what the transaction does, as where it reads first.
				if _, err := tx.Exec(a.ctx, "SELECT 1 FROM "+s.rows()+" LIMIT 1"); err != nil {
					return err
				}
				return run(write{tx, a, s})
			})
		}})
	}
	return out
}

// take refers to a content once more.
func (w write) take(content string) error {
	if !w.counted {
		_, err := w.Exec(w.ctx, "INSERT INTO "+w.content()+" VALUES ($1) ON CONFLICT DO NOTHING", content)
		return err
	}
	return w.one("INSERT INTO "+w.content()+" AS c VALUES ($1, 1) ON CONFLICT (hash) DO UPDATE SET ref_count = c.ref_count + 1", content)
}

// release refers to it once less.
func (w write) release(content string) error {
	if !w.counted {
		return nil
	}
	return w.one("UPDATE "+w.content()+" SET ref_count = ref_count - 1 WHERE hash = $1", content)
}

// swap refers to one in the place of another, in the order of their keys.
func (w write) swap(old, content string) error {
	steps := []func() error{func() error { return w.take(content) }, func() error { return w.release(old) }}
	if old < content {
		slices.Reverse(steps)
	}
	return errors.Join(steps[0](), steps[1]())
}

// insert inserts a row.
func (w write) insert(names string) error {
	_, err := w.Exec(w.ctx, w.put("new", names, stays, 0))
	return err
}

// move lets a row name another content.
func (w write) move(code, content string) error {
	var old string
	if err := w.QueryRow(w.ctx, "SELECT hash FROM "+w.rows()+" WHERE code = $1 FOR UPDATE", code).Scan(&old); err != nil {
		return err
	}
	if err := w.swap(old, content); err != nil {
		return err
	}
	return w.one("UPDATE "+w.rows()+" SET hash = $2 WHERE code = $1", code, content)
}

// remove removes a row.
func (w write) remove(code string) error {
	var old string
	if err := w.QueryRow(w.ctx, "DELETE FROM "+w.rows()+" WHERE code = $1 RETURNING hash", code).Scan(&old); err != nil {
		return err
	}
	return w.release(old)
}

// extend lets a row end later.
func (w write) extend(code string) error {
	return w.one("UPDATE "+w.rows()+" SET expires_at = "+instant(2*time.Hour)+" WHERE code = $1", code)
}

// writers are transactions on rows and contents.
func (s site) writers() (out []action) {
	for _, content := range []string{"zero", "found", "marked", "silent", "over", "kept", "one", "solo", "again", "forgotten", "drift"} {
		if strings.Contains("solo drift", content) && !s.status || content == "drift" && !s.counted {
			continue
		}
		out = append(out, s.app("put "+content, []string{content}, func(w write) error {
			if err := w.take(content); err != nil {
				return err
			}
			return w.insert(content)
		})...)
	}
	for _, content := range []string{"zero", "marked", "silent", "solo", "tried"} {
		expires := content == "solo" || content == "tried" // a row refers to it
		if expires && !s.status {
			continue
		}
		if s.counted { // its row would follow in a transaction of its own: until then the count is too high
			for _, x := range s.app("take "+content, []string{content}, func(w write) error { return w.take(content) }) {
				x.unsound = true
				out = append(out, x)
			}
		}
		out = append(out, slices.Concat(
			s.app("row first of "+content, []string{content}, func(w write) error {
				if _, err := w.Exec(w.ctx, "SET CONSTRAINTS ALL DEFERRED"); err != nil {
					return err
				}
				if err := w.insert(content); err != nil {
					return err
				}
				return w.take(content)
			}),
			s.app("move keep to "+content, []string{"keep", "kept", content}, func(w write) error { return w.move("keep", content) }),
		)...)
		if !expires {
			out = append(out, s.app("store "+content+" anew", []string{content}, func(w write) error {
				if _, err := w.Exec(w.ctx, "DELETE FROM "+w.content()+" WHERE hash = $1", content); err != nil {
					return err
				}
				if err := w.take(content); err != nil {
					return err
				}
				return w.insert(content)
			})...)
		}
		if !s.counted {
			out = append(out, s.app("refer to "+content, []string{content}, func(w write) error { return w.insert(content) })...)
			continue
		}
		out = append(out, s.app("take_ of "+content, []string{content}, func(w write) error {
			var there bool
			if err := w.QueryRow(w.ctx, fmt.Sprintf("SELECT lethe.take_%s($1)", w.site.name), content).Scan(&there); err != nil || !there {
				return err
			}
			return w.insert(content)
		})...)
	}
	return append(out, s.changes()...)
}

// changes are transactions on rows that are there.
func (s site) changes() (out []action) {
	codes := []string{"last", "held two", "held solo", "held again", "stuck", "keep"}
	if !s.status {
		codes = []string{"last", "held again", "keep"}
	}
	for _, code := range codes {
		out = append(out, slices.Concat(
			s.app("extend "+code, []string{code}, func(w write) error { return w.extend(code) }),
			s.app("delete "+code, []string{code}, func(w write) error { return w.remove(code) }),
		)...)
		if code != "keep" {
			out = append(out, s.app("move "+code+" to zero", []string{code, "zero"}, func(w write) error { return w.move(code, "zero") })...)
		}
	}
	out = append(out, s.app("delete other", []string{"two"}, func(w write) error { return w.remove("other") })...)
	if s.counted {
		out = append(out, s.app("release_ of one", []string{"last", "one"}, func(w write) error {
			if _, err := w.Exec(w.ctx, "DELETE FROM "+w.rows()+" WHERE code = 'last'"); err != nil {
				return err
			}
			_, err := w.Exec(w.ctx, fmt.Sprintf("SELECT lethe.release_%s('one')", w.site.name))
			return err
		})...)
	}
	if s.counted { // past the guard, and so against what has to hold
		for _, x := range s.app("meddle with marked", []string{"marked"}, func(w write) error {
			if _, err := w.Exec(w.ctx, "SET LOCAL session_replication_role = replica"); err != nil { // no trigger fires
				return err
			}
			if err := w.one("UPDATE " + s.content() + " SET ref_count = ref_count + 1 WHERE hash = 'marked'"); err != nil {
				return err
			}
			return w.insert("marked")
		}) {
			x.unsound = true
			out = append(out, x)
		}
	}
	return append(out, s.app("drop zero", []string{"zero"}, func(w write) error {
		_, err := w.Exec(w.ctx, "DELETE FROM "+w.content()+" WHERE hash = 'zero'")
		return err
	})...)
}

// owners are transactions on rows that own objects.
func (s site) owners() (out []action) {
	for _, key := range []string{"zero", "marked", "silent", "over", "solo", "again", "tried", "forgotten", "born"} {
		out = append(out, slices.Concat(
			s.app("name "+key, []string{key}, func(w write) error { return w.insert(key) }),
			s.app("rename keep to "+key, []string{"kept", key}, func(w write) error {
				return w.one("UPDATE "+w.rows()+" SET object = $1 WHERE code = 'keep'", key)
			}),
		)...)
	}
	for code, key := range map[string]string{"last": "one", "held solo": "solo", "held again": "again", "child": "born", "keep": "kept", "stuck": "stuck"} {
		out = append(out, slices.Concat(
			s.app("extend "+code, []string{code}, func(w write) error { return w.extend(code) }),
			s.app("delete "+code, []string{code, key}, func(w write) error { return w.one("DELETE FROM "+w.rows()+" WHERE code = $1", code) }),
		)...)
	}
	return append(out, s.app("delete the album", []string{"born"}, func(w write) error { return w.one("DELETE FROM albums") })...)
}
