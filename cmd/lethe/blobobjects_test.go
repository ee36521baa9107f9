package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// A loss names the first of many objects and how to list all. That command
// lists each once, those in the trash as well, over any number of pages.
func TestAllObjectsOfALostBlobAreListed(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "7d")
	var want []string
	for n := range 25 {
		key := fmt.Sprintf("k%02d", n)
		w.put("first", key, "the same bytes", "")
		want = append(want, "s3://first/"+key)
	}
	w.remove("first", "k24")
	file := w.blobFile()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	code, out, _ := w.lethe("reconcile")
	_, command, told := strings.Cut(out, "and more: lethe ")
	command, _, _ = strings.Cut(command, " lists all")
	if code != exitProblems || !told || strings.Contains(out, "k24") {
		t.Fatalf("the loss is told as %d %s", code, out)
	}
	listed := strings.Split(strings.TrimSuffix(w.ok(strings.Fields(command)...), "\n"), "\n")
	last := listed[len(listed)-1]
	listed[len(listed)-1], _, _ = strings.Cut(last, " (in the trash: ")
	if slices.Sort(listed); !slices.Equal(listed, want) || last == want[24] {
		t.Errorf("%s lists %q", command, listed)
	}
	name, err := filepath.Rel(filepath.Join(w.dir, "blobs"), file)
	if err != nil {
		t.Fatal(err)
	}
	client := &api.Client{Base: "http://lethe", HTTP: api.Unix(filepath.Join(w.dir, "admin.sock"))}
	req, seen := api.BlobObjectsRequest{Blob: filepath.ToSlash(name), Limit: 2}, []string(nil)
	for more := true; more; {
		page, err := api.Call[api.BlobObjects](context.Background(), client, "blobs/objects", req)
		if err != nil || len(page.Objects) == 0 || len(page.Objects) > 2 || page.Refs != 25 {
			t.Fatalf("after %q: %+v, %v", seen, page, err)
		}
		for _, o := range page.Objects {
			seen = append(seen, "s3://"+o.Bucket+"/"+o.Key)
			req.AfterID, req.AfterTrash = o.ID, o.Trash
		}
		more = page.More
	}
	if slices.Sort(seen); !slices.Equal(seen, want) {
		t.Errorf("page by page there are %q", seen)
	}
	w.fails("neither a blob's id nor its name", "explain", "--blob", "x")
	w.fails("no such blob: the ledger has no row", "explain", "--blob", string(lethe.RandomID(w.clock.Now())))
	w.fails("name an object", "explain", "--blob", "x", "s3://first/a")
	w.fails("name an object", "explain")
}

// A part is needed by its upload while that is open, a condemned blob by
// nothing.
func TestWhatNeedsAPartOrADeadBlob(t *testing.T) {
	w := newWorld(t, "store.undo=0s").start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	client, ctx := w.s3("", ""), context.Background()
	u, err := client.CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{Bucket: aws.String("first"), Key: aws.String("big")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.UploadPart(ctx, &awss3.UploadPartInput{Bucket: aws.String("first"), Key: aws.String("big"), UploadId: u.UploadId,
		PartNumber: aws.Int32(1), Body: strings.NewReader("a part")}); err != nil {
		t.Fatal(err)
	}
	w.remove("first", "a")
	list, err := w.app.Ledger.Blobs(ctx, ledger.BlobQuery{States: []lethe.State{lethe.Live, lethe.Condemned}})
	if err != nil || len(list) != 2 {
		t.Fatalf("blobs %+v, %v", list, err)
	}
	for _, b := range list {
		got := asked[api.BlobObjects](w, "explain", "--blob", string(b.ID))
		switch {
		case b.UploadID != "" && (len(got.Objects) != 1 || !got.Objects[0].Upload || got.Objects[0].Key != "big" || got.Objects[0].ID != string(b.UploadID)):
			t.Errorf("of a part: %+v", got)
		case b.UploadID == "" && (len(got.Objects) != 0 || got.Refs != 0 || got.Blob.State != "condemned"):
			t.Errorf("of a condemned blob: %+v", got)
		}
	}
}
