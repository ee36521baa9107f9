package main

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// forecastDay lists what goes on a day, page by page, up to a limit unless it is 0.
func (c *cli) forecastDay(ctx context.Context, client *api.Client, a forecastAsked) error {
	req, limit := a.one, a.limit
	whole := api.ForecastRows{Rows: []api.ForecastRow{}}
	for n := 0; ; {
		if limit > 0 {
			req.Limit = min(limit-n, maxListed)
		}
		p, err := api.Call[api.ForecastRows](ctx, client, "forecast/day", req)
		if err != nil {
			return err
		}
		whole.Now, whole.More, whole.Next, req.After = p.Now, p.More, p.Next, p.Next
		if a.asJSON {
			whole.Rows = append(whole.Rows, p.Rows...)
		} else if err := c.printDay(p.Rows, n == 0); err != nil {
			return err
		}
		n += len(p.Rows)
		if !p.More || limit > 0 && n >= limit {
			if n == 0 && !a.asJSON {
				printf(c.out, "nothing goes then\n")
			}
			break
		}
	}
	if a.asJSON {
		return printJSON(c.out, whole)
	}
	if whole.More {
		printf(c.err, "there is more: add --all, or --limit with a larger number\n")
	}
	return nil
}

// printDay prints a page, the first one with a heading. Its columns have the widths of those
// of other pages.
func (c *cli) printDay(list []api.ForecastRow, first bool) error {
	var rows [][]string
	add := func(ends, size, by, object string) {
		rows = append(rows, []string{fmt.Sprintf("%-19s", ends), fmt.Sprintf("%-8s", size), fmt.Sprintf("%-18s", by), object})
	}
	if first && len(list) > 0 {
		add("ENDS", "SIZE", "BY", "OBJECT")
	}
	for _, r := range list {
		by := endWords(r.By, r.Rule)
		if r.By == "abort" && r.Rule != "" {
			by = "upload, " + by
		}
		if r.Held {
			by += ", held"
		}
		add(stamp(r.EndsAt), words.Size(r.Size), cell(by), cell("s3://"+r.Bucket+"/"+r.Key))
	}
	return columns(c.out, rows)
}
