package object

import (
	"math/bits"
	"sync"
)

// pool keeps buffers by powers of two, so that a small body does not hold the
// memory of the largest. The zero value is ready.
type pool struct {
	classes [bits.UintSize]sync.Pool
}

// smallest is the least capacity that the pool keeps, in bytes.
const smallest = 4 << 10

// get returns an empty buffer with a capacity of at least n bytes.
func (p *pool) get(n int64) []byte {
	n = max(n, smallest)
	class := bits.Len64(uint64(n - 1))
	if b, ok := p.classes[class].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 1<<class)
}

// put takes a buffer back; its owner must not use it any more.
func (p *pool) put(b []byte) {
	if cap(b) < smallest || cap(b)&(cap(b)-1) != 0 {
		return
	}
	b = b[:0]
	p.classes[bits.Len(uint(cap(b)-1))].Put(&b)
}

// grow returns a buffer of twice the capacity with b's bytes, and takes b back.
func (p *pool) grow(b []byte) []byte {
	bigger := append(p.get(2*int64(cap(b))), b...)
	p.put(b)
	return bigger
}
