package adoptinterleave_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/interleave/stepwise"
)

// base is the time of the world, in microseconds since 1970.
const base lethe.Time = 1_893_456_000_000_000

// Ages of what the fixture has. The claim of the rows that are held is the fixture's.
const (
	ended   = -time.Hour
	stays   = time.Hour
	claimed = -10 * time.Minute
	stuck   = -5 * time.Hour
)

// marker is the fence of what the fixture has marked, silentMarker that of a worker that
// is silent.
const marker, silentMarker = 7, 9

// site is a collection with tables of its own: NAME_rows and NAME_content.
type site struct {
	name string
	// counted contents have a count, bound rows a foreign key to them; rows with a status
	// are claimed. Owning rows have no contents, but name objects of their own.
	counted, bound, status, owning bool
}

var sites = []site{
	{name: "pastes", counted: true, bound: true, status: true},
	{name: "loose", counted: true, status: true},
	{name: "bare"}, // neither counts nor claims
	{name: "files", status: true, owning: true},
	{name: "guarded", counted: true, bound: true, status: true}, // without marks that stand
}

func (s site) rows() string    { return s.name + "_rows" }
func (s site) content() string { return s.name + "_content" }

func (s site) description() adopt.Collection {
	c := adopt.Collection{Mode: adopt.Reclaim, Guard: adopt.TriggerGuard, Cache: []string{s.name + ":{code}"},
		Rows: adopt.Rows{Table: s.rows(), Key: "code", End: "expires_at"}}
	if s.status {
		c.Rows.Initiated = "initiated_at"
		c.Rows.Status = &adopt.Status{Column: "status", Live: "NOT_EXPIRED", Claimed: "DELETION_IN_PROGRESS"}
	}
	if s.owning {
		c.Rows.Objects = []string{"{object}"}
		return c
	}
	c.Grace.Unreferenced = new(adopt.Duration) // what End leaves is due at once
	c.Rows.Content = "hash"
	c.Contents = &adopt.Table{Table: s.content(), Key: "hash", Object: "content/{hash}"}
	if s.counted {
		c.Contents.Count = "ref_count"
	}
	return c
}

// tables makes the application's.
func (s site) tables() string {
	references, status := "", ""
	if s.bound {
		references = "REFERENCES " + s.content() + " DEFERRABLE"
	}
	if s.status {
		status = `, status text NOT NULL DEFAULT 'NOT_EXPIRED', initiated_at timestamptz`
	}
	if s.owning {
		return fmt.Sprintf(`CREATE TABLE albums (name text PRIMARY KEY); INSERT INTO albums VALUES ('album');
			CREATE TABLE %s (code text PRIMARY KEY, object text, album text REFERENCES albums ON DELETE CASCADE, expires_at timestamptz%s);`, s.rows(), status)
	}
	count := ""
	if s.counted {
		count = ", ref_count bigint NOT NULL CHECK (ref_count >= 0)"
	}
	return fmt.Sprintf("CREATE TABLE %s (hash text PRIMARY KEY%s);\nCREATE TABLE %s (code text PRIMARY KEY, hash text %s, expires_at timestamptz%s);",
		s.content(), count, s.rows(), references, status)
}

// instant is the text of a time, that long after the base; 0 is none.
func instant(after time.Duration) string {
	if after == 0 {
		return "NULL"
	}
	return fmt.Sprintf("timestamptz 'epoch' + %d * interval '1 microsecond'", int64(base)+after.Microseconds())
}

// put inserts a row, which names a content or an object.
func (s site) put(code, names string, end, initiated time.Duration) string {
	column, more, values := "hash", "", ""
	if s.owning {
		column = "object"
	}
	if initiated != 0 {
		more, values = ", status, initiated_at", ", 'DELETION_IN_PROGRESS', "+instant(initiated)
	}
	return fmt.Sprintf("INSERT INTO %s (code, %s, expires_at%s) VALUES ('%s', '%s', %s%s);\n", s.rows(), column, more, code, names, instant(end), values)
}

