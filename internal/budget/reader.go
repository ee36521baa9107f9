package budget

import "io"

// Reader counts Factor bytes of memory for each byte read. When the budget is used
// up, Read returns ErrFull and Full is set.
type Reader struct {
	R       io.Reader
	Account *Account
	Factor  int64
	ErrFull error
	Full    bool

	n int64
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.R.Read(p)
	r.n += int64(n)
	if !r.Account.Hold(r.Factor * r.n) {
		r.Full = true
		return 0, r.ErrFull
	}
	return n, err
}
