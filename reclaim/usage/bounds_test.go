package usage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/usage"
)

// generated is a bucket whose keys are made while they are read.
type generated struct {
	keys  int
	key   func(i int) string // in byte order
	size  func(i int) int64
	pages int
}

func (g *generated) UsageObjects(_ context.Context, q ledger.UsageQuery) (lethe.Time, []ledger.ObjectUse, error) {
	var list []ledger.ObjectUse
	for i := g.pages * q.Limit; i < min(g.keys, (g.pages+1)*q.Limit); i++ {
		list = append(list, ledger.ObjectUse{Object: ledger.Object{Key: g.key(i), Size: g.size(i)}, Refs: 1})
	}
	g.pages++
	return 1, list, nil
}

func (*generated) Rules(context.Context, string) (b ledger.BucketRules, err error) { return b, nil }
func (*generated) UsageTrash(context.Context, ledger.UsageQuery) ([]ledger.TrashUse, error) {
	return nil, nil
}
func (*generated) OpenUploads(context.Context, ledger.UploadQuery) ([]ledger.OverdueUpload, error) {
	return nil, nil
}

func (g *generated) count(t *testing.T) usage.Summary {
	walk := usage.Walk{Ledger: g}
	for more := true; more; {
		var err error
		if _, more, err = walk.Step(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
	}
	return walk.Summary()
}

// TestPrefixesAreBounded: of many prefixes the heaviest are kept, each with all above it.
func TestPrefixesAreBounded(t *testing.T) {
	g := &generated{
		keys: 20_000,
		key:  func(i int) string { return fmt.Sprintf("%02d/%05d/x", i/1000, i) },
		size: func(i int) int64 { return int64(i*7919%20_000) << 10 },
	}
	s := g.count(t)
	if len(s.Prefixes) != usage.MaxPrefixes || s.Below != 20 {
		t.Fatalf("%d prefixes, %d of them at the top", len(s.Prefixes), s.Below)
	}
	const lightest = (20_000 - (usage.MaxPrefixes - 20)) << 10
	for _, p := range s.Prefixes {
		up := p.Prefix[:strings.LastIndexByte(strings.TrimSuffix(p.Prefix, "/"), '/')+1]
		if _, found := s.Find(up); !found {
			t.Errorf("%s is there, and not what is above it", p.Prefix)
		}
		if p.Bytes < lightest {
			t.Errorf("%s of %d bytes is not among the heaviest", p.Prefix, p.Bytes)
		}
	}
}

// TestDepthIsBounded: beyond a depth keys count for the prefix above.
func TestDepthIsBounded(t *testing.T) {
	g := &generated{keys: 1, key: func(int) string { return strings.Repeat("d/", 500) + "x" }, size: func(int) int64 { return 5 }}
	s := g.count(t)
	if len(s.Prefixes) != usage.MaxDepth || s.Prefixes[usage.MaxDepth-1].Bytes != 5 {
		t.Errorf("%+v", s.Prefixes)
	}
}

// TestBrief: growth is shown of the heaviest prefixes.
func TestBrief(t *testing.T) {
	g := &generated{keys: 300, key: func(i int) string { return fmt.Sprintf("%03d/x", i) }, size: func(i int) int64 { return int64(i) << 20 }}
	b := g.count(t).Brief()
	now := usage.Amount{Objects: 1, Bytes: 500 << 20}
	for _, c := range []struct {
		prefix string
		bytes  int64
		least  bool
	}{{"", 500<<20 - b.Bytes, false}, {"200/", 300 << 20, false}, {"199/", 301<<20 - 4096, true}, {"new/", 301<<20 - 4096, true}} {
		by, least, known := b.Grown(c.prefix, now)
		if !known || by.Bytes != c.bytes || least != c.least {
			t.Errorf("%q has grown by %d (%t, %t), want %d", c.prefix, by.Bytes, least, known, c.bytes)
		}
	}
	for prefix, bytes := range map[string]int64{"199/": 5, "2": now.Bytes, strings.Repeat("d/", usage.MaxDepth+1): now.Bytes} {
		if by, _, known := b.Grown(prefix, usage.Amount{Objects: 1, Bytes: bytes}); known {
			t.Errorf("%q was not recorded, and has grown by %+v", prefix, by)
		}
	}
	g = &generated{keys: 3, key: func(i int) string { return fmt.Sprintf("%03d/x", i) }, size: func(int) int64 { return 1 }}
	if by, least, known := g.count(t).Brief().Grown("new/", now); by != now || least || !known {
		t.Errorf("a prefix that was not there has grown by %+v, %t, %t", by, least, known)
	}
}
