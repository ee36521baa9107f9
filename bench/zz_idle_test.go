package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestIdleProbe(t *testing.T) {
	bin := os.Getenv("PROBE")
	if bin == "" {
		t.Skip()
	}
	ctx, dir := context.Background(), t.TempDir()
	p := Lethe(bin, true).Inline(4096)
	srv, err := p.start(ctx, dir, 16)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.stop()
	arms := []struct{ bucket, idle string }{{"none", "none"}, {"week", "7d"}, {"minute", "1m"}}
	const n, gets, rounds = 2000, 6000, 14
	for _, a := range arms {
		if _, err := srv.Do(ctx, http.MethodPut, "/"+a.bucket, nil); err != nil {
			t.Fatal(err)
		}
		if a.idle != "none" {
			out, err := exec.Command(bin, "buckets", "set", a.bucket, "--default-idle", a.idle, "--yes", "--data-dir", dir).CombinedOutput()
			if err != nil {
				t.Fatalf("%s %v", out, err)
			}
		}
		if _, err := (Load{Clients: 16, Objects: n, Size: 4096, Bucket: a.bucket}).Put(ctx, srv.Target); err != nil {
			t.Fatal(err)
		}
	}
	cpu, rate := make([][]float64, len(arms)), make([][]float64, len(arms))
	for r := range rounds + 1 {
		for k := range arms {
			i := k
			if r%2 == 1 {
				i = len(arms) - 1 - k
			}
			var l Latencies
			took, _, err := srv.working(ctx, gets, func() (err error) {
				l, err = Load{Clients: 16, Objects: gets, Size: 4096, Bucket: arms[i].bucket}.Get(ctx, srv.Target, n)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if r > 0 {
				cpu[i], rate[i] = append(cpu[i], float64(took)/1e3), append(rate[i], l.Rate())
			}
		}
	}
	for i, a := range arms {
		ratio, fast := []float64{}, []float64{}
		for r := range cpu[i] {
			ratio, fast = append(ratio, cpu[i][r]/cpu[0][r]), append(fast, rate[i][r]/rate[0][r])
		}
		med := func(x []float64) string {
			x = slices.Clone(x)
			slices.Sort(x)
			return fmt.Sprintf("%.3f (%.3f..%.3f)", x[len(x)/2], x[0], x[len(x)-1])
		}
		fmt.Printf("%-8s CPU us %s ratio %s; rate %s ratio %s\n", a.bucket, med(cpu[i]), med(ratio), med(rate[i]), med(fast))
	}
}
