// Command recordings keeps what robots record: rows in PostgreSQL, files in S3. What
// is deleted loses its rows at once; nothing in it removes the files.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/lethe-storage/lethe/examples/recordings/recording"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "recordings:", err)
		os.Exit(1)
	}
}

const usage = "use one of: migrate; record SEQUENCE TOPIC < FILE; play SEQUENCE TOPIC; list; delete SEQUENCE [TOPIC]"

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	c := recording.Config{
		Database: os.Getenv("RECORDINGS_DATABASE"), Endpoint: os.Getenv("RECORDINGS_S3_ENDPOINT"),
		Region: cmp.Or(os.Getenv("RECORDINGS_S3_REGION"), "us-east-1"), Bucket: cmp.Or(os.Getenv("RECORDINGS_S3_BUCKET"), "recordings"),
		Access: os.Getenv("RECORDINGS_S3_ACCESS_KEY"), Secret: os.Getenv("RECORDINGS_S3_SECRET_KEY"),
	}
	if c.Database == "" || c.Endpoint == "" {
		return errors.New("set RECORDINGS_DATABASE and RECORDINGS_S3_ENDPOINT; README.md has all variables")
	}
	store, err := recording.Open(ctx, c)
	if err != nil {
		return err
	}
	defer store.Close()
	command, args := args[0], args[1:]
	switch {
	case command == "migrate" && len(args) == 0:
		return store.Migrate(ctx)
	case command == "record" && len(args) == 2:
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return store.Record(ctx, args[0], args[1], data)
	case command == "play" && len(args) == 2:
		return store.Play(ctx, args[0], args[1], out)
	case command == "delete" && (len(args) == 1 || len(args) == 2):
		return store.Delete(ctx, args[0], append(args, "")[1])
	case command == "list" && len(args) == 0:
		topics, err := store.Topics(ctx)
		for _, t := range topics {
			fmt.Fprintln(out, t)
		}
		return err
	}
	return errors.New(usage)
}
