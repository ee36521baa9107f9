package ledger

import "github.com/lethe-storage/lethe"

// Turn is a bucket of which a batch takes its share.
type Turn struct {
	Bucket lethe.ID   // empty: condemned blobs whose bucket is not known
	After  lethe.Time // resume: only what is due at or after this instant
}

// TurnQuery asks which buckets have something that is due.
type TurnQuery struct {
	Backend string                  // condemned blobs there; empty: objects
	From    lethe.ID                // only buckets after it, in the order of their ids
	Limit   int                     // buckets looked at
	After   map[lethe.ID]lethe.Time // where to begin in a bucket; not there: at its oldest
}

// Turns are the buckets of a stretch that have something that is due.
type Turns struct {
	Due  []Turn   // in the order of their ids; After is when the first of it was due
	Last lethe.ID // the last bucket looked at: where the next stretch begins
	End  bool     // no bucket comes after it
}

// TakeTurns takes from each bucket its share of limit rows; what one does not use
// up is shared by those after it. The rows come by turns as well, so that whoever
// cuts them short cuts all alike. A limit that is not above zero is no limit.
func TakeTurns[T any](turns []Turn, limit int, take func(Turn, int) ([]T, error)) ([]T, error) {
	lists := make([][]T, len(turns))
	left, longest := limit, 0
	for i, turn := range turns {
		share := 0
		if limit > 0 {
			if left == 0 {
				break
			}
			if share = left / (len(turns) - i); left%(len(turns)-i) != 0 {
				share++
			}
		}
		list, err := take(turn, share)
		if err != nil {
			return nil, err
		}
		lists[i] = list
		left -= len(list)
		longest = max(longest, len(list))
	}
	var out []T
	for n := range longest {
		for _, list := range lists {
			if n < len(list) {
				out = append(out, list[n])
			}
		}
	}
	return out, nil
}
