package adopt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe/internal/words"
)

// TableInfo is the input of Propose about a table.
type TableInfo struct {
	Name    string
	Columns []ColumnInfo
	Key     []string          // of its primary key
	Refers  map[string]string // column to the table of its foreign key
	// Unread is why its rows could not be sampled.
	Unread string
	// Parted: it has partitions. Dotted: a dot in its name, or in that of its schema, which
	// a file cannot have.
	Parted, Dotted bool
}

// ColumnInfo is a column with its type and sampled values.
type ColumnInfo struct {
	Name, Kind string
	Values     []string
}

// ProposeOptions are the settings that Propose writes besides the tables; empty
// ones are left to fill in.
type ProposeOptions struct {
	Database, Redis, Endpoint, Bucket string
	Path                              string // of a folder on a disk, instead of a bucket
	// Variable is the variable of the environment that Database was taken from.
	// The file names it instead of the URL, which has a password.
	Variable string
	// Objects are some keys of the bucket, and Copies of the cache.
	Objects, Copies []string
	// ClaimColumns returns the statements that add the columns of a claim to a
	// table. It is never nil.
	ClaimColumns func(t TableInfo, end string) []string
}

var (
	endNames     = regexp.MustCompile(`(?i)^(expires?(_?(at|on|time|date|ts|unix|ms))?|expired_?(at|on|ts|unix)|(expiry|expiration)(_?(at|date|time|ts|unix|ms))?|(valid|keep|kept|retain|retained|retention|available)_?(until|to)(_?(ts|unix|ms))?|retention_ends?(_at)?|ends?_at|(delete|purge|destroy|remove)_(after|on))$`)
	deletedNames = regexp.MustCompile(`(?i)^(deleted?|removed|trashed)_?(at|on|date|time|ts|unix)$`)
	countNames   = regexp.MustCompile(`(?i)^(ref_?count|refs|references|reference_count|ref_cnt|use_count|usage_count)$`)
	objectNames  = regexp.MustCompile(`(?i)^(object_?key|s3_?key|storage_?key|blob_?key|file_?key|object_?path|storage_?path|object_name|key|path)$`)
	statusNames  = regexp.MustCompile(`(?i)^(deletion_status|delete_status|gc_status|cleanup_status)$`)
	initNames    = regexp.MustCompile(`(?i)^(deletion_initiated_at|deletion_started_at|claimed_at|delete_started_at)$`)
)

func (t TableInfo) column(name *regexp.Regexp, kinds ...string) string {
	for _, c := range t.Columns {
		if name.MatchString(c.Name) && !strings.HasSuffix(c.Kind, "[]") && (len(kinds) == 0 || slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(c.Kind, k) })) {
			return c.Name
		}
	}
	return ""
}

var timeKinds = []string{"timestamp", "date", "bigint", "integer", "numeric"}

// Propose writes a description for the tables that look like rows that expire,
// with the reasons as comments. Every collection only reports. Finding nothing
// is not an error: the file describes what was looked for.
func Propose(tables []TableInfo, s ProposeOptions) string {
	var b strings.Builder
	b.WriteString("# Proposed by \"lethe adopt init\" from names and types: read it before you use it.\n")
	b.WriteString("# Then: lethe adopt check FILE. Nothing is deleted before a mode is set to reclaim.\n")
	b.WriteString(s.database())
	if s.Redis != "" {
		fmt.Fprintf(&b, "redis: %s\n", s.Redis)
	} else {
		b.WriteString("# redis: redis://host:6379/0     # if rows are cached there, beside cache: below\n")
	}
	b.WriteString("buckets:\n  main:\n" + s.bucket() + "\ncollections:\n")
	p := proposal{map[string]TableInfo{}, indexed(s.Objects), s, map[string]string{}, map[string]bool{}, map[string]bool{}}
	dotted := slices.DeleteFunc(slices.Clone(tables), func(t TableInfo) bool { return !t.Dotted })
	tables = slices.DeleteFunc(slices.Clone(tables), func(t TableInfo) bool { return t.Dotted })
	for _, t := range tables {
		p.tables[t.Name] = t
	}
	found := 0
	for _, t := range tables {
		if text := p.rows(t); text != "" {
			b.WriteString(text)
			found++
		}
	}
	text, endless := p.endless(tables)
	b.WriteString(text)
	if found == 0 && len(p.prefixes) == 0 {
		fmt.Fprintf(&b, "  # Of %s none has a primary key of one column and a column that looks like an end\n", words.Plural(int64(len(tables)), "table", "tables"))
		b.WriteString("  # (expires_at, expiry, valid_until, deleted_at ..), and no column names objects or folders of what was\n")
		b.WriteString("  # looked at (--bucket, --path): describe yours as docs/adopting.md says.\n  {}\n")
	}
	hidden := ""
	for _, t := range tables {
		if t.end() == "" && len(p.index.hiddenColumns(t)) > 0 {
			hidden += p.hiddenIn(t, "")
			endless = append(endless, t.Name)
		}
	}
	b.WriteString(leftOut(tables, endless) + hidden)
	for _, t := range dotted {
		b.WriteString("# Not described, as a file cannot have the dot in its name: " + comment(t.Name) + ". A query of keys has to have what it names.\n")
	}
	return b.String()
}

