package app

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

// A value is shown with the names of its fields, as the log has it.
func TestValuesOfAuditLines(t *testing.T) {
	var kept auditLines
	for _, c := range []struct {
		value any
		want  string
	}{
		{"<logs>", "<logs>"},
		{7, "7"},
		{errors.New("no room"), "no room"},
		{lethe.Live, "live"},
		{[]lethe.ID{"a", "b"}, `["a","b"]`},
		{[]api.Rule{{ID: "old-logs", Text: "ends objects <now>"}}, `[{"id":"old-logs","text":"ends objects <now>"}]`},
	} {
		kept.add(0, "changed", "operator", []slog.Attr{slog.Any("value", c.value)})
		if got := kept.latest()[0].What[0].Value; got != c.want {
			t.Errorf("%#v is shown as %s; want %s", c.value, got, c.want)
		}
	}
}
