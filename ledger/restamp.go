package ledger

// Restamped is what one step of stamping again did.
type Restamped struct {
	Bucket  string
	Seen    int  // objects looked at
	Changed int  // objects whose end changed
	Done    bool // the bucket has no stamps of older rules any more
	More    bool // there is more to do, in this bucket or another
}
