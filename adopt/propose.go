package adopt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// TableInfo is a table as Propose looks at it.
type TableInfo struct {
	Name    string
	Columns []ColumnInfo
	Key     []string          // of its primary key
	Refers  map[string]string // column to the table that it refers to, by a foreign key
}

// ColumnInfo is a column and its type.
type ColumnInfo struct{ Name, Kind string }

// Surroundings are what Propose writes beside the tables; empty ones are left to be
// filled in.
type Surroundings struct {
	Database, Redis, Endpoint, Bucket string
	Path                              string // of a folder on a disk, in the place of a bucket
	// Objects are some keys of the bucket.
	Objects []string
	// ClaimColumns returns the statements that give a table the columns of a claim; it is
	// never nil.
	ClaimColumns func(table, end string) []string
}

var (
	endNames     = regexp.MustCompile(`(?i)^(expires?(_?at|_?on|_?time)?|expiry(_at|_date)?|expiration(_at|_date|_time)?|valid_(until|to)|ends?_at|delete_after)$`)
	deletedNames = regexp.MustCompile(`(?i)^(deleted_?at|removed_?at|trashed_?at)$`)
	countNames   = regexp.MustCompile(`(?i)^(ref_?count|refs|references|reference_count|ref_cnt|use_count|usage_count)$`)
	objectNames  = regexp.MustCompile(`(?i)^(object_?key|s3_?key|storage_?key|blob_?key|file_?key|object_?path|storage_?path|object_name|key|path)$`)
	statusNames  = regexp.MustCompile(`(?i)^(deletion_status|delete_status|gc_status|cleanup_status)$`)
	initNames    = regexp.MustCompile(`(?i)^(deletion_initiated_at|deletion_started_at|claimed_at|delete_started_at)$`)
)

func (t TableInfo) column(name *regexp.Regexp, kinds ...string) string {
	for _, c := range t.Columns {
		if name.MatchString(c.Name) && (len(kinds) == 0 || slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(c.Kind, k) })) {
			return c.Name
		}
	}
	return ""
}

var timeKinds = []string{"timestamp", "date", "bigint", "integer", "numeric"}

// Propose writes a description for the tables that look like rows that end, with the
// reasons as comments. Every collection only reports. Nothing found is no error: the
// file says what was looked for.
func Propose(tables []TableInfo, s Surroundings) string {
	var b strings.Builder
	b.WriteString("# Proposed by \"lethe adopt init\" from names and types: read it before you use it.\n")
	b.WriteString("# Then: lethe adopt check FILE. Nothing is deleted before a mode is set to reclaim.\n")
	fmt.Fprintf(&b, "database: %s\n", or(s.Database, "${DATABASE_URL}"))
	if s.Redis != "" {
		fmt.Fprintf(&b, "redis: %s\n", s.Redis)
	} else {
		b.WriteString("# redis: redis://host:6379/0     # if rows are cached there, beside cache: below\n")
	}
	b.WriteString("buckets:\n  main:\n" + s.bucket() + "\ncollections:\n")
	byName := map[string]TableInfo{}
	for _, t := range tables {
		byName[t.Name] = t
	}
	found := 0
	for _, t := range tables {
		if text := proposeRows(t, byName, s); text != "" {
			b.WriteString(text)
			found++
		}
	}
	if found == 0 {
		fmt.Fprintf(&b, "  # None of %d tables has a primary key of one column and a column that looks like an end\n", len(tables))
		b.WriteString("  # (expires_at, expiry, valid_until, deleted_at ..): describe yours as docs/adopting.md says.\n  {}\n")
	}
	return b.String()
}

