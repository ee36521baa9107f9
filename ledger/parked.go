package ledger

// Unparked is what one step of letting go did.
type Unparked struct {
	Seen     int  // rows that were parked there
	Returned int  // that are in their due index again
	More     bool // there is more to look through
}
