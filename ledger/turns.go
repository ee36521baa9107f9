package ledger

import "github.com/lethe-storage/lethe"

// Turn is a bucket that gets its share of a batch.
type Turn struct {
	Bucket lethe.ID   // empty: condemned blobs whose bucket is not known
	After  lethe.Time // resume: only what is due at or after this instant
}

// TurnQuery asks which buckets have due rows.
type TurnQuery struct {
	Backend string                  // of condemned blobs on it; empty: objects
	From    lethe.ID                // only buckets after this id, in order of id
	Limit   int                     // buckets to look at
	After   map[lethe.ID]lethe.Time // where to start in a bucket; absent: at its oldest
}

// Turns are the buckets with due rows in one stretch of all buckets.
type Turns struct {
	Due  []Turn   // in order of id; After is the due time of the first row
	Last lethe.ID // the last bucket looked at: the next query's From
	End  bool     // no bucket follows
}

// TakeTurns takes from each bucket its share of limit rows. Buckets get what those before them
// do not use. The rows of the buckets alternate, so that a caller who takes fewer
// takes equally from all. A limit of 0 or less is none.
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
