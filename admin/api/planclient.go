package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Plan writes the plan of a command to w, as it arrives. Package plan verifies
// that it is complete.
func (c *Client) Plan(ctx context.Context, req PlanRequest, w io.Writer) error {
	res, err := c.send(ctx, "plan", req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("admin API: plan: %w", err)
	}
	return nil
}

// Apply sends a plan and returns the outcome of its items. force accepts one
// that is too old.
func (c *Client) Apply(ctx context.Context, file io.Reader, force bool, each func(Event)) (out ApplyResult, err error) {
	url := c.Base + Prefix + "apply"
	if force {
		url += "?force=1"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, file)
	if err != nil {
		return out, err
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	res, err := c.HTTP.RoundTrip(r)
	if err != nil {
		return out, fmt.Errorf("admin API: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return out, failureOf(res)
	}
	return readStream[ApplyResult](json.NewDecoder(res.Body), "apply", each)
}

// readStream reads events up to the result.
func readStream[Res any](d *json.Decoder, name string, each func(Event)) (out Res, err error) {
	for {
		var ev Event
		switch err := d.Decode(&ev); {
		case errors.Is(err, io.EOF):
			return out, fmt.Errorf("admin API: %s: the server stopped before it was done", name)
		case err != nil:
			return out, fmt.Errorf("admin API: %s: the response broke off: %w", name, err)
		case ev.Error != nil:
			return out, ev.Error
		case ev.Result != nil:
			return out, json.Unmarshal(ev.Result, &out)
		}
		each(ev)
	}
}
