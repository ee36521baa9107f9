package main

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/examples/pastebin/paste"
)

// settings are what flags and the environment say.
type settings struct {
	listen  string
	store   paste.Config
	handler paste.HandlerConfig
	filling paste.Filling
}

// parse reads the flags of a command. The default of a flag is the variable of the
// environment with its name: PASTEBIN_S3_BUCKET for -s3-bucket. Passwords and keys
// are better there, since others see a command line.
func parse(command string, args []string) (*settings, error) {
	c := &settings{}
	fs := flag.NewFlagSet("pastebin "+command, flag.ContinueOnError)
	fs.StringVar(&c.store.Database, "database", "", "`URL` of the PostgreSQL database")
	fs.StringVar(&c.store.S3.Endpoint, "s3-endpoint", "", "`URL` of the S3 service (default AWS)")
	fs.StringVar(&c.store.S3.Region, "s3-region", "us-east-1", "`region` of the S3 service")
	fs.StringVar(&c.store.S3.Bucket, "s3-bucket", "pastes", "`name` of the bucket")
	fs.StringVar(&c.store.Redis, "redis", "", "`URL` of Redis, redis://host:6379/0 (default no cache)")
	fs.DurationVar(&c.store.CacheFor, "cache-for", 5*time.Minute, "how long a copy stays in Redis at most")
	switch command {
	case "serve":
		fs.StringVar(&c.listen, "listen", "127.0.0.1:8484", "`address` to listen on")
		fs.Int64Var(&c.handler.MaxSize, "max-size", 1<<20, "largest paste in `bytes`")
		fs.DurationVar(&c.handler.TTL, "default-ttl", 30*24*time.Hour, "life of pastes for which none is asked")
	case "fill":
		fs.IntVar(&c.filling.Pastes, "n", 10_000, "`number` of pastes")
		fs.Float64Var(&c.filling.Shared, "shared", 0.3, "`part` of the pastes, 0 to 1, that have their content with others")
		fs.DurationVar(&c.filling.TTL, "ttl", time.Hour, "life of the pastes; 0: they stay")
		fs.IntVar(&c.filling.Size, "size", 200, "size of each in `bytes`")
		fs.IntVar(&c.filling.Workers, "workers", 16, "`number` of pastes created at the same time")
	}
	if err := environment(fs); err != nil {
		return nil, err
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag of pastebin %s", fs.Arg(0), command)
	}
	if c.store.Database == "" {
		return nil, errors.New("no database: set PASTEBIN_DATABASE or -database, postgres://user@host/name for one")
	}
	return c, c.secrets(command)
}

// variable is the name of a flag in the environment.
func variable(name string) string {
	return "PASTEBIN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// environment sets the flags for which there are variables.
func environment(fs *flag.FlagSet) (err error) {
	fs.VisitAll(func(f *flag.Flag) {
		value, ok := os.LookupEnv(variable(f.Name))
		if !ok || err != nil {
			return
		}
		if wrong := fs.Set(f.Name, value); wrong != nil {
			err = fmt.Errorf("%s: %w", variable(f.Name), wrong)
		}
	})
	return err
}

// secrets reads what has no flag.
func (c *settings) secrets(command string) error {
	c.store.S3.Access, c.store.S3.Secret = os.Getenv("PASTEBIN_S3_ACCESS_KEY"), os.Getenv("PASTEBIN_S3_SECRET_KEY")
	c.handler.Secret = []byte(os.Getenv("PASTEBIN_SECRET"))
	if len(c.handler.Secret) == 0 && command == "serve" {
		c.handler.Secret = []byte(rand.Text())
		slog.Warn("PASTEBIN_SECRET is not set: the keys of owners are good until the service stops")
	}
	return nil
}
