package netlimit

import "time"

// Pace is the least rate of a body: PerSecond bytes, averaged over Window.
// Every body begins with a Window of waiting. The zero value is no limit.
type Pace struct {
	PerSecond int64
	Window    time.Duration
}

// Patience is how much longer a body may be waited for. One goroutine uses it
// at a time.
type Patience struct {
	pace Pace
	left time.Duration
}

// Patience returns that of a new body.
func (p Pace) Patience() Patience { return Patience{p, p.Window} }

// Left returns how long the next read may wait; ok is false if there is no
// bound.
func (p *Patience) Left() (left time.Duration, ok bool) {
	return max(p.left, 0), p.pace.PerSecond > 0
}

// Waited records that a read waited for n bytes.
func (p *Patience) Waited(d time.Duration, n int) {
	if p.pace.PerSecond > 0 {
		earned := time.Duration(float64(n) / float64(p.pace.PerSecond) * float64(time.Second))
		p.left = min(p.left-d+earned, p.pace.Window)
	}
}
