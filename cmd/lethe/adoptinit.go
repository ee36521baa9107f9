package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/rediskeys"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/internal/redisconn"
)

func (c *cli) adoptInitCommand() *cobra.Command {
	var database string
	var s adopt.ProposeOptions
	cmd := &cobra.Command{
		Use: "init", Short: "Propose a description of a database and a bucket",
		Long: `Read the schema of a database (PostgreSQL, MariaDB, SQLite) and a sample of the keys of a bucket or
folder, and of a Redis. Write a description to standard output, with the reasons as comments: which column looks
like an expiry, a count, a key. The first and last rows of each table are compared with the keys;
in a large bucket their objects are looked up one by one. If a table lacks the columns of a claim,
comments have the statements that would add them. Nothing is changed.

The access keys of the bucket are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if database == os.Getenv("DATABASE_URL") {
				s.Variable = "DATABASE_URL"
			}
			return c.adoptInit(cmd.Context(), database, s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&database, "database", os.Getenv("DATABASE_URL"), "`URL` of the database (default $DATABASE_URL); the file does not name it")
	f.StringVar(&s.Redis, "redis", "", "`URL` of the cache (default none); its keys are compared with the rows")
	f.StringVar(&s.Endpoint, "endpoint", "", "`URL` of the S3 service (default AWS)")
	f.StringVar(&s.Bucket, "bucket", "", "`name` of the bucket")
	f.StringVar(&s.Path, "path", "", "`folder` on a disk, instead of a bucket")
	return cmd
}

func (c *cli) adoptInit(ctx context.Context, database string, s adopt.ProposeOptions) (err error) {
	if database == "" {
		return usageError("no database: --database postgres://user@host/name, mysql://user@host/name or sqlite:/path/to/file.db, or DATABASE_URL")
	}
	db, err := sqladopt.Open(ctx, database, sqladopt.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tables, err := db.Tables(ctx)
	if err != nil {
		return err
	}
	if s.Bucket != "" && s.Path != "" {
		return usageError("--bucket and --path exclude each other: objects are in a bucket or in a folder")
	}
	if s.Path != "" {
		if s.Path, err = filepath.Abs(s.Path); err != nil {
			return err
		}
	}
	if s.Bucket != "" || s.Path != "" {
		if s.Objects, err = someKeys(ctx, s, tables); err != nil {
			return err
		}
	}
	if s.Redis != "" {
		if s.Copies, err = someCopies(ctx, s.Redis); err != nil {
			return err
		}
		s.Redis = "${REDIS_URL}"
	}
	s.ClaimColumns = db.ClaimColumns
	_, err = io.WriteString(c.out, adopt.Propose(tables, s))
	return err
}

// someCopies returns keys of a cache.
func someCopies(ctx context.Context, url string) (keys []string, err error) {
	conn, err := redisconn.Open(redisconn.Options{URL: url, Kind: redisconn.KindOf(url), Timeout: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	keys, err = rediskeys.Copies{Conn: conn}.Sample(ctx, adopt.SampledCopies)
	if err != nil {
		return nil, fmt.Errorf("read keys of the cache: %w", err)
	}
	return keys, nil
}

// someKeys returns keys from all over the bucket, and keys that the rows of the
// tables name.
func someKeys(ctx context.Context, s adopt.ProposeOptions, tables []adopt.TableInfo) (keys []string, err error) {
	if s.Path != "" {
		root := os.DirFS(s.Path)
		if keys, err = adopt.SampleFiles(root); err != nil {
			return nil, err
		}
		return adopt.SampleNamed(ctx, adopt.FileOf(root), keys, tables)
	}
	store, err := s3blob.New(ctx, s3blob.Options{
		Endpoint: s.Endpoint, Bucket: s.Bucket, Foreign: true, PathStyle: true,
		AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if keys, err = adopt.SampleKeys(ctx, store); err != nil || len(keys) < adopt.SampledKeys {
		return keys, err
	}
	return adopt.SampleNamed(ctx, adopt.FirstOf(store), keys, tables)
}
