package ledger

// Restamped is the result of one step that reapplies rules.
type Restamped struct {
	Bucket  string
	Seen    int  // objects looked at
	Changed int  // objects whose end changed
	Done    bool // every object of the bucket carries the current rules
	More    bool // there is more to do, in this bucket or another
}
