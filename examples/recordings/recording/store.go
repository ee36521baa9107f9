// Package recording keeps what robots record: sequences of topics, whose rows are in
// PostgreSQL and whose files lie in a bucket, below sequences/SEQUENCE/topics/TOPIC/.
//
// Deleting a topic or a sequence removes rows, at once. The files stay where they are,
// for a cleanup that comes from outside.
package recording

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed" // the schema
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema.sql
var schema string

// Errors of a Store, beside those of the servers that it uses.
var (
	// ErrNotFound: there is no such sequence or topic.
	ErrNotFound = errors.New("no such recording")
	// ErrName: a name has 1 to 60 letters, digits, dots, dashes and underscores, and
	// begins with a letter or digit.
	ErrName = errors.New("a name has 1 to 60 letters, digits, dots, dashes and underscores, and begins with a letter or digit")
)

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$`)

// Config says where a Store keeps what.
type Config struct {
	Database string // URL of a PostgreSQL database
	Endpoint string // URL of the S3 service; buckets are addressed by path
	Region   string
	Bucket   string
	Access   string
	Secret   string
}

// Store keeps recordings. It is safe for concurrent use.
type Store struct {
	db     *pgxpool.Pool
	s3     *s3.Client
	bucket string
}

// Open prepares a store. Servers are connected to when they are first used.
func Open(ctx context.Context, c Config) (*Store, error) {
	db, err := pgxpool.New(ctx, c.Database)
	if err != nil {
		return nil, errors.New("the URL of the database cannot be read: give one such as postgres://user@host/name")
	}
	key := aws.Credentials{AccessKeyID: c.Access, SecretAccessKey: c.Secret}
	client := s3.New(s3.Options{
		Region: c.Region, BaseEndpoint: &c.Endpoint, UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return key, nil }),
	})
	return &Store{db, client, c.Bucket}, nil
}

// Close ends the connections; calls that are under way fail.
func (s *Store) Close() { s.db.Close() }

// Migrate makes the tables and the bucket where they are missing.
func (s *Store) Migrate(ctx context.Context) error {
	if _, err := s.db.Exec(ctx, schema); err != nil {
		return fmt.Errorf("apply the schema: %w", err)
	}
	_, err := s.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &s.bucket})
	if owned := new(types.BucketAlreadyOwnedByYou); err != nil && !errors.As(err, &owned) {
		return fmt.Errorf("make bucket %s: %w", s.bucket, err)
	}
	return nil
}

// Record adds a file to a topic, which is made if it is missing. The row of the topic
// comes first, so that no folder is ever without one that is being written to; the name
// of the file is new, so that nothing that is deleted late can be this one.
func (s *Store) Record(ctx context.Context, sequence, topic string, data []byte) error {
	if !validName.MatchString(sequence) || !validName.MatchString(topic) {
		return ErrName
	}
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO sequences (name) VALUES ($1) ON CONFLICT DO NOTHING`, sequence); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO topics (sequence, name) VALUES ($1, $2) ON CONFLICT DO NOTHING`, sequence, topic)
		return err
	})
	if err != nil {
		return fmt.Errorf("make topic %s of %s: %w", topic, sequence, err)
	}
	file := rand.Text()
	_, err = s.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: key(sequence, topic, file), Body: bytes.NewReader(data)})
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	_, err = s.db.Exec(ctx, `INSERT INTO files (sequence, topic, file, size) VALUES ($1, $2, $3, $4)`, sequence, topic, file, len(data))
	if err != nil {
		return fmt.Errorf("add a file to topic %s of %s: %w", topic, sequence, err)
	}
	return nil
}

func key(sequence, topic, file string) *string {
	k := "sequences/" + sequence + "/topics/" + topic + "/" + file
	return &k
}

// Play writes all that was recorded of a topic, in order.
func (s *Store) Play(ctx context.Context, sequence, topic string, to io.Writer) error {
	rows, err := s.db.Query(ctx, `SELECT file FROM files WHERE sequence = $1 AND topic = $2 ORDER BY id`, sequence, topic)
	if err != nil {
		return err
	}
	files, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return ErrNotFound
	}
	for _, file := range files {
		out, err := s.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: key(sequence, topic, file)})
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		_, err = io.Copy(to, out.Body)
		if err := errors.Join(err, out.Body.Close()); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
	}
	return nil
}

// Topics returns what there is, as "SEQUENCE/TOPIC".
func (s *Store) Topics(ctx context.Context) ([]string, error) {
	rows, err := s.db.Query(ctx, `SELECT sequence || '/' || name FROM topics ORDER BY sequence, name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Delete removes a topic, or the whole sequence if topic is empty: its rows. The files
// stay.
func (s *Store) Delete(ctx context.Context, sequence, topic string) error {
	tag, err := s.db.Exec(ctx, `DELETE FROM topics WHERE sequence = $1 AND name = $2`, sequence, topic)
	if topic == "" {
		tag, err = s.db.Exec(ctx, `DELETE FROM sequences WHERE name = $1`, sequence)
	}
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", sequence, topic, err)
	}
	if tag.RowsAffected() == 0 {
		return ErrNotFound
	}
	return nil
}
