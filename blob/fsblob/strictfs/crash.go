package strictfs

import "math/rand/v2"

// CrashClone returns a file system as the disk may hold it if the power is lost
// now: all that was flushed, and of each other change (a name given or taken, a
// sector written) percent of a hundred, drawn from random. The same state, seed
// and percentage give the same clone. The clone has no hooks.
func (f *FS) CrashClone(percent int, random *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	keep := func() bool { return random.IntN(100) < percent }
	return &FS{clock: f.clock, root: f.root.crash(keep, map[*node]*node{})}
}
