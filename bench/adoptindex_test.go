package bench_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

var indexRounds = flag.Int("adopt.indexes", 0, "how often TestAdoptIndexes measures each set of indexes")

// indexes are sets of them on the paste service's tables.
var indexes = []struct{ name, change string }{
	{"as the example has them", ""},
	{"no index on the end", "DROP INDEX pastes_due"},
	{"an index of all ends", "DROP INDEX pastes_due; CREATE INDEX pastes_due ON pastes (expires_at)"},
	{"no index on the reference", "DROP INDEX pastes_by_content"},
	{"no index of contents at 0", "DROP INDEX content_unreferenced"},
	{"no index of rows in progress", "DROP INDEX pastes_in_progress"},
	{"room in each page (fillfactor 70)", `ALTER TABLE pastes SET (fillfactor = 70); ALTER TABLE content SET (fillfactor = 70); VACUUM FULL pastes; VACUUM FULL content`},
}

// fillLiving puts in five rows that live for each that has ended.
const fillLiving = `WITH h AS (SELECT i, encode(sha256(('lives ' || i)::bytea), 'hex') AS hash FROM generate_series(1, $1::bigint * 5) AS i),
	c AS (INSERT INTO content (content_hash, object_key, size, ref_count) SELECT hash, 'content/' || hash, 200, 1 FROM h RETURNING content_hash)
	INSERT INTO pastes (short_code, content_hash, expires_at) SELECT 'l' || i, hash, now() + i * interval '1 second' + interval '1 day' FROM h`

// TestAdoptIndexes measures what indexes are worth to lethe adopt:
// go test ./bench -run TestAdoptIndexes -v -adopt.indexes=3 -adopt.rows=5000
func TestAdoptIndexes(t *testing.T) {
	if *indexRounds == 0 {
		t.Skip("it measures, for -adopt.indexes")
	}
	rates := map[string][]float64{}
	for range *indexRounds {
		for _, set := range indexes {
			p := newPastes(t, *adoptRows)
			// One by one: VACUUM wants no transaction around it.
			if _, err := p.db.Exec(t.Context(), fillLiving, *adoptRows); err != nil {
				t.Fatal(err)
			}
			for statement := range strings.SplitSeq(set.change+"; VACUUM ANALYZE", ";") {
				if _, err := p.db.Exec(t.Context(), statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			rates[set.name] = append(rates[set.name], p.run(p.adopted(1, 0)).rate())
		}
	}
	median := func(name string) float64 {
		slices.Sort(rates[name])
		return rates[name][len(rates[name])/2]
	}
	first := median(indexes[0].name)
	for _, set := range indexes {
		t.Logf("%-36s %6.0f rows/s, %.2f times the first", set.name, median(set.name), median(set.name)/first)
	}
}
