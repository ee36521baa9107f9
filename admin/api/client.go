package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// maxFailure bounds the body of a failed response, in bytes.
const maxFailure = 4 << 20

// Client calls the API. It is safe for concurrent use.
type Client struct {
	// Base is the URL before Prefix; for Unix and Local any host is valid.
	Base  string
	Token string
	HTTP  http.RoundTripper
}

// Unix returns a transport to a unix socket.
func Unix(path string) http.RoundTripper {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
}

// send sends a call and returns a response whose status is 200.
func (c *Client) send(ctx context.Context, name string, req any) (*http.Response, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+Prefix+name, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	res, err := c.HTTP.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("admin API: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, failureOf(res)
	}
	return res, nil
}

func failureOf(res *http.Response) error {
	var f Failure
	if err := json.NewDecoder(io.LimitReader(res.Body, maxFailure)).Decode(&f); err != nil || f.Error == nil {
		return fmt.Errorf("admin API: status %d without an explanation; is lethe at that address?", res.StatusCode)
	}
	return f.Error
}

// Call makes a call with one result.
func Call[Res any](ctx context.Context, c *Client, name string, req any) (out Res, err error) {
	res, err := c.send(ctx, name, req)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		return out, fmt.Errorf("admin API: %s: the response broke off: %w", name, err)
	}
	return out, nil
}

// Stream makes a call that reports while it works; each is called for every event
// before the result.
func Stream[Res any](ctx context.Context, c *Client, name string, req any, each func(Event)) (out Res, err error) {
	res, err := c.send(ctx, name, req)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	return readStream[Res](json.NewDecoder(res.Body), name, each)
}

// Status returns a summary of the store.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return Call[Status](ctx, c, "status", None{})
}

// Explain returns what the ledger knows of a key.
func (c *Client) Explain(ctx context.Context, n ObjectName) (Explanation, error) {
	return Call[Explanation](ctx, c, "explain", n)
}

// Reclaim runs routines now, or returns what they would do.
func (c *Client) Reclaim(ctx context.Context, req ReclaimRequest, each func(Event)) (ReclaimResult, error) {
	return Stream[ReclaimResult](ctx, c, "reclaim", req, each)
}

// Backup writes a consistent copy of the ledger to w and returns its size. It
// fails if the copy breaks off.
func (c *Client) Backup(ctx context.Context, w io.Writer) (int64, error) {
	res, err := c.send(ctx, "backup", None{})
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(w, res.Body)
	if err != nil {
		return n, fmt.Errorf("admin API: backup: %w", err)
	}
	if want, err := strconv.ParseInt(res.Header.Get("X-Lethe-Size"), 10, 64); err != nil || n != want {
		return n, fmt.Errorf("admin API: backup: %d bytes came of %s: the copy breaks off", n, res.Header.Get("X-Lethe-Size"))
	}
	return n, nil
}

// TCP returns a transport to an admin API on the network.
func TCP() http.RoundTripper { return &http.Transport{} }