// leftOut names the tables that are not described, besides those without an end
// that are.
func leftOut(tables []TableInfo, described []string) string {
	var endless, compound, unread []string
	for _, t := range tables {
		referred := slices.ContainsFunc(tables, func(from TableInfo) bool {
			return from.end() != "" && slices.Contains(slices.Collect(maps.Values(from.Refers)), t.Name)
		})
		switch {
		case t.end() != "" && len(t.Key) != 1:
			compound = append(compound, comment(t.Name))
		case t.end() != "", slices.Contains(described, t.Name):
		case t.Unread != "":
			unread = append(unread, comment(t.Name)+" ("+comment(t.Unread)+")")
		case referred && t.column(countNames) != "": // the contents of another
		default:
			endless = append(endless, comment(t.Name))
		}
	}
	text := ""
	if len(endless) > 0 {
		text += "# Not described, as no column of theirs looks like an end, or names objects: " + strings.Join(endless, ", ") + ".\n"
	}
	if len(unread) > 0 {
		text += "# Not compared with the objects, as their rows could not be read: " + strings.Join(unread, ", ") + ".\n" +
			"# A query of keys has to have what they name: grant SELECT, and propose again.\n"
	}
	if len(compound) > 0 {
		text += "# Not described, as their primary key is not one column: " + strings.Join(compound, ", ") + ".\n"
	}
	return text
}

// end returns the column that looks like an end, or like a soft delete.
func (t TableInfo) end() string {
	return or(t.column(endNames, timeKinds...), t.column(deletedNames, timeKinds...))
}

// database returns the variable that has the URL.
func (s ProposeOptions) database() string {
	if s.Database != "" {
		return fmt.Sprintf("database: %s\n", s.Database)
	}
	name, given := "DATABASE_URL", ""
	if s.Variable != "" {
		name = s.Variable
	} else {
		given = "   # set it to the URL that you gave: a file has no passwords"
	}
	return fmt.Sprintf("database: ${%s}%s\n", name, given)
}

