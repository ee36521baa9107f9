package bench

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Warp is MinIO's load generator, as another one than ours.
type Warp struct {
	Binary string
	Time   time.Duration // of puts, and of gets
	Keys   int           // to delete
}

// step runs it; the rate is what it says.
func (w *Warp) step(ctx context.Context, r *smallRun, name string) (s Step, err error) {
	kind := strings.TrimPrefix(name, "warp ")
	at, err := url.Parse(r.srv.URL)
	if err != nil {
		return s, err
	}
	args := []string{
		kind, "--host", at.Host, "--access-key", benchAccess, "--secret-key", benchSecret, "--bucket", "warp-" + kind,
		"--obj.size", strconv.Itoa(r.Size), "--concurrent", strconv.Itoa(r.Clients), "--noclear", "--no-color",
		// As short as deletes are.
		"--full", "--analyze.dur", "100ms",
		"--benchdata", filepath.Join(r.dir, "warp-"+kind),
	}
	switch kind {
	case "put":
		args = append(args, "--duration", w.Time.String())
	case "get":
		args = append(args, "--duration", w.Time.String(), "--objects", strconv.Itoa(r.Objects))
	case "delete":
		// It wants four batches for each client at least.
		args = append(args, "--batch", strconv.Itoa(r.Batch), "--objects", strconv.Itoa(max(w.Keys, 4*r.Clients*r.Batch)))
	}
	out, err := exec.CommandContext(ctx, w.Binary, args...).CombinedOutput()
	if err != nil {
		return s, fmt.Errorf("bench: warp: %w: %s", err, out)
	}
	s.Rate, err = warpRate(string(out), strings.ToUpper(kind))
	return s, err
}

// warpRates is a line of its report of an operation: MiB/s if bytes move, and objects/s.
var warpRates = regexp.MustCompile(`\* Average: (?:[0-9.]+ ?[KMG]?i?B/s, )?([0-9.]+) obj/s`)

// warpRate reads the average of an operation from its report.
func warpRate(report, operation string) (float64, error) {
	_, after, _ := strings.Cut(report, "Operation: "+operation)
	m := warpRates.FindStringSubmatch(after)
	if m == nil {
		return 0, fmt.Errorf("bench: warp reports no rate: %s", report)
	}
	return strconv.ParseFloat(m[1], 64)
}
