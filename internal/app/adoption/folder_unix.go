//go:build linux || darwin || freebsd

package adoption

import (
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob/treeblob"
)

// openFolder opens a bucket that is a folder.
func openFolder(b adopt.BucketSpec, at beside) (bucket, error) {
	return treeblob.Open(treeblob.Options{Root: b.Path, Prefix: at.prefix, Beside: at.objects})
}