// bucket describes where objects are stored.
func (s ProposeOptions) bucket() string {
	if s.Path != "" {
		return fmt.Sprintf("    path: %q\n", s.Path)
	}
	return fmt.Sprintf("    endpoint: %s\n    bucket: %s\n", or(s.Endpoint, "${S3_ENDPOINT}"), or(s.Bucket, "${S3_BUCKET}")) +
		"    access_key: ${AWS_ACCESS_KEY_ID}\n    secret_key: ${AWS_SECRET_ACCESS_KEY}\n    path_style: true\n"
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// proposal is the input of a description.
type proposal struct {
	tables   map[string]TableInfo
	index    objectIndex
	options  ProposeOptions
	prefixes map[string]string // of the described collections, with their names
	names    map[string]bool
	hidden   map[string]bool // columns that a collection's query leaves out, as it says
}

// rows describes a table of rows that expire, "" if it has no expiry.
func (p proposal) rows(t TableInfo) string {
	end, why := t.column(endNames, timeKinds...), "its name and type say when a row ends"
	keep := ""
	if end == "" {
		if end = t.column(deletedNames, timeKinds...); end == "" {
			return ""
		}
		why, keep = "rows are deleted softly: they end some time after it", "      keep: 30d                  # how long a row stays after that\n"
	}
	if len(t.Key) != 1 {
		return ""
	}
	var b strings.Builder
	line := func(indent int, key, value, comment string) { b.WriteString(settingLine(indent, key, value, comment)) }
	has := p.contents(t)
	if other := p.collectionAt(has.prefix); other != "" {
		return fmt.Sprintf("  # %s is not described: its objects lie below %s, beside or in what the collection of %s has, and\n"+
			"  # each has a prefix of its own. Where no object is of both, describe it in a file of its own.\n", comment(t.Name), comment(has.prefix), other)
	}
	name := p.collection(t.Name)
	fmt.Fprintf(&b, "  %s:\n", name)
	line(4, "mode", "report", "then reclaim")
	b.WriteString("    rows:\n")
	line(6, "table", scalar(t.Name), "")
	line(6, "key", scalar(t.Key[0]), "its primary key")
	line(6, "end", scalar(end), why)
	if from := p.endlessReferrers(t); keep == "" && from != "" {
		fmt.Fprintf(&b, "      # Rows of %s refer to these, and have no end of their own: do these rows go at their end? If only\n"+
			"      # what they stand for ends then (a poll, an offer) and the rows stay, leave out this collection.\n", from)
	}
	b.WriteString(keep)
	b.WriteString(endSettings(t, end))
	status, initiated := t.column(statusNames), t.column(initNames, timeKinds...)
	if status != "" && initiated != "" {
		line(6, "status", fmt.Sprintf("{column: %s, live: NOT_EXPIRED, claimed: DELETION_IN_PROGRESS}", scalar(status)), "check its values")
		line(6, "initiated", scalar(initiated), "when a claim began")
	} else {
		b.WriteString(proposeClaim(p.options.ClaimColumns(t, end)))
	}
	b.WriteString(has.text)
	if has.prefix != "" {
		b.WriteString("    bucket: main\n" + p.prefix(name, has.prefix, "what the keys of all its objects begin with") +
			"    guard: trigger               # lethe adopt guard install; without one objects stay\n" +
			or(p.copies(t), "    # cache: ["+strconv.Quote("prefix:{"+t.Key[0]+"}")+"]  # keys of copies in Redis\n"))
	}
	return b.String()
}

// endSettings describes how the values of the column of ends are to be read.
func endSettings(t TableInfo, end string) (text string) {
	for _, c := range t.Columns {
		if c.Name != end {
			continue
		}
		if slices.Contains([]string{"timestamp without time zone", "date"}, c.Kind) {
			text += settingLine(6, "zone", "UTC", "it is stored without a zone: which one is it in?")
		}
		if slices.Contains([]string{"bigint", "integer", "numeric"}, c.Kind) {
			text += settingLine(6, "unit", unitOf(c.Values), "s, ms or us since 1970")
			if slices.Contains(c.Values, "0") {
				text += fmt.Sprintf("      # 0 counts as 1970, and check refuses it: name a column generated by NULLIF(%s, 0).\n", comment(Identifier(end)))
			}
		}
	}
	return text
}

// unitOf returns the unit in which most sampled values of an end are times after 1973: before that
// the numbers of one unit are those of another.
func unitOf(values []string) string {
	of := map[string]int{}
	for _, v := range values {
		switch n, err := strconv.ParseInt(v, 10, 64); {
		case err != nil || n < 1e8:
		case n < 1e11:
			of["s"]++
		case n < 1e14:
			of["ms"]++
		default:
			of["us"]++
		}
	}
	unit := "s"
	for _, other := range []string{"ms", "us"} {
		if of[other] > of[unit] {
			unit = other
		}
	}
	return unit
}

// settingLine is a line of a description, with a comment unless that is empty.
func settingLine(indent int, key, value, comment string) string {
	text := strings.Repeat(" ", indent) + key + ": " + value
	if comment != "" {
		text = fmt.Sprintf("%-32s # %s", text, comment)
	}
	return text + "\n"
}

// endlessReferrers returns the tables without an end whose rows refer to those of a table.
func (p proposal) endlessReferrers(t TableInfo) string {
	var from []string
	for _, name := range slices.Sorted(maps.Keys(p.tables)) {
		o := p.tables[name]
		if name != t.Name && o.end() == "" && slices.Contains(slices.Collect(maps.Values(o.Refers)), t.Name) {
			from = append(from, comment(name))
		}
	}
	return strings.Join(from, ", ")
}

// proposeClaim returns the comment with the statements for the columns of a
// claim.
func proposeClaim(statements []string) string {
	var b strings.Builder
	b.WriteString("      # Two columns more let copies leave the cache before their row goes. This makes them:\n")
	for _, line := range statements {
		b.WriteString("      #   " + comment(line) + "\n")
	}
	b.WriteString("      # status: {column: deletion_status, live: NOT_EXPIRED, claimed: DELETION_IN_PROGRESS}\n")
	b.WriteString("      # initiated: deletion_initiated_at\n")
	return b.String()
}

// belongings are what rows have besides themselves.
type belongings struct {
	text   string
	prefix string // of their objects; empty without any
}

// contents describes the table of a row's content, or the objects of each row.
// Sampled values take precedence over the names of columns.
func (p proposal) contents(t TableInfo) belongings {
	for _, c := range t.Columns {
		to, ok := p.tables[t.Refers[c.Name]]
		if !ok || len(to.Key) != 1 {
			continue
		}
		keys := p.keys(to)
		count := to.column(countNames, "bigint", "integer", "smallint")
		if len(keys) == 0 && count == "" {
			continue
		}
		object := keysOf{template: "{" + to.Key[0] + "}", reason: "the key in the bucket: a column, or a template such as " + comment("content/{"+to.Key[0]+"}")}
		if len(keys) > 0 {
			object = keys[0]
		}
		var b strings.Builder
		fmt.Fprintf(&b, "      content: %-17s # a foreign key to %s\n", scalar(c.Name), comment(to.Name))
		fmt.Fprintf(&b, "    contents:\n      table: %s\n      key: %s\n", scalar(to.Name), scalar(to.Key[0]))
		if count != "" {
			fmt.Fprintf(&b, "      count: %-19s # it looks like a count of references\n", scalar(count))
		}
		fmt.Fprintf(&b, "      object: %-18s # %s\n", fmt.Sprintf("%q", object.template), comment(object.reason))
		if with := p.sharedWith(object.objects, t, to); with != "" {
			fmt.Fprintf(&b, "    # %s may name the same objects, and is not asked before they go: does it need them?\n", with)
		}
		return belongings{b.String(), p.below(object.objects)}
	}
	return p.owned(t)
}

// owned describes the objects of each row. All of a collection are below one
// prefix.
func (p proposal) owned(t TableInfo) belongings {
	var own, why, objects []string
	apart := ""
	for _, k := range p.keys(t) {
		// Where the first have no folder in common themselves, the prefix is that of the bucket.
		if folder := commonFolder(k.objects); len(k.objects) > 0 && commonFolder(objects) != noFolder && commonFolder(append(slices.Clone(objects), k.objects...)) == noFolder {
			apart += fmt.Sprintf("      # %s names objects below %s (%s). A collection has one prefix:\n"+
				"      # describe those by one of kind keys (docs/adopting-keys.md).\n", comment(k.column), comment(folder), comment(k.reason))
			continue
		}
		own, why = append(own, fmt.Sprintf("%q", k.template)), append(why, comment(k.column+": "+k.reason))
		objects = append(objects, k.objects...)
	}
	if len(own) == 0 {
		return belongings{text: rowsAlone(t) + p.hiddenIn(t, "      ") + p.copies(t)}
	}
	if with := p.sharedWith(objects, t); with != "" {
		return belongings{text: "      # " + with + " may name the same objects: they must not go with these rows, unless it does not need them.\n" +
			"      # A collection of kind keys has what no row names any more (docs/adopting-keys.md).\n" +
			"      # objects: [" + strings.Join(own, ", ") + "]  # with bucket, prefix and guard\n" + p.copies(t)}
	}
	return belongings{"      # Keys in the bucket that each row has for itself. " + strings.Join(why, "; ") + ".\n" +
		"      objects: [" + strings.Join(own, ", ") + "]\n" + apart, p.below(objects)}
}

// sharedWith returns the column of another table than these that names one of the objects by
// its whole key, empty if there is none. A part of a key may be that of a row, to which the
// other refers. Where the other has no end, one in the same folder is enough: of a large table
// few values are sampled.
func (p proposal) sharedWith(objects []string, tables ...TableInfo) string {
	own := map[string]bool{}
	for _, t := range tables {
		own[t.Name] = true
	}
	folder := commonFolder(objects)
	for _, name := range slices.Sorted(maps.Keys(p.tables)) {
		t := p.tables[name]
		for _, c := range t.Columns {
			named := slices.ContainsFunc(c.Values, func(v string) bool {
				return slices.Contains(objects, v) || t.end() == "" && strings.HasPrefix(v, folder) && slices.Contains(p.index[v], v)
			})
			if named && len(objects) > 0 && !own[name] && !own[t.Refers[c.Name]] {
				return comment(name + "." + c.Name)
			}
		}
	}
	return ""
}

// rowsAlone warns that rows would be deleted and objects stay.
func rowsAlone(t TableInfo) string {
	text := "      # No column holds keys of the objects that were looked at: rows go, and nothing of a bucket.\n" +
		"      # Do they have objects? Name those (objects: [\"folder/{column}\"], bucket, prefix, guard), or nobody\n" +
		"      # knows their keys any more once the rows are gone.\n"
	if t.Unread != "" {
		text += "      # Its rows could not be looked at: " + comment(t.Unread) + "\n"
	}
	return text
}

// keys returns the templates of the objects that a table's rows name.
func (p proposal) keys(t TableInfo) []keysOf {
	if found := p.index.columns(t); len(found) > 0 {
		return found
	}
	var out []keysOf
	for _, c := range t.Columns {
		if !objectNames.MatchString(c.Name) || len(t.Key) == 1 && c.Name == t.Key[0] {
			continue
		}
		k := keysOf{column: c.Name, template: "{" + c.Name + "}", reason: "by its name"}
		if len(c.Values) > 0 && len(p.index) > 0 {
			k.reason += fmt.Sprintf(" alone: %d of %d sampled values name keys that were looked at", p.index.named(c.Values), len(c.Values))
		}
		out = append(out, k)
	}
	return out
}

// below returns the prefix of objects that rows name. Where none of them was looked at, it may
// be that of all that were.
func (p proposal) below(named []string) string {
	if len(named) > 0 {
		return commonFolder(named)
	}
	if all := commonFolder(p.options.Objects); p.collectionAt(all) == "" {
		return all
	}
	return noFolder
}

// prefix returns the line of a collection's prefix, which no other may meet from now on.
func (p proposal) prefix(collection, prefix, why string) string {
	hint := ""
	if prefix == noFolder {
		prefix += collection + "/"
		if len(p.options.Objects) > 0 && p.options.Path == "" {
			hint = "    # Write the folder of its keys; prefix: / is the whole bucket, if nothing else lies there.\n"
		}
	}
	p.prefixes[prefix] = collection
	return hint + fmt.Sprintf("    prefix: %-20s # %s\n", scalar(prefix), why)
}

// noFolder is the placeholder where keys have no folder in common.
const noFolder = "FOLDER/"

// commonFolder returns the common folder of keys.
func commonFolder(keys []string) string {
	if len(keys) == 0 {
		return noFolder
	}
	common := keys[0]
	for _, k := range keys[1:] {
		for !strings.HasPrefix(k, common) {
			common = common[:len(common)-1]
		}
	}
	if i := strings.LastIndex(common, "/"); i >= 0 {
		return common[:i+1]
	}
	return noFolder
}
