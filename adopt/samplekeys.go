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
	// SampledKeys is how many keys are sampled from the beginning of a bucket,
	// and from the top of a folder on a disk. A bucket with fewer sampled keys
	// has no others.
	SampledKeys = 1000
	// sampledFurther is how many are sampled from each further point.
	sampledFurther = 200
	// sampledFolders is how many top folders of a bucket have such points.
	sampledFolders = 8
)

// sampledPoints are the points in a folder where sampling begins, besides its
// beginning.
var sampledPoints = []string{"", "4", "8", "c", "k", "s"}

// afterAll sorts after every name in a folder.
const afterAll = "\U0010FFFF"

// SampleKeys returns some keys of a bucket: the first, and if there are more
// some of several top folders, each from several points.
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

// SampleFiles returns the paths of some files as keys, with a bound for each
// directory and for each one at the top.
func SampleFiles(root fs.FS) (keys []string, err error) {
	of := map[string]int{} // by directory, and by top directory
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
