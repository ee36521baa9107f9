package main

import (
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// printBackend shows the peculiarities of a backend.
func (c *cli) printBackend(b api.BackendStatus) {
	if b.Place != "" {
		printf(c.out, "\n%s: %s %s\n", b.ID, b.Kind, b.Place)
	}
	if f := b.S3; f != nil {
		printf(c.out, "  %s\n", strings.Join(abilities(f), ", "))
		for _, line := range [][2]string{{"writes are refused", f.NoWrites}, {"deletes are refused", f.NoDeletes}, {"the last probe failed", f.Error}} {
			if line[1] != "" {
				printf(c.out, "  %s: %s\n", line[0], line[1])
			}
		}
	}
	switch {
	case b.Misplaced != "":
		printf(c.out, "  is not in its place: %s\n", b.Misplaced)
	case b.Breaker != nil && b.Breaker.Open:
		printf(c.out, "  fails and is not called (%s): %s\n", words.Plural(int64(b.Breaker.Outages), "outage", "outages"), b.Breaker.Error)
	case b.Unreachable != "":
		printf(c.out, "  does not answer: %s\n", b.Unreachable)
	}
	if f := b.Failing; f != nil {
		printf(c.out, "  %s tried again (up to %s): %s\n", words.Plural(f.Count, "delete is", "deletes are"), words.Plural(int64(f.Attempts), "attempt", "attempts"), f.Error)
	}
	if b.Draining {
		printf(c.out, "  is being drained; once it is empty: %s\n", c.command("backend", "remove", b.ID))
	}
	if b.Held != "" {
		printf(c.out, "  deletes are stopped: %s\n", b.Held)
	}
}

// abilities lists what a service supports.
func abilities(f *api.S3Facts) (list []string) {
	if !f.Probed {
		return []string{"not probed yet"}
	}
	deletes := "deletes one by one"
	if f.BatchDelete {
		deletes = fmt.Sprintf("deletes %d per request", f.Batch)
	}
	list = append(list, fmt.Sprintf("%s, %s in parallel", deletes, words.Plural(int64(f.Concurrency), "request", "requests")))
	for _, a := range []struct {
		has  bool
		text string
	}{{f.ConditionalWrites, "conditional writes"}, {f.Multipart, "multipart"}} {
		if a.has {
			list = append(list, a.text)
		} else {
			list = append(list, "no "+a.text)
		}
	}
	return append(list, "versions "+f.Versions, "object lock "+f.ObjectLock, "lifecycle rules "+f.Lifecycle)
}
