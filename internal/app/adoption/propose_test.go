package adoption

import (
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// A proposal for the paste service is valid, and reclaims the same.
func TestProposal(t *testing.T) {
	s := newSite(t)
	tables, err := s.DB.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := adopt.Propose(tables, adopt.ProposeOptions{Objects: []string{"content/ab", "content/cd"}, ClaimColumns: s.DB.ClaimColumns})
	d, err := adopt.Parse([]byte(text), func(name string) (string, bool) { return s.Description.Database, !strings.Contains(name, "_CLEANUP_") })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, ok := d.Collections["pastes"]
	if !ok || len(d.Collections) != 1 {
		t.Fatalf("collections are not pastes alone:\n%s", text)
	}
	want := s.Description.Collections["pastes"]
	if c.Mode != adopt.Report || c.Rows.End != want.Rows.End || c.Rows.Key != want.Rows.Key || *c.Rows.Status != *want.Rows.Status ||
		*c.Contents != *want.Contents || c.Prefix != want.Prefix || c.Rows.Content != want.Rows.Content {
		t.Errorf("it differs from the example's:\n%s", text)
	}
	if _, err := s.DB.Collection(t.Context(), "pastes", c); err != nil {
		t.Error(err)
	}
	// Tables without the columns of a claim get the statements that add them.
	text = adopt.Propose([]adopt.TableInfo{{Name: "links", Key: []string{"id"}, Columns: []adopt.ColumnInfo{{Name: "id", Kind: "bigint"}, {Name: "deleted_at", Kind: "timestamp with time zone"}}}}, adopt.ProposeOptions{ClaimColumns: s.DB.ClaimColumns})
	if !strings.Contains(text, "ALTER TABLE links ADD COLUMN deletion_status") || !strings.Contains(text, "keep: 30d") {
		t.Errorf("no statements:\n%s", text)
	}
	if _, err := adopt.Parse([]byte(text), func(name string) (string, bool) { return "x", !strings.Contains(name, "_CLEANUP_") }); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	// Rows with separate keys own those objects, here in a folder on a disk.
	text = adopt.Propose([]adopt.TableInfo{{Name: "uploads", Key: []string{"id"}, Columns: []adopt.ColumnInfo{
		{Name: "id", Kind: "bigint"}, {Name: "object_key", Kind: "text"}, {Name: "expires_at", Kind: "timestamp with time zone"},
	}}}, adopt.ProposeOptions{ClaimColumns: s.DB.ClaimColumns, Path: "/srv/media", Objects: []string{"uploads/a", "uploads/b"}})
	d, err = adopt.Parse([]byte(text), func(name string) (string, bool) { return "x", name == "DATABASE_URL" })
	if err != nil || d.Buckets["main"].Path != "/srv/media" || !slices.Equal(d.Collections["uploads"].Rows.Objects, []string{"{object_key}"}) ||
		d.Collections["uploads"].Prefix != "uploads/" || d.Collections["uploads"].Guard != adopt.TriggerGuard {
		t.Errorf("rows that own objects: %v\n%s", err, text)
	}
}
