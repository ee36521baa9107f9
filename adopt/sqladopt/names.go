package sqladopt

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Collection is one collection of records in its database: adopt.Records,
// adopt.Contents and adopt.Cached.
type Collection struct {
	scope
	c adopt.Collection
	s *shape
	// only is a JSON list of the keys of the rows or contents to handle; empty
	// for all.
	only string
}

var (
	_ adopt.Records  = (*Collection)(nil)
	_ adopt.Contents = (*Collection)(nil)
	_ adopt.Cached   = (*Collection)(nil)
)

// Place returns the qualified name of the table of rows, as the database has it.
func (c *Collection) Place() string { return c.place }

// words are the names of a collection, by their placeholders.
type words map[string]string

// with adds words; those of the argument take precedence.
func (w words) with(more words) words {
	out := maps.Clone(w)
	if out == nil {
		out = words{}
	}
	maps.Copy(out, more)
	return out
}

// table quotes a name that may have a schema.
func table(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = sqldb.Quoted(p)
	}
	return strings.Join(parts, ".")
}

// source returns a query of one column as a row source of that name and column.
// The query may name a table of the application with the same name.
func source(query, name, column string) string {
	return fmt.Sprintf(`(WITH lethe_%[1]s("%[2]s") AS (%[3]s`+"\n"+`) SELECT * FROM lethe_%[1]s) AS %[1]s`, name, column, query)
}

// perUnit returns the microseconds in the unit of a column of numbers.
func perUnit(c column, unit string) (string, error) {
	per, ok := map[string]string{"s": "1000000", "ms": "1000", "us": "1"}[unit]
	if !ok {
		return "", fmt.Errorf("column %s is a number: say its unit (unit: s, ms or us since 1970)", c.name)
	}
	return per, nil
}

// claimWords returns the words of a claim. The instant of a claim is compared
// as its column stores it. A row gets the same one twice if it is given back and
// claimed again within a unit of the column, which docs/adopting-limits.md shows
// to be safe: a settle relies on the locked row.
func (db *DB) claimWords(w words, c adopt.Collection, s *shape) {
	st, i := c.Rows.Status, s.initiated
	w["{as initiated}"], w["{close initiated}"] = i.stamp.open, i.stamp.close
	w["{initiated}"] = sqldb.Quoted(c.Rows.Initiated)
	column := sqldb.Quoted(st.Column)
	w["{live}"] = column + " = " + sqldb.Literal(st.Live)
	w["{is live}"] = "r." + w["{live}"]
	w["{state}"] = db.engine.text("r."+column, s.rows.columns[st.Column])
	w["{claimed}"] = column + " = " + sqldb.Literal(st.Claimed)
	w["{is claimed}"] = "r." + w["{claimed}"]
	w["{is known}"] = w["{is live}"] + " OR " + w["{is claimed}"]
	if st.Deleted != "" {
		w["{is known}"] += " OR r." + column + " = " + sqldb.Literal(st.Deleted)
	}
	w["{deleted}"] = column + " = " + sqldb.Literal(st.Deleted)
	if c.Rows.Content != "" {
		w["{deleted}"] += ", " + sqldb.Quoted(c.Rows.Content) + " = NULL"
	}
}

// concatenation returns the expression of a template over the columns of a
// table; columns that are not in the list have no particular type.
func (db *DB) concatenation(t adopt.Template, alias string, columns map[string]column) string {
	var parts []string
	for i, l := range t.Literals() {
		if l != "" {
			parts = append(parts, sqldb.Literal(l))
		}
		if i < len(t.Columns()) {
			name := t.Columns()[i]
			parts = append(parts, db.engine.text(alias+"."+sqldb.Quoted(name), columns[name]))
		}
	}
	return strings.Join(parts, " || ")
}

