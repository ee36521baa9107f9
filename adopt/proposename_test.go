package adopt_test

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// The unit of an end is that of its values, and names of ends are those that programs have.
func TestProposalOfEndsOfPrograms(t *testing.T) {
	for _, c := range []struct{ name, kind, value, want string }{
		{"deleteat", "bigint", "1790000000000", "unit: ms "}, // with 0 for what lives
		{"expiresat", "bigint", "1790000000000", "unit: ms "},
		{"expired_unix", "bigint", "1790000000", "unit: s "},
		{"valid_until_ms", "bigint", "1790000000000", "unit: ms "},
		{"expiry_ts", "bigint", "1790000000000000", "unit: us "},
		{"expiration", "integer", "1790000000", "unit: s "},
		{"expire_date", "timestamp with time zone", "", "end: expire_date "},
		{"expires_on", "date", "", "zone: UTC "},
		{"expires", "bigint", "0", "# 0 is no time: such a row never ends."},
	} {
		end := adopt.ColumnInfo{Name: c.name, Kind: c.kind}
		if c.value != "" {
			end.Values = []string{"0", c.value}
		}
		got := proposed(adopt.ProposeOptions{}, adopt.TableInfo{Name: "things", Key: []string{"id"}, Columns: []adopt.ColumnInfo{end}})
		if !strings.Contains(got, c.want) || strings.Contains(got, "deleted softly") != (c.name == "deleteat") {
			t.Errorf("%s: without %q:\n%s", c.name, c.want, got)
		}
	}
	for _, name := range []string{"expired", "plan_expires_at", "expires_in", "sha_valid"} { // a flag, of something else, a length
		if got := proposed(adopt.ProposeOptions{}, adopt.TableInfo{Name: "things", Key: []string{"id"}, Columns: []adopt.ColumnInfo{{Name: name, Kind: "bigint"}}}); strings.Contains(got, "end: ") {
			t.Errorf("%s is taken for an end:\n%s", name, got)
		}
	}
}
