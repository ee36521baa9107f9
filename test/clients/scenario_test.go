package clients

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// bucket is the one that each client makes.
const bucket = "real-client"

// dialect is how a client is told to do things. Folders and prefixes come
// without a slash at their end.
type dialect struct {
	run []string // the program and what goes before every command
	env []string

	makeBucket   func() []string
	put          func(file, key string) []string
	putTTL       func(file, key, ttl string) []string
	get          func(key, file string) []string
	list         func(prefix string) []string            // which may fail if it finds nothing
	keyOf        func(line string) (key string, ok bool) // of a line of the listing
	syncUp       func(folder, prefix string) []string    // deleting what is not in the folder
	syncDown     func(prefix, folder string) []string
	copy         func(from, to string) []string
	remove       func(key string) []string
	removeAll    func() []string
	removeBucket func() []string
}

// session is a client that works on a server.
type session struct {
	*server
	dialect
}

// do runs a command of the client, which must succeed.
func (c *session) do(args []string) string {
	c.Helper()
	out, err := c.try(args)
	c.must(err)
	return out
}

func (c *session) try(args []string) (string, error) {
	return command{folder: c.home, env: environment(c.home, c.env...), args: append(slices.Clone(c.run), args...)}.run()
}

// keys lists a prefix.
func (c *session) keys(prefix string) []string {
	c.Helper()
	var keys []string
	out, err := c.try(c.list(prefix))
	if out != "" {
		c.must(err)
	}
	for line := range strings.Lines(out) {
		if key, ok := c.keyOf(strings.TrimRight(line, "\n")); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// holds gets an object and compares it.
func (c *session) holds(key string, want []byte) {
	c.Helper()
	to := c.path("got")
	_ = os.Remove(to)
	c.do(c.get(key, to))
	c.equal(to, want)
}

// lacks fails if the object can be read; not every client calls that an error.
func (c *session) lacks(key string) {
	c.Helper()
	to := c.path("gone")
	_, err := c.try(c.get(key, to))
	if data, readErr := os.ReadFile(to); readErr == nil {
		c.Errorf("%s should be gone and came back with %d bytes (the client's error: %v)", key, len(data), err)
	}
}

// lifecycle is what every client does, from the first bucket to the last byte,
// and in between what it alone can.
func (c *session) lifecycle(beyond []func(*session)) {
	c.do(c.makeBucket())
	c.storesAndReads()
	c.synchronises()
	c.forgets()
	for _, more := range beyond {
		more(c)
	}
	c.sound()
	c.do(c.removeAll())
	if keys := c.keys(""); len(keys) != 0 {
		c.Errorf("after all was deleted the listing has %q", keys)
	}
	c.do(c.removeBucket())
	c.empty()
}

// storesAndReads puts small and large objects, overwrites and copies them.
func (c *session) storesAndReads() {
	small, other, large := noise(1000, 1), noise(2000, 2), noise(17<<20, 3)
	c.do(c.put(c.file("up", small), "small"))
	c.do(c.put(c.file("up", large), "with space/ünï.bin"))
	c.holds("with space/ünï.bin", large)
	c.do(c.put(c.file("up", other), "small"))
	c.do(c.copy("with space/ünï.bin", "copies/large"))
	c.do(c.copy("small", "copies/small"))
	if got, want := c.keys(""), []string{"copies/large", "copies/small", "small", "with space/ünï.bin"}; !slices.Equal(got, want) {
		c.Errorf("the listing is %q, want %q", got, want)
	}
	c.do(c.remove("with space/ünï.bin"))
	c.holds("copies/large", large)
	c.holds("small", other)
	c.lacks("with space/ünï.bin")
}

// synchronises a folder up, down, and after changes again.
func (c *session) synchronises() {
	tree := c.tree("tree")
	c.do(c.syncUp(tree, "tree"))
	if got, want := len(c.keys("tree")), len(c.digests(tree)); got != want {
		c.Errorf("%d objects were made of %d files", got, want)
	}
	c.do(c.syncDown("tree", c.path("back")))
	c.same(c.path("back"), tree)
	c.file("tree/plain.txt", noise(3000, 50))
	c.file("tree/new.txt", noise(10, 51))
	c.must(os.Remove(c.path("tree", ".hidden")))
	c.do(c.syncUp(tree, "tree"))
	c.do(c.syncDown("tree", c.path("again")))
	c.same(c.path("again"), tree)
}

// forgets gives objects a time to live, and sees them end.
func (c *session) forgets() {
	lasting, brief := noise(4321, 60), noise(5432, 61)
	c.do(c.putTTL(c.file("up", lasting), "lasting", "1h"))
	if got := c.header("lasting", "x-amz-expiration"); !strings.Contains(got, `expiry-date="`) || !strings.Contains(got, `rule-id="ttl"`) {
		c.Errorf("x-amz-expiration is %q", got)
	}
	c.do(c.putTTL(c.file("up", brief), "brief", "2s"))
	c.gone("brief")
	if slices.Contains(c.keys(""), "brief") {
		c.Error("an object whose time has passed is listed")
	}
	c.lacks("brief")
	if !c.onDisk(brief) {
		c.Error("the bytes went before anything was reclaimed: the test proves nothing")
	}
	c.reclaim()
	if c.onDisk(brief) || !c.onDisk(lasting) {
		c.Errorf("after reclaiming, bytes whose time has passed are on the disk: %v; those that live: %v", c.onDisk(brief), c.onDisk(lasting))
	}
	c.holds("lasting", lasting)
}

// curl asks for an object with a signature.
func (s *server) curl(key string, args ...string) string {
	s.Helper()
	args = append([]string{
		program(s.T, "curl"), "-q", "-sS", "--noproxy", "*", "--max-time", "60", "--aws-sigv4", "aws:amz:us-east-1:s3",
		"--user", s.access + ":" + s.secret, "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", s.s3 + "/" + bucket + "/" + key,
	}, args...)
	out, err := command{folder: s.home, env: environment(s.home), args: args}.run()
	s.must(err)
	return out
}

// header returns a header of an object.
func (s *server) header(key, name string) string {
	s.Helper()
	s.curl(key, "--head", "-o", s.path("head"))
	return s.sent("head", name)
}

// sent returns a header from a file that curl wrote.
func (s *server) sent(file, name string) string {
	s.Helper()
	data, err := os.ReadFile(s.path(file))
	s.must(err)
	for line := range strings.Lines(string(data)) {
		if n, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(n, name) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// gone waits until an object is no longer to be had.
func (s *server) gone(key string) {
	s.Helper()
	s.eventually(key+" is still there", func() bool { return s.curl(key, "--head", "-o", "/dev/null", "-w", "%{http_code}") == "404" })
}

// scenario runs a client through its life.
func scenario(t *testing.T, of func(*server) dialect, beyond ...func(*session)) {
	begin(t)
	s := serve(t)
	c := &session{s, of(s)}
	c.lifecycle(beyond)
}
