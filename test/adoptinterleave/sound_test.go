package adoptinterleave_test

import (
	"fmt"

	"github.com/jackc/pgx/v5"
)

// broken are queries of what breaks what has to hold of a site's rows.
func (s site) broken() map[string]string {
	marked := func(names string) string {
		return fmt.Sprintf(`SELECT r.code FROM %s r JOIN lethe.condemned d ON d.collection = '%s' AND d.content = r.%s AND (d.state = 2 OR d.state = 3 AND d.due_at > (SELECT at FROM clock.now))`, s.rows(), s.name, names)
	}
	if s.owning {
		return map[string]string{
			"no row names an object that is being deleted": marked("object"),
			"what no row names is written down": fmt.Sprintf(`SELECT o FROM unnest(ARRAY['one', 'kept', 'two', 'solo', 'again', 'tried', 'extended', 'stuck', 'born']) o
				WHERE NOT EXISTS (SELECT 1 FROM %s WHERE object = o) AND NOT EXISTS (SELECT 1 FROM lethe.condemned WHERE collection = '%s' AND content = o)`, s.rows(), s.name),
		}
	}
	out := map[string]string{
		"no row names a content that is being deleted": marked("hash"),
		"a row's content is there":                     fmt.Sprintf(`SELECT code FROM %s WHERE hash NOT IN (SELECT hash FROM %s)`, s.rows(), s.content()),
	}
	if s.counted {
		out["counts are right"] = fmt.Sprintf(`SELECT hash FROM %s c WHERE hash <> 'drift' AND ref_count <> (SELECT count(*) FROM %s r WHERE r.hash = c.hash)`, s.content(), s.rows())
	}
	return out
}

// sound checks that all holds that has to.
func (w *world) sound(when string) {
	w.Helper()
	for _, s := range sites {
		for what, query := range s.broken() {
			rows, err := w.direct.Query(w.ctx, query)
			if err != nil {
				w.Fatal(err)
			}
			names, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				w.Fatal(err)
			}
			if len(names) > 0 {
				w.Errorf("%s: it does not hold that %s: %v of %s", when, what, names, s.name)
			}
		}
	}
}
