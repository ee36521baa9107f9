package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object/importer"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// importName is the name of the command, of its items and of its runs.
const importName = "import"

// addImported counts an imported key.
func addImported(r *api.ImportResult, res importer.Result) {
	r.Keys[string(res.Outcome)]++
	if res.Outcome != importer.Imported {
		return
	}
	r.Bytes += res.Item.Size
	if res.Duplicate {
		r.Shared += res.Item.Size
	}
}

// ofImport parses a request.
func (s *Service) ofImport(ctx context.Context, req api.ImportRequest) (*importer.Importer, importer.Request, error) {
	r := importer.Request{Prefix: req.Prefix, Bucket: req.Bucket, Strip: req.Strip, Add: req.Add}
	var err error
	if req.TTL != "" {
		r.TTL, err = lethe.ParseTTL(req.TTL)
	}
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return nil, r, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
	}
	if _, err := s.o.Ledger.Bucket(ctx, req.Bucket); err != nil {
		return nil, r, err
	}
	i, err := s.importer(req.Backend)
	return i, r, err
}

func (s *Service) importer(backend string) (*importer.Importer, error) {
	switch {
	case s.o.Importer == nil:
		return nil, fmt.Errorf("%w: this process does not import", api.ErrBadRequest)
	case s.o.Backends[backend] == nil:
		return nil, s.noBackend(backend)
	}
	return s.o.Importer(backend)
}

// Import makes objects of foreign keys, and reports each key that it skipped.
// It can be repeated. At most one runs at a time: ErrRunning.
func (s *Service) Import(ctx context.Context, req api.ImportRequest, emit func(api.Event)) (api.ImportResult, error) {
	i, r, err := s.ofImport(ctx, req)
	if err != nil {
		return api.ImportResult{}, err
	}
	out := api.ImportResult{Keys: map[string]int64{}}
	loop := s.alone(importing{i, r, func(res importer.Result) {
		if addImported(&out, res); res.Outcome != importer.Imported && res.Outcome != importer.Already {
			emit(api.Event{Problem: &api.Problem{Kind: string(res.Outcome), Backend: req.Backend, Name: res.Item.Source, Detail: api.Plain(res.Detail)}})
		}
	}})
	loop.Routines[0].Solo = true
	stop := s.follow(loop, []string{importName}, 0, emit)
	_, err = loop.Once(ctx, nil)
	stop()
	if err == nil {
		err = ctx.Err()
	}
	return out, err
}

// importing is an import as a routine of one step, so that its run is recorded.
type importing struct {
	i    *importer.Importer
	r    importer.Request
	each func(importer.Result)
}

// Name implements reclaim.Routine.
func (importing) Name() string { return importName }

// Plan implements reclaim.Routine. It is empty: only a listing finds what can
// be imported.
func (importing) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass implements reclaim.Routine.
func (m importing) Pass(string) reclaim.Step {
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		return false, m.i.Run(ctx, m.r, func(res importer.Result) {
			add(reclaim.Items, 1)
			add(string(res.Outcome), 1)
			if res.Outcome == importer.Imported {
				add("bytes", res.Item.Size)
			}
			m.each(res)
		})
	}
}

// importWith is the part of a request that a plan keeps for each of its items.
type importWith struct {
	TTL string `json:"ttl,omitempty"`
}

// importItems returns the foreign keys that would become objects, without those
// that cannot.
func (s *Service) importItems(ctx context.Context, r api.PlanRequest, yield func(plan.Item) error) error {
	if r.Import == nil {
		return fmt.Errorf("%w: name a backend and a bucket", api.ErrBadRequest)
	}
	i, req, err := s.ofImport(ctx, *r.Import)
	if err != nil {
		return err
	}
	with, err := json.Marshal(importWith{r.Import.TTL})
	if err != nil {
		return err
	}
	return i.Each(ctx, req, func(item importer.Item) error {
		if item.Refused != "" {
			return nil
		}
		seen, err := i.Look(ctx, item)
		switch {
		case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrInvalidKey):
			return nil
		case err != nil:
			return err
		}
		return yield(plan.Item{
			Do: importName, Kind: "foreign", ID: item.Source, Backend: r.Import.Backend, Bucket: item.Bucket, Key: item.Key,
			Size: seen.Size, Why: "a foreign key becomes an object", Seen: seen.Tag, With: string(with),
		})
	})
}

// applyImport imports the keys that still have the planned bytes.
func (s *Service) applyImport(ctx context.Context, items []plan.Item) (out []plan.Result, err error) {
	for _, i := range items {
		from, err := s.importer(i.Backend)
		if err != nil {
			return out, err
		}
		item := importer.Item{Source: i.ID, Size: i.Size, Tag: i.Seen, Bucket: i.Bucket, Key: i.Key}
		if item.TTL, err = ttlOf(i.With); err != nil {
			return out, err
		}
		res, err := from.Import(ctx, item)
		if err != nil {
			return out, err
		}
		out = append(out, result(i, appliedAs(res.Outcome), res.Detail))
	}
	return out, nil
}

// appliedAs converts the outcome of an import to that of a plan's item.
func appliedAs(o importer.Outcome) plan.Outcome {
	switch o {
	case importer.Imported:
		return plan.Done
	case importer.Already:
		return plan.Already
	case importer.Gone:
		return plan.Gone
	case importer.Changed:
		return plan.Changed
	case importer.Conflict:
		return plan.Busy
	}
	return plan.Failed
}

// ttlOf parses what a plan keeps of a request.
func ttlOf(with string) (time.Duration, error) {
	var w importWith
	d := json.NewDecoder(strings.NewReader(with))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return 0, fmt.Errorf("%w: an item of the plan says %q: %w", api.ErrBadRequest, with, err)
	}
	if w.TTL == "" {
		return 0, nil
	}
	return lethe.ParseTTL(w.TTL)
}
