package budget

import "io"

// Reader takes memory for the bytes read through it, times Times. If there is
// none left it fails with Beyond, and is Spent.
type Reader struct {
	R      io.Reader
	Held   *Account
	Times  int64
	Beyond error
	Spent  bool

	n int64
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.R.Read(p)
	r.n += int64(n)
	if !r.Held.Hold(r.Times * r.n) {
		r.Spent = true
		return 0, r.Beyond
	}
	return n, err
}
