package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Counted is what a server did for its requests that does not depend on how busy the
// machine is.
type Counted struct {
	Calls   int64 // of the system that read or wrote: files, connections
	Written int64 // bytes, to files and connections
	Ledger  int64 // transactions of Lethe's ledger, and looks into it; other programs have none
}

func (c Counted) minus(b Counted) Counted {
	return Counted{c.Calls - b.Calls, c.Written - b.Written, c.Ledger - b.Ledger}
}

// counted reads what the server has done so far. Where there is no /proc, calls and
// bytes are 0.
func (s *server) counted(ctx context.Context) (c Counted, err error) {
	io := keyed("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/io")
	c.Calls, c.Written = io["syscr"]+io["syscw"], io["wchar"]
	if s.metrics == "" {
		return c, nil
	}
	err = s.scrape(ctx, func(name string, value float64) {
		if strings.HasPrefix(name, "lethe_ledger_transaction_seconds_count{") {
			c.Ledger += int64(value)
		}
	})
	return c, err
}

// scrape reads the server's metrics: names with their labels, and values.
func (s *server) scrape(ctx context.Context, each func(name string, value float64)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.metrics, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(line[cut+1:], 64)
		if err != nil {
			return fmt.Errorf("bench: metrics: %q: %w", line, err)
		}
		each(line[:cut], value)
	}
	return lines.Err()
}
