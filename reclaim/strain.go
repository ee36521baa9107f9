package reclaim

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

// Strain watches how long what reclaiming itself asks of a database or a backend
// takes, beside what it took when that had less to do, and slows down while it
// takes longer. Work of one kind and of about the same size is compared with
// itself. The zero value with a Clock is ready; a nil Strain does nothing. It is
// safe for concurrent use.
type Strain struct {
	// Limit is how many times as long as usual the median may take. 0 is 3.
	Limit float64
	Clock lethe.Clock // best one that never jumps, lethe.Monotonic

	mu     sync.Mutex
	usual  map[work]time.Duration
	fresh  map[work][]time.Duration // not yet part of what is usual
	ratios []float64                // of the window
	began  lethe.Time
	pace   pace
}

// work is a kind of work by its size, in powers of two.
type work struct {
	what string
	size int
}

const (
	strainLimit = 3
	// strainWindow is how long a window lasts, if it has enoughStrain samples.
	strainWindow = 2 * time.Second
	enoughStrain = 5
	// strainMemory is how many windows it takes what is usual to rise.
	strainMemory = 256
	// calm is how long nothing has to be seen for the pace to be given up.
	calm = 30 * time.Second
	// unhurried is too short to be called slow.
	unhurried = 5 * time.Millisecond
)

// Observe tells of work on n rows or keys that ended.
func (s *Strain) Observe(what string, n int, took time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usual == nil {
		s.usual = make(map[work]time.Duration)
	}
	if s.fresh == nil {
		s.fresh = make(map[work][]time.Duration)
	}
	k := work{what, bits.Len(uint(max(n, 0)))}
	s.fresh[k] = append(s.fresh[k], took)
	if usual, known := s.usual[k]; known {
		s.ratios = append(s.ratios, float64(took)/float64(max(usual, unhurried)))
	}
	s.turn()
}

// Time begins to time work; what it answers is to be told on how many rows or keys
// it was. Work on none says nothing.
func (s *Strain) Time(what string) (ended func(n int)) {
	if s == nil {
		return func(int) {}
	}
	at := s.Clock.Now()
	return func(n int) {
		if n > 0 {
			s.Observe(what, n, s.Clock.Now().Sub(at))
		}
	}
}

// around does some work, and rests after it while things take longer than usual.
func (s *Strain) around(ctx context.Context, do func() error) error {
	if s == nil {
		return do()
	}
	at := s.Clock.Now()
	err := do()
	if pause := s.now().pause(s.Clock.Now().Sub(at)); err == nil && pause > 0 {
		sleepFor(ctx, pause)
	}
	return err
}

// Pace is how much slower than at full speed to go: 0 to 4.
func (s *Strain) Pace() int { return int(s.now()) }

// learn makes what was seen part of what is usual: the lowest median, which rises
// slowly, so that what has become slower for good is usual after some minutes.
func (s *Strain) learn() {
	for k, list := range s.fresh {
		if len(list) < enoughStrain {
			continue
		}
		slices.Sort(list)
		median := list[len(list)/2]
		if usual, known := s.usual[k]; known && median > usual {
			median = usual + (min(median, 4*usual)-usual)/strainMemory
		}
		s.usual[k] = median
		delete(s.fresh, k)
	}
}

// turn closes the window if it is time.
func (s *Strain) turn() {
	now := s.Clock.Now()
	if s.began == 0 {
		s.began = now
	}
	age := now.Sub(s.began)
	if age < strainWindow {
		return
	}
	defer s.learn() // after the decision
	if len(s.ratios) < enoughStrain && age < calm {
		return
	}
	limit := s.Limit
	if limit == 0 {
		limit = strainLimit
	}
	s.pace = s.pace.under(s.ratios, limit)
	s.ratios, s.began = s.ratios[:0], now
}

// under decides by a window's ratios; one that has too few says that all is calm.
func (p pace) under(ratios []float64, limit float64) pace {
	if len(ratios) < enoughStrain {
		return 0
	}
	list := slices.Clone(ratios)
	slices.Sort(list)
	if list[len(list)/2] > limit {
		return p.down()
	}
	return p.up()
}

// now is the pace that is asked for.
func (s *Strain) now() pace {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	return s.pace
}
