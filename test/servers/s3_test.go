package servers

import (
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// store puts an object into a fresh bucket, and answers how to read it.
func store(t *testing.T, at S3) func() (string, error) {
	t.Helper()
	bucket, client := at.Bucket(t), at.Client()
	_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("key"), Body: strings.NewReader("body")})
	if err != nil {
		t.Fatal(err)
	}
	return func() (string, error) {
		out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("key")})
		if err != nil {
			return "", err
		}
		defer out.Body.Close()
		body, err := io.ReadAll(out.Body)
		return string(body), err
	}
}

func TestS3ServersStore(t *testing.T) {
	for name, server := range map[string]func(t *testing.T) S3{
		"versitygw": func(t *testing.T) S3 { return VersityGW(t) },
		"gofakes3":  func(t *testing.T) S3 { return GoFakeS3(t) },
		"minio":     func(t *testing.T) S3 { return MinIO(t).S3 },
		"seaweedfs": func(t *testing.T) S3 { return SeaweedFS(t).S3 },
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := store(t, server(t))(); err != nil || got != "body" {
				t.Errorf("the object reads %q (%v), want body", got, err)
			}
		})
	}
}

func TestObjectsOutliveKill(t *testing.T) {
	s := NewVersityGW(t)
	read := store(t, s.S3)
	s.Kill()
	if _, err := read(); err == nil {
		t.Error("a killed server answers")
	}
	s.Restart()
	if got, err := read(); err != nil || got != "body" {
		t.Errorf("the object reads %q (%v) after the restart, want body", got, err)
	}
}