// wordsOf returns the words of a collection.
func (db *DB) wordsOf(c adopt.Collection, s *shape) (words, error) {
	key := s.rows.columns[c.Rows.Key]
	w := words{
		"{rows}": table(c.Rows.Table), "{rows qualified}": s.rows.place, "{key}": sqldb.Quoted(c.Rows.Key),
		"{r key}": db.engine.text("r."+sqldb.Quoted(c.Rows.Key), key), "{key of id}": db.engine.value("id", key),
		"{canonical key}": db.engine.text(db.engine.value("?1", key), key),
		"{end text}":      db.engine.text("r."+sqldb.Quoted(c.Rows.End), s.rows.columns[c.Rows.End]),
		"{referenced}":    "FALSE", "{references}": "0", "{content}": "NULL", "{copies}": "", "{is live}": "TRUE", "{state}": "''", "{is known}": "TRUE",
		"{r end}": s.end.compared("r." + sqldb.Quoted(c.Rows.End)), "{as end}": s.end.at.open, "{close end}": s.end.at.close,
		"{is past}":      s.end.compared("r."+sqldb.Quoted(c.Rows.End)) + " <= " + s.end.at.open + "?1" + s.end.at.close,
		"{earliest end}": s.end.at.open + strconv.FormatInt(int64(implausible), 10) + s.end.at.close, "{micros}": s.end.micros.open, "{close micros}": s.end.micros.close,
	}
	w["{sound}"] = s.sound(c)
	// The text of the row that the database finds, which takes " 7" for 7.
	w["{canonical key}"] = fmt.Sprintf("coalesce((SELECT max(%s) FROM %s r WHERE r.%s = %s), %s)",
		w["{r key}"], w["{rows}"], w["{key}"], db.engine.value("?1", key), w["{canonical key}"])
	if c.Rows.Status != nil {
		db.claimWords(w, c, s)
	}
	for _, text := range c.Cache {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			return nil, err
		}
		w["{copies}"] += ", " + db.concatenation(t, "r", s.rows.columns)
	}
	if len(c.Rows.Objects) > 0 {
		return w, db.ownedWords(w, c, s)
	}
	if c.Contents == nil {
		return w, nil
	}
	return w, db.contentWords(w, c, s)
}

// variants reports whether a row may name a content by another text than that of its key.
func (s *shape) variants(c adopt.Collection) bool {
	return s.contents.columns[c.Contents.Key].variants || s.rows.columns[c.Rows.Content].variants
}

func (db *DB) contentWords(w words, c adopt.Collection, s *shape) error {
	object, err := adopt.ParseTemplate(c.Contents.Object)
	if err != nil {
		return err
	}
	key := s.contents.columns[c.Contents.Key]
	w["{content}"] = db.engine.text("r."+sqldb.Quoted(c.Rows.Content), s.rows.columns[c.Rows.Content])
	w["{content column}"] = sqldb.Quoted(c.Rows.Content)
	w["{contents}"], w["{ckey}"] = table(c.Contents.Table), sqldb.Quoted(c.Contents.Key)
	w["{contents qualified}"], w["{ckey type}"], w["{ckey base}"] = s.contents.place, key.kind, key.base
	w["{c key}"], w["{ckey of id}"] = db.engine.text("c."+sqldb.Quoted(c.Contents.Key), key), db.engine.value("id", key)
	if s.variants(c) {
		w["{content}"] = fmt.Sprintf("(SELECT %s FROM %s c WHERE c.%s = r.%s)", w["{c key}"], w["{contents}"], w["{ckey}"], w["{content column}"])
	}
	var exist, counts []string
	for _, r := range s.references(c) {
		exist = append(exist, r.exists(c))
		counts = append(counts, fmt.Sprintf("(SELECT count(*) FROM %s r WHERE %s)", r.table, r.names(c)))
	}
	w["{referenced}"], w["{references}"] = "("+strings.Join(exist, " OR ")+")", strings.Join(counts, " + ")
	w["{ckey after}"] = db.engine.value("nullif(?1, '')", key)
	w["{object}"] = db.concatenation(object, "c", s.contents.columns)
	w["{new object}"], w["{old object}"] = db.concatenation(object, "NEW", s.contents.columns), db.concatenation(object, "OLD", s.contents.columns)
	var same []string
	for _, name := range object.Columns() {
		same = append(same, fmt.Sprintf("c.%[1]s = NEW.%[1]s", sqldb.Quoted(name)))
	}
	w["{same object}"] = strings.Join(same, " AND ")
	w["{count}"], w["{c count}"], w["{unreferenced}"] = "0", "0", "TRUE"
	if c.Contents.Count != "" {
		w["{count}"] = sqldb.Quoted(c.Contents.Count)
		w["{c count}"] = "c." + w["{count}"]
		w["{unreferenced}"] = w["{c count}"] + " = 0"
	}
	return nil
}
