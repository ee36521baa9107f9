package gateway

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/s3"
)

// certificateCheck is the shortest interval between checks of the files.
const certificateCheck = time.Second

// Certificates serves a certificate from two PEM files and reloads them after a
// change, with at most one check a second. If a pair cannot be loaded, such as
// one half written, the previous one stays in use.
type Certificates struct {
	cert, key string
	changed   func(file string, err error)

	mu      sync.Mutex
	loaded  *tls.Certificate
	stamp   [2]fileStamp
	checked lethe.Time
}

// fileStamp identifies the state of a file.
type fileStamp struct {
	modified time.Time
	size     int64
}

// LoadCertificates loads the pair. events may be the zero value.
func LoadCertificates(cert, key string, events s3.Events) (*Certificates, error) {
	c := &Certificates{cert: cert, key: key, changed: events.WithDefaults().Certificate}
	stamp, err := c.stamps()
	if err == nil {
		err = c.load(stamp)
	}
	if err != nil {
		return nil, fmt.Errorf("s3: TLS certificate: %w", err)
	}
	return c, nil
}

// GetCertificate is for tls.Config.
func (c *Certificates) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := lethe.Monotonic{}.Now()
	if now.Sub(c.checked) < certificateCheck {
		return c.loaded, nil
	}
	c.checked = now
	stamp, err := c.stamps()
	if err == nil && stamp == c.stamp {
		return c.loaded, nil
	}
	if err == nil {
		err = c.load(stamp)
	}
	c.changed(c.cert, err)
	return c.loaded, nil
}

func (c *Certificates) load(stamp [2]fileStamp) error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.loaded, c.stamp = &pair, stamp
	return nil
}

func (c *Certificates) stamps() (out [2]fileStamp, err error) {
	for i, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return out, err
		}
		out[i] = fileStamp{info.ModTime(), info.Size()}
	}
	return out, nil
}
