package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/test/servers"
)

// TestCommands runs the service as README.md says: migrate, fill, serve, stop.
func TestCommands(t *testing.T) {
	gateway, database := servers.VersityGW(t), servers.Postgres(t)
	for name, value := range map[string]string{
		"PASTEBIN_DATABASE": database, "PASTEBIN_REDIS": "redis://" + servers.NewRedis(t).Addr,
		"PASTEBIN_S3_ENDPOINT": gateway.Endpoint, "PASTEBIN_S3_BUCKET": "pastebin-commands",
		"PASTEBIN_S3_ACCESS_KEY": gateway.Access, "PASTEBIN_S3_SECRET_KEY": gateway.Secret,
		"PASTEBIN_SECRET": "a secret of this test", "PASTEBIN_LISTEN": "127.0.0.1:0",
	} {
		t.Setenv(name, value)
	}
	for _, args := range [][]string{{"migrate"}, {"migrate"}, {"fill", "-n", "20", "-shared", "1", "-ttl", "1s"}} {
		if err := run(t.Context(), args, io.Discard); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	demandRows(t, database, 20, 2)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"serve"}, in)
		in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, <-ended)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	resp, err := http.Post(url+"/", "text/plain", strings.NewReader("text"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("POST: %s", resp.Status)
	}
	resp, err = http.Get(url + resp.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(text) != "text" || err != nil {
		t.Errorf("GET: %q, %v", text, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// demandRows compares the number of rows in the tables.
func demandRows(t *testing.T, database string, pastes, contents int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var got [2]int
	err = conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pastes), (SELECT count(*) FROM content)`).Scan(&got[0], &got[1])
	if err != nil || got != [2]int{pastes, contents} {
		t.Errorf("%d pastes and %d contents, %v; want %d and %d", got[0], got[1], err, pastes, contents)
	}
}

// TestWrongSettings get an error that says which, and never show a password.
func TestWrongSettings(t *testing.T) {
	const database = "postgres://u:hidden@127.0.0.1:1/x"
	for _, c := range []struct {
		args []string
		env  [2]string
		want string
	}{
		{nil, [2]string{}, "pastebin serve"},
		{[]string{"clean"}, [2]string{}, `no command "clean"`},
		{[]string{"serve"}, [2]string{}, "PASTEBIN_DATABASE"},
		{[]string{"serve", "more"}, [2]string{}, `"more"`},
		{[]string{"migrate"}, [2]string{"PASTEBIN_CACHE_FOR", "long"}, "PASTEBIN_CACHE_FOR"},
		{[]string{"migrate", "-database", "postgres://u:hidden@[x"}, [2]string{}, "database"},
		{[]string{"migrate", "-database", database, "-redis", "http://u:hidden@x"}, [2]string{}, "redis://host"},
		{[]string{"serve", "-database", database}, [2]string{"PASTEBIN_SECRET", "short"}, "secret"},
		{[]string{"fill", "-database", database, "-shared", "2"}, [2]string{}, "between 0 and 1"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			if c.env[0] != "" {
				t.Setenv(c.env[0], c.env[1])
			}
			err := run(t.Context(), c.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%v, want an error with %q and without the password", err, c.want)
			}
		})
	}
}
