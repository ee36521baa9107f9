package adopttest

import (
	"fmt"

	"github.com/lethe-storage/lethe/adopt"
)

// upload is one of a content's object.
func upload(content string, fence int64, id string) adopt.Upload {
	return adopt.Upload{Key: ObjectOf(content), Fence: fence, Name: "kept/" + ObjectOf(content), ID: id}
}

// uploading records an upload, if the object is in the hands of its fence.
func (w *world) uploading(u adopt.Upload, want bool) {
	w.Helper()
	equal(w, "recorded", must(w.Quarantine.Uploading(w.ctx, u))(w), want)
}

// unfinished are the uploads that nobody will end.
func (w *world) unfinished(want ...adopt.Upload) {
	w.Helper()
	equal(w, "unfinished", must(w.Quarantine.Unfinished(w.ctx, adopt.Upload{}, 100))(w), want)
}

func uploadsOnce(w *world) {
	fence := w.begun("1", adopt.Begun{Copy: objectsOf("x")}, "x")
	w.uploading(upload("x", fence+1, "another's"), false)
	w.uploading(upload("never begun", fence, "none"), false)
	w.uploading(upload("x", fence, "one"), true)
	if _, err := w.Quarantine.Uploading(w.ctx, upload("x", fence, "two")); err == nil {
		w.Error("two uploads are recorded of one copy")
	}
	w.unfinished()
}

func uploadsSilent(w *world) {
	silent := w.begun("1", adopt.Begun{Copy: objectsOf("x")}, "x")
	one := upload("x", silent, "one")
	w.uploading(one, true)
	w.App.Pass(window)
	w.unfinished(one)
	w.uploading(upload("x", silent, "too late"), false)
	fence := w.begun("1", adopt.Begun{Copy: objectsOf("x")}, "x")
	w.uploading(upload("x", silent, "taken over"), false)
	w.uploading(upload("x", fence, "two"), true)
	w.unfinished(one)
	w.must(w.Quarantine.Aborted(w.ctx, one))
	w.must(w.Quarantine.Aborted(w.ctx, one))
	w.unfinished()
	w.copied(fence, objectsOf("x"), objectsOf("x"))
	w.unfinished(upload("x", fence, "two"))
}

func uploadsEnded(w *world) {
	w.away("x")
	w.put("x", Never, "again")
	fence := w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Restoring}, "x")
	back := upload("x", fence, "back")
	back.Name = ObjectOf("x")
	w.uploading(back, true)
	w.unfinished()
	w.ended(fence, objectsOf("x"), adopt.Restored, "x")
	w.unfinished(back)
	w.App.Pass(window)
	fence = w.taken(adopt.ClaimRequest{Keys: objectsOf("x"), For: adopt.Purging, Spare: true}, "x")
	w.ended(fence, objectsOf("x"), adopt.Purged, "x")
	w.unfinished(back)
}

func uploadPages(w *world) {
	contents := names("content", 3)
	var want []adopt.Upload
	for range 2 {
		fence := w.begun("1", adopt.Begun{Copy: objectsOf(contents...)}, contents...)
		for _, c := range contents {
			want = append(want, upload(c, fence, fmt.Sprint(len(want))))
			w.uploading(want[len(want)-1], true)
		}
		w.App.Pass(window)
	}
	seen := map[adopt.Upload]int{}
	for after := (adopt.Upload{}); ; {
		page := must(w.Quarantine.Unfinished(w.ctx, after, 2))(w)
		if len(page) == 0 {
			break
		}
		for _, u := range page {
			seen[u]++
		}
		after = page[len(page)-1]
	}
	equal(w, "uploads", len(seen), len(want))
	for _, u := range want {
		equal(w, u.ID, seen[u], 1)
	}
}
