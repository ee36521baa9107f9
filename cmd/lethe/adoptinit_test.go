package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/test/servers"
)

// endlessApp is tables without an end and a bucket: uploads whose rows name their objects,
// and the recordings, whose rows name folders.
func endlessApp(t *testing.T, tables string, keys ...string) (file string) {
	t.Helper()
	gateway, database := servers.VersityGW(t), servers.Postgres(t)
	db, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(t.Context()) })
	if _, err := db.Exec(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	bucket := gateway.Bucket(t)
	for _, key := range keys {
		if _, err := gateway.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte("x"))}); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("DATABASE_URL", database)
	t.Setenv("AWS_ACCESS_KEY_ID", gateway.Access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", gateway.Secret)
	var out, log bytes.Buffer
	if code := run(t.Context(), []string{"adopt", "init", "--endpoint", gateway.Endpoint, "--bucket", bucket}, streams{strings.NewReader(""), &out, &log}); code != 0 {
		t.Fatalf("init: exit code %d\n%s", code, &log)
	}
	file = filepath.Join(t.TempDir(), "adopt.yaml")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	return file
}

// A proposal for tables without an end describes what their rows name, says why,
// and passes its check as it is.
func TestAdoptInitWithoutAnEnd(t *testing.T) {
	schema, err := os.ReadFile("../../examples/recordings/recording/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	const (
		recordings = `INSERT INTO sequences (name) VALUES ('drive'), ('walk');
			INSERT INTO topics (sequence, name) VALUES ('drive', 'camera'), ('drive', 'lidar'), ('walk', 'camera');
			INSERT INTO files (sequence, topic, file, size) VALUES ('drive', 'camera', 'AAAAAAAAAA', 1), ('walk', 'camera', 'BBBBBBBBBB', 1)`
		uploads = `CREATE TABLE uploads (id bigint PRIMARY KEY, object_key text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
			INSERT INTO uploads VALUES (1, 'uploads/7f3a'), (2, 'uploads/81bc'), (3, 'uploads/9d20')`
	)
	for _, c := range []struct {
		name, tables string
		keys         []string
		file, check  []string
	}{
		{"folders", string(schema) + recordings,
			[]string{"sequences/drive/topics/camera/AAAAAAAAAA", "sequences/drive/topics/lidar/CCCCCCCCCC", "sequences/walk/topics/camera/BBBBBBBBBB", "sequences/gone/topics/camera/DDDDDDDDDD"},
			[]string{"  topics:\n    kind: folders\n    mode: report", "prefix: sequences/", `name: "{sequence}/topics/{name}"`, "2 of 2 sampled values of sequence are folders there", "# files.file: ", "has: leave them to it", "names objects: sequences.\n"},
			[]string{"of the folders 3 have a row, 1 are young"}},
		{"keys", uploads, []string{"uploads/7f3a", "uploads/81bc", "uploads/9d20", "uploads/lost"},
			[]string{"  uploads:\n    kind: keys\n    mode: report", "prefix: uploads/", "query: SELECT object_key FROM uploads\n", "uploads.object_key: 3 of 3 sampled values name keys in the bucket"},
			[]string{"objects with a row: 3"}},
		{"a word of SQL", uploads + `; CREATE TABLE accounts ("user" text PRIMARY KEY); INSERT INTO accounts VALUES ('annabella'), ('benedictus')`,
			[]string{"uploads/7f3a", "uploads/81bc", "uploads/9d20", "uploads/annabella", "uploads/benedictus"},
			[]string{"kind: keys"}, []string{"objects with a row: 5"}},
		{"domains", "CREATE DOMAIN key AS text; CREATE TABLE shares (id bigint PRIMARY KEY, named key); INSERT INTO shares VALUES (1, 'shares/7f3a'), (2, 'shares/81bc')",
			[]string{"shares/7f3a", "shares/81bc"}, []string{"kind: keys", "query: SELECT named FROM shares\n"}, []string{"objects with a row: 2"}},
		{"both", string(schema) + recordings + ";" + uploads, []string{"sequences/drive/topics/camera/AAAAAAAAAA", "sequences/walk/topics/camera/BBBBBBBBBB", "sequences/drive/topics/lidar/X", "uploads/7f3a", "uploads/81bc"},
			[]string{"kind: folders", "kind: keys"}, []string{"of the folders 3 have a row", "objects with a row: 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := endlessApp(t, c.tables, c.keys...)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.file {
				if !strings.Contains(string(text), want) {
					t.Errorf("the proposal is without %q", want)
				}
			}
			(&adopted{t: t}).ok(c.check, "check", file)
		})
	}
}
