package api_test

import (
	"strconv"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
)

// TestRoomOfABackend shows that what keeps writes off comes before numbers, and that a quota
// which was lowered below what is stored leaves nothing, not less than nothing.
func TestRoomOfABackend(t *testing.T) {
	size := func(n int64) string { return strconv.FormatInt(n, 10) }
	free := int64(3 << 20)
	stored := []api.StateTotal{{State: "live", Blobs: 2, Bytes: 2 << 20}, {State: "condemned", Blobs: 1, Bytes: 1 << 20}}
	quota := api.BackendStatus{Quota: 8 << 20, States: stored}
	refuses := quota
	refuses.S3 = &api.S3Facts{NoWrites: "403 AccessDenied"}
	away := refuses
	away.Unreachable = "connection refused"
	for want, b := range map[string]api.BackendStatus{
		"5242880 of 8388608 free":  quota,
		"0 of 1048576 free":        {Quota: 1 << 20, States: stored},
		"3145728 free on the disk": {Free: &free},
		"refuses writes":           refuses,
		"does not answer":          away,
		"is being drained":         {Draining: true, Quota: 8 << 20},
		api.NotConfigured:          {Missing: true, Quota: 8 << 20},
		"no quota":                 {},
	} {
		if got := b.Room(size); got != want {
			t.Errorf("room of %+v: %q, want %q", b, got, want)
		}
	}
}
