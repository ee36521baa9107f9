// Command pastebin is a paste service: rows in PostgreSQL, bytes in S3, copies in
// Redis. "pastebin serve" runs it, "pastebin migrate" makes its tables and its
// bucket, "pastebin fill" creates pastes for demonstrations. Nothing in it removes
// what has expired.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/lethe-storage/lethe/examples/pastebin/paste"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "pastebin:", err)
		os.Exit(1)
	}
}

const usage = "use one of: pastebin serve, pastebin migrate, pastebin fill; -h after it shows its flags"

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	command, known := map[string]func(context.Context, *settings, io.Writer) error{
		"serve": serve, "migrate": migrate, "fill": fill,
	}[args[0]]
	if !known {
		return fmt.Errorf("there is no command %q; %s", args[0], usage)
	}
	s, err := parse(args[0], args[1:])
	if err != nil {
		return err
	}
	return command(ctx, s, out)
}

func migrate(ctx context.Context, c *settings, out io.Writer) error {
	store, err := paste.Open(ctx, c.store)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "the tables and the bucket are there")
	return nil
}

func fill(ctx context.Context, c *settings, out io.Writer) error {
	store, err := paste.Open(ctx, c.store)
	if err != nil {
		return err
	}
	defer store.Close()
	f := c.filling
	f.Salt = rand.Text()
	f.Progress = func(done int) {
		if done%10_000 == 0 || done == f.Pastes {
			fmt.Fprintf(out, "%d of %d pastes\n", done, f.Pastes)
		}
	}
	return paste.Fill(ctx, store, f)
}

// drainTime is how long requests that are under way may take when the service is
// stopped.
const drainTime = 30 * time.Second

func serve(ctx context.Context, c *settings, out io.Writer) error {
	store, err := paste.Open(ctx, c.store)
	if err != nil {
		return err
	}
	defer store.Close()
	handler, err := paste.NewHandler(store, c.handler)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(out, "listening on http://%s\n", listener.Addr())
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		stopped <- server.Shutdown(ctx)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	if err := <-stopped; err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}
