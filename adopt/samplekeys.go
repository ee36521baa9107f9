package adopt

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/lethe-storage/lethe/blob"
)

const (
	// SampledKeys is how many keys are looked at from the beginning of a bucket, and how
	// many of a folder on a disk at its top. A bucket of which fewer were sampled has no others.
	SampledKeys = 1000
	// sampledFurther is how many are looked at from each point further on.
	sampledFurther = 200
	// sampledFolders is how many folders at the top of a bucket have such points.
	sampledFolders = 8
)

// sampledPoints are where names in a folder are looked at, beside its beginning.
var sampledPoints = []string{"", "4", "8", "c", "k", "s"}

// afterAll follows every name in a folder.
const afterAll = "\U0010FFFF"

// SampleKeys returns some keys of a bucket: the first, and where there are more some of
// several folders at its top, each from several points on.
func SampleKeys(ctx context.Context, l Lister) ([]string, error) {
	keys, err := keysAfter(ctx, l, "", SampledKeys)
	if err != nil || len(keys) < SampledKeys {
		return keys, err
	}
	seen := set(keys)
	for top, folders := keys[0], 0; folders < sampledFolders; folders++ {
		folder, _, deep := strings.Cut(top, "/")
		if deep {
			folder += "/"
		} else {
			folder = ""
		}
		for _, p := range sampledPoints {
			more, err := keysAfter(ctx, l, folder+p, sampledFurther)
			if err != nil {
				return nil, err
			}
			for _, key := range more {
				if !seen[key] {
					seen[key], keys = true, append(keys, key)
				}
			}
		}
		next, err := keysAfter(ctx, l, folder+afterAll, 1)
		if err != nil {
			return nil, err
		}
		if len(next) == 0 {
			break
		}
		top = next[0]
	}
	return keys, nil
}

// keysAfter returns the first keys after one.
func keysAfter(ctx context.Context, l Lister, after string, most int) (keys []string, err error) {
	err = l.List(ctx, "", after, func(i blob.Info) error {
		if keys = append(keys, i.Key); len(keys) == most {
			return errPage
		}
		return nil
	})
	if errors.Is(err, errPage) {
		err = nil
	}
	return keys, err
}

// SampleFiles returns the paths of some files, as keys: of no directory more than some, and
// of each at the top.
func SampleFiles(root fs.FS) (keys []string, err error) {
	of := map[string]int{} // by directory, and by the one at the top
	err = fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		top, _, _ := strings.Cut(name, "/")
		switch dir := path.Dir(name); {
		case err != nil:
			return err
		case e.IsDir() && of["/"+top] >= SampledKeys:
			return fs.SkipDir
		case e.Type().IsRegular() && of[dir] < sampledFurther:
			keys = append(keys, name)
			of["/"+top]++
			of[dir]++
		}
		return nil
	})
	return keys, err
}
