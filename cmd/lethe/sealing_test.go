package main

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/test/servers"
)

// sealingFile returns the path of a file of sealing keys, and a function that
// writes it.
func sealingFile(t *testing.T) (file string, lines func(keys ...string)) {
	file = filepath.Join(t.TempDir(), "sealing-key")
	return file, func(keys ...string) {
		t.Helper()
		var text strings.Builder
		for _, k := range keys {
			text.WriteString(base64.StdEncoding.EncodeToString([]byte(strings.Repeat(k, 32))) + "\n")
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Sealed secrets are not in the ledger's files in clear. Without their sealing
// key a server does not start, and loses nothing.
func TestSealedKeys(t *testing.T) {
	file, lines := sealingFile(t)
	w := newWorld(t).start()
	w.bucket("photos")
	w.fails("set database.sealing_key_file", "keys", "seal")
	plain := asked[api.NewKey](w, "keys", "add", "--bucket", "photos")
	w.stop()
	lines("1")
	w.settings = append(w.settings, "database.sealing_key_file="+file)
	w.start()
	later := asked[api.NewKey](w, "keys", "add", "--bucket", "photos")
	works := func() {
		t.Helper()
		for _, k := range []api.NewKey{plain, later} {
			if _, err := w.s3(k.ID, k.Secret).ListObjectsV2(context.Background(), &awss3.ListObjectsV2Input{Bucket: &k.Buckets[0]}); err != nil {
				t.Errorf("%s: %v", k.ID, err)
			}
		}
	}
	works()
	copied := filepath.Join(t.TempDir(), "copy")
	w.ok("backup", copied)
	if text, err := os.ReadFile(copied); err != nil || !strings.Contains(string(text), plain.Secret) || strings.Contains(string(text), later.Secret) {
		t.Errorf("the backup lacks the secret in clear, or holds the one that is sealed: %v", err)
	}
	if out := w.ok("keys", "seal"); out != "1 secret was sealed\n" {
		t.Error(out)
	}
	works()
	w.stop()
	lines("2")
	if err := w.tryStart(); err == nil || !strings.Contains(err.Error(), "put that key back") || strings.Contains(err.Error(), later.Secret) {
		t.Fatalf("started with another sealing key: %v", err)
	}
	lines("2", "1")
	w.start()
	works()
	if out := w.ok("keys", "seal"); out != "2 secrets were sealed\n" {
		t.Error(out)
	}
	w.stop()
	lines("2")
	w.start()
	works()
	w.stop()
	lines("3")
	w.ok("keys", "remove", plain.ID, later.ID)
	w.start()
}

// If the sealing key of the shared root key is lost, the database can be made
// to forget it, and the instances agree on that of their folders again.
func TestTheSealingKeyOfTheSharedRootIsLost(t *testing.T) {
	file, lines := sealingFile(t)
	lines("1")
	w := newWorld(t, append(shared(t, servers.Postgres(t), "cloud"), "database.sealing_key_file="+file)...).start()
	before := w.app.Root
	w.fails("can be opened", "keys", "forget-root")
	w.stop()
	lines("2")
	if err := w.tryStart(); err == nil || !strings.Contains(err.Error(), "keys forget-root") {
		t.Fatalf("started with another sealing key: %v", err)
	}
	w.ok("keys", "forget-root")
	w.start()
	if w.app.Root.Access != before.Access || w.app.Root.Secret.Reveal() != before.Secret.Reveal() {
		t.Error("the root key is another one")
	}
	w.fails("can be opened", "keys", "forget-root")
}