// bucket describes where objects lie.
func (s Surroundings) bucket() string {
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

// proposeRows describes a table of rows that end, "" if it has no end.
func proposeRows(t TableInfo, all map[string]TableInfo, s Surroundings) string {
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
	line := func(indent int, key, value, comment string) {
		text := strings.Repeat(" ", indent) + key + ": " + value
		if comment != "" {
			text = fmt.Sprintf("%-32s # %s", text, comment)
		}
		b.WriteString(text + "\n")
	}
	name := strings.ToLower(t.Name[strings.LastIndex(t.Name, ".")+1:])
	fmt.Fprintf(&b, "  %s:\n", name)
	line(4, "mode", "report", "then reclaim")
	b.WriteString("    rows:\n")
	line(6, "table", t.Name, "")
	line(6, "key", t.Key[0], "its primary key")
	line(6, "end", end, why)
	b.WriteString(keep)
	for _, c := range t.Columns {
		if c.Name == end && c.Kind == "timestamp without time zone" {
			line(6, "zone", "UTC", "it is stored without a zone: which one is it in?")
		}
		if c.Name == end && slices.Contains([]string{"bigint", "integer", "numeric"}, c.Kind) {
			line(6, "unit", "s", "s, ms or us since 1970")
		}
	}
	status, initiated := t.column(statusNames), t.column(initNames, timeKinds...)
	if status != "" && initiated != "" {
		line(6, "status", fmt.Sprintf("{column: %s, live: NOT_EXPIRED, claimed: DELETION_IN_PROGRESS}", status), "check its values")
		line(6, "initiated", initiated, "when a claim began")
	} else {
		b.WriteString(proposeClaim(s.ClaimColumns(t.Name, end)))
	}
	b.WriteString(proposeContents(t, all, s))
	return b.String()
}

// proposeClaim is what would give a table the columns of a claim.
func proposeClaim(statements []string) string {
	var b strings.Builder
	b.WriteString("      # Many workers at once, and copies in a cache, need two columns more. This makes them:\n")
	for _, line := range statements {
		b.WriteString("      #   " + line + "\n")
	}
	b.WriteString("      # status: {column: deletion_status, live: NOT_EXPIRED, claimed: DELETION_IN_PROGRESS}\n")
	b.WriteString("      # initiated: deletion_initiated_at\n")
	return b.String()
}

// proposeContents describes the table that a row's content lies in, if one is found.
func proposeContents(t TableInfo, all map[string]TableInfo, s Surroundings) string {
	for _, c := range t.Columns {
		to, ok := all[t.Refers[c.Name]]
		if !ok || len(to.Key) != 1 {
			continue
		}
		object, count := to.column(objectNames), to.column(countNames, "bigint", "integer", "smallint")
		if object == "" && count == "" {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "      content: %-17s # a foreign key to %s\n", c.Name, to.Name)
		fmt.Fprintf(&b, "    contents:\n      table: %s\n      key: %s\n", to.Name, to.Key[0])
		if count != "" {
			fmt.Fprintf(&b, "      count: %-19s # it looks like a count of references\n", count)
		}
		template := "{" + or(object, to.Key[0]) + "}"
		fmt.Fprintf(&b, "      object: %-18s # the key in the bucket: a column, or a template such as content/{%s}\n", `"`+template+`"`, to.Key[0])
		return b.String() + proposeObjects(t, s)
	}
	var own []string
	for _, c := range t.Columns {
		if objectNames.MatchString(c.Name) && c.Name != t.Key[0] {
			own = append(own, fmt.Sprintf("%q", "{"+c.Name+"}"))
		}
	}
	if len(own) == 0 {
		return ""
	}
	return fmt.Sprintf("      objects: %-19s # keys in the bucket that each row has for itself\n", "["+strings.Join(own, ", ")+"]") + proposeObjects(t, s)
}

// proposeObjects says where the objects lie, and what guards them.
func proposeObjects(t TableInfo, s Surroundings) string {
	return fmt.Sprintf("    bucket: main\n    prefix: %-20s # what the keys of all its objects begin with\n", commonFolder(s.Objects)) +
		"    guard: trigger               # lethe adopt guard install; without one objects stay\n" +
		"    # cache: [\"prefix:{" + t.Key[0] + "}\"]  # keys of copies in Redis\n"
}

// commonFolder is the folder that keys have in common.
func commonFolder(keys []string) string {
	if len(keys) == 0 {
		return "FOLDER/"
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
	return "FOLDER/"
}
