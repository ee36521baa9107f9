package strictfs

import "math/rand/v2"

// CrashClone returns a file system as the disk may hold it after a loss of power
// now: all that was flushed, and each other change (a name given or taken, a sector
// written) with a probability of percent, drawn from random. The same state, seed
// and percentage give the same clone. The clone has no hooks.
// and percentage give the same clone. The clone has no hooks.
func (f *FS) CrashClone(percent int, random *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	keep := func() bool { return random.IntN(100) < percent }
	return &FS{clock: f.clock, root: f.root.crash(keep, map[*node]*node{})}
}