// store inserts contents with a count.
func (s site) store(count int, hashes ...string) (list string) {
	for _, h := range hashes {
		switch {
		case s.owning:
		case s.counted:
			list += fmt.Sprintf("INSERT INTO %s VALUES ('%s', %d);\n", s.content(), h, count)
		default:
			list += fmt.Sprintf("INSERT INTO %s VALUES ('%s');\n", s.content(), h)
		}
	}
	return list
}

// condemn writes a content down.
func (s site) condemn(content string, state int, due time.Duration, fence int) string {
	return s.tries(content, state, due, fence, state-1)
}

// tries writes a content down whose deletion was tried so often.
func (s site) tries(content string, state int, due time.Duration, fence, attempts int) string {
	object := "content/" + content
	if s.owning {
		object = content
	}
	return fmt.Sprintf("INSERT INTO lethe.condemned (collection, content, object, state, due_at, fence, attempts) VALUES ('%s', '%s', '%s', %d, %d, %d, %d);\n",
		s.name, content, object, state, base.Add(due), fence, attempts)
}

// fill is what the tables of a site hold.
func (s site) fill() string {
	list := s.store(0, "zero") + s.condemn("zero", 1, ended, 0)
	if s.name == "guarded" {
		return list
	}
	list += s.store(0, "found", "marked", "silent") + s.store(1, "one", "kept") + s.store(2, "two") +
		s.condemn("marked", 2, stays, marker) + s.condemn("silent", 2, ended, silentMarker) + s.condemn("over", 3, ended, 0) +
		s.condemn("kept", 1, ended, 0) + s.tries("forgotten", 1, ended, 0, 1) +
		s.put("last", "one", ended, 0) + s.put("keep", "kept", 0, 0) + s.put("other", "two", 0, 0)
	if !s.status {
		return list + s.store(1, "again") + s.condemn("again", 1, ended, 0) + s.put("held again", "again", ended, 0)
	}
	list += s.store(1, "solo", "again", "tried", "extended") + s.store(2, "stuck") + s.condemn("again", 1, ended, 0) +
		s.tries("tried", 1, ended, 0, 1) + s.put("held tried", "tried", ended, claimed) +
		s.put("held two", "two", ended, claimed) + s.put("held solo", "solo", ended, claimed) + s.put("held again", "again", ended, claimed) +
		s.put("held extended", "extended", stays, claimed) + s.put("held stuck", "stuck", ended, claimed) + s.put("stuck", "stuck", stuck, stuck)
	if s.counted {
		list += s.store(5, "drift") + s.put("drift", "drift", 0, 0)
	}
	if s.owning {
		list += s.put("child", "born", 0, 0) + "UPDATE files_rows SET album = 'album' WHERE code = 'child';" + s.condemn("born", 1, ended, 0)
	}
	return list + fmt.Sprintf("INSERT INTO lethe.cache_due (collection, due_at, keys) VALUES ('%s', %d, '[\"%s:old\"]');\n", s.name, base.Add(ended), s.name)
}

// fixture makes the application's tables and the clock.
func fixture() string {
	list := `CREATE SCHEMA clock; CREATE TABLE clock.now (at bigint); INSERT INTO clock.now VALUES (0);
		CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$
			SELECT timestamptz 'epoch' + (at + current_setting('clock.slot')::int + 1) * interval '1 microsecond' FROM clock.now $$;
		CREATE TABLE topics (name text); INSERT INTO topics VALUES ('lives'), ('stays');
		CREATE TABLE uploads (key text); INSERT INTO uploads VALUES ('lives'), ('stays');
	`
	for _, s := range sites {
		list += s.tables()
	}
	return list
}

