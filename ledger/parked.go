package ledger

// Unparked is the result of one step that releases deferred rows.
type Unparked struct {
	Seen     int  // deferred rows looked at
	Returned int  // rows that are back in their due index
	More     bool // more rows are to be looked at
}
