package yamlfile

// Nearest returns the candidate that differs least from name, and not much.
func Nearest(name string, candidates []string) (string, bool) {
	best, at := len(name)/3+1, ""
	for _, c := range candidates {
		if d := distance(name, c); d <= best {
			best, at = d-1, c
		}
	}
	return at, at != ""
}

// distance returns the number of characters to insert, delete, replace or swap
// with the next to turn a into b, up to a useful bound.
func distance(a, b string) int {
	const most = 64 // bytes
	if len(a) > most || len(b) > most {
		return most
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			same := 1
			if a[i] == b[j] {
				same = 0
			}
			next[j+1] = min(row[j]+same, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
