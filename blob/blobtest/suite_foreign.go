package blobtest

import (
	"errors"
	"io"
	"testing"

	"github.com/lethe-storage/lethe/blob"
)

// Planter puts bytes under a name on a backend as another program does, not by its
// Store.
type Planter func(t *testing.T, key, body string)

// Foreign tests that the stores that open returns keep the contract of
// blob.Foreign; each is empty.
func Foreign(t *testing.T, open func(t *testing.T) (blob.Store, Planter)) {
	for name, run := range map[string]func(*testing.T, blob.Foreign, Planter){
		"read": testForeignRead, "changed": testForeignChanged, "absent": testForeignAbsent, "names": testForeignNames,
	} {
		t.Run(name, func(t *testing.T) {
			s, plant := open(t)
			f, ok := s.(blob.Foreign)
			if !ok {
				t.Fatal("the store does not read foreign keys")
			}
			run(t, f, plant)
		})
	}
}

func testForeignRead(t *testing.T, f blob.Foreign, plant Planter) {
	for _, key := range []string{"cat", "Photos/Größe 1+2 %41&?#=~!'()*.JPG", "a/b/c/...", "UPPER/lower", "nothing/in/it"} {
		body := "of " + key
		if key == "nothing/in/it" {
			body = ""
		}
		plant(t, key, body)
		plant(t, key+"2", "another")
		info, err := f.StatForeign(t.Context(), key)
		if err != nil || info.Key != key || info.Size != int64(len(body)) || info.Tag == "" || info.ModTime == 0 {
			t.Fatalf("%q is %+v, %v", key, info, err)
		}
		rd, err := f.OpenForeign(t.Context(), info)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(rd); err != nil || string(text) != body {
			t.Errorf("%q holds %q, %v", key, text, err)
		}
		if err := rd.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testForeignChanged(t *testing.T, f blob.Foreign, plant Planter) {
	plant(t, "x", "before")
	info, err := f.StatForeign(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	plant(t, "x", "after that")
	if _, err := f.OpenForeign(t.Context(), info); !errors.Is(err, blob.ErrChanged) {
		t.Errorf("what was changed: %v", err)
	}
	now, err := f.StatForeign(t.Context(), "x")
	if err != nil || now.Tag == info.Tag {
		t.Errorf("its tag is %q as before, %v", now.Tag, err)
	}
}

func testForeignAbsent(t *testing.T, f blob.Foreign, plant Planter) {
	plant(t, "folder/x", "x")
	for _, key := range []string{"gone", "folder", "folder/y", "folder/x/z"} {
		if _, err := f.StatForeign(t.Context(), key); !errors.Is(err, blob.ErrNotExist) {
			t.Errorf("stat of %q: %v", key, err)
		}
		if _, err := f.OpenForeign(t.Context(), blob.ForeignInfo{Info: blob.Info{Key: key, Size: 1}, Tag: `"x"`}); !errors.Is(err, blob.ErrNotExist) {
			t.Errorf("open of %q: %v", key, err)
		}
	}
}

func testForeignNames(t *testing.T, f blob.Foreign, plant Planter) {
	plant(t, "folder/x", "x")
	for _, key := range []string{"", "/folder/x", "folder//x", "folder/../folder/x", "../x", "folder/./x", "folder/x\n", "folder/\xff"} {
		if _, err := f.StatForeign(t.Context(), key); !errors.Is(err, blob.ErrInvalidKey) {
			t.Errorf("stat of %q: %v", key, err)
		}
		if _, err := f.OpenForeign(t.Context(), blob.ForeignInfo{Info: blob.Info{Key: key, Size: 1}, Tag: `"x"`}); !errors.Is(err, blob.ErrInvalidKey) {
			t.Errorf("open of %q: %v", key, err)
		}
	}
}
