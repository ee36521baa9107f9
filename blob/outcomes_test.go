package blob

import (
	"errors"
	"testing"
)

// The result of a key is the one that names it, wherever it stands.
func TestOutcomesGoByKey(t *testing.T) {
	denied := errors.New("AccessDenied")
	keys := []string{"a", "b", "c", "d"}
	got := Outcomes(keys, []Result{{Key: "b", Err: denied}, {Key: "a"}, {Key: "other"}, {Key: "d"}, {Key: "d", Err: denied}}, nil)
	if !Gone(got[0]) || !errors.Is(got[1], denied) || !errors.Is(got[2], ErrUnknown) || !errors.Is(got[3], denied) {
		t.Errorf("outcomes are %v", got)
	}
	if got := Outcomes(keys, nil, denied); !errors.Is(got[3], denied) {
		t.Errorf("outcomes of a failed call are %v", got)
	}
}