// rows fills the tables, Lethe's with them.
func rows() string {
	var list strings.Builder
	for _, s := range sites {
		list.WriteString(s.fill())
		fmt.Fprintf(&list, "INSERT INTO lethe.collections (name) VALUES ('%s');\n", s.name)
	}
	list.WriteString("INSERT INTO lethe.collections (name) VALUES (''), ('topics'), ('uploads');")
	list.WriteString(`UPDATE lethe.collections SET holds = 1 WHERE name = 'guarded';
		INSERT INTO lethe.holds (collection, scope, "key", reason, set_by, set_at, until_at) VALUES ('guarded', 3, 'kept', '', '', 0, 0);`)
	for i, name := range []string{"seen", "condemned", "marked", "purging"} {
		fmt.Fprintf(&list, "INSERT INTO lethe.folders (collection, name, state, seen_at, marked_at, marker_at) VALUES ('topics', '%s', %d, %d, %d, %d);\n",
			name, i+1, base.Add(stuck), base.Add(ended), base.Add(ended))
	}
	for _, key := range []string{"old", "older"} {
		fmt.Fprintf(&list, "INSERT INTO lethe.orphans (collection, key, size, modified, since_at, seen_at) VALUES ('uploads', '%s', 1, 1, %d, %d);\n", key, base.Add(stuck), base.Add(ended))
	}
	for _, q := range []struct {
		key                string
		state, fence       int
		due, until, wanted time.Duration
	}{
		{"moving", 1, marker, stays, 0, 0}, {"stale", 1, silentMarker, ended, 0, 0}, {"held", 2, silentMarker, 0, ended, 0},
		{"wanted", 2, silentMarker, 0, ended, 1}, {"claimed", 4, marker, stays, ended, 0},
	} {
		fmt.Fprintf(&list, `INSERT INTO lethe.quarantined (collection, key, copy, size, tag, state, fence, due_at, since_at, until_at, wanted)
			VALUES ('uploads', '%s', 'away/%[1]s', 1, 'tag', %d, %d, %d, %d, %d, %d);`, q.key, q.state, q.fence, when(q.due), base.Add(stuck), when(q.until), q.wanted)
	}
	return list.String()
}

// when is a time that long after the base; 0 is none.
func when(after time.Duration) lethe.Time {
	if after == 0 {
		return 0
	}
	return base.Add(after)
}

// compared are the tables, with times by the minute from the base, as the actors' clocks
// differ, and without numbers that leave gaps.
func compared() []stepwise.Table {
	minutes := func(column string) string { return fmt.Sprintf("round((%s - %d) / 60000000.0)", column, int64(base)) }
	times := func(columns ...string) string {
		row := "(to_jsonb(t)"
		for _, c := range columns {
			row += fmt.Sprintf(" || jsonb_build_object('%s', CASE WHEN t.%s <> 0 THEN %s END)", c, c, minutes("t."+c))
		}
		return row + ")::text"
	}
	claim := "(extract(epoch FROM t.initiated_at) * 1000000)::bigint"
	out := []stepwise.Table{
		{Name: "lethe.condemned", Row: times("due_at", "marked_at", "unseen_until")},
		{Name: "lethe.cache_due", Row: "t::text", Blurred: true, // the batches
			From: "(SELECT collection, " + minutes("due_at") + ", jsonb_array_elements_text(keys::jsonb) FROM lethe.cache_due) t"},
		{Name: "lethe.folders", Row: times("seen_at", "marked_at", "marker_at", "allowed_at")},
		{Name: "lethe.orphans", Row: times("since_at", "seen_at", "allowed_at")},
		{Name: "lethe.live_rows", Row: times("at")},
		{Name: "lethe.receipts", Row: "t::text", Blurred: true,
			From: "(SELECT collection, kind, " + minutes("at") + ", jsonb_array_elements_text(keys::jsonb) FROM lethe.receipts) t"},
		{Name: "lethe.quarantined", Row: times("due_at", "since_at", "until_at", "late_at")},
		{Name: "lethe.collections"}, {Name: "lethe.holds", Row: times("set_at")},
		{Name: "topics"}, {Name: "uploads"}, {Name: "albums"},
	}
	for _, s := range sites {
		t := stepwise.Table{Name: s.rows()}
		if s.status { // whose claim it is shows in the microseconds
			t.Row = fmt.Sprintf(`(to_jsonb(t) || jsonb_build_object('initiated_at', CASE WHEN %s > %d
				THEN 'actor ' || %s %% 1000000 - 1 ELSE %s::text END))::text`, claim, int64(base), claim, minutes(claim))
		}
		out = append(out, t)
		if !s.owning {
			out = append(out, stepwise.Table{Name: s.content()})
		}
	}
	return out
}
