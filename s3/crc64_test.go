package s3_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/s3"
)

func TestCRC64OfAnotherBody(t *testing.T) {
	// The check value of the algorithm's definition (AE8B14860A799888) is of these nine digits.
	const check = "rosUhgp5mIg="
	if _, err := io.ReadAll(s3.NewCRC64(strings.NewReader("123456789"), check)); err != nil {
		t.Error(err)
	}
	_, err := io.ReadAll(s3.NewCRC64(strings.NewReader("123456780"), check))
	var refused *s3.Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "CRC64NVME") {
		t.Errorf("answer is %v", err)
	}
}
