package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

// presigned returns a link by which anyone can read an object until its time has passed.
func (l Links) presigned(ctx context.Context, n api.ObjectName, valid time.Duration, now lethe.Time) (string, error) {
	base := l.Endpoint()
	if base == "" {
		return "", errors.New("this process serves no S3, to which a link could lead")
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/") + "/" + escapePath(n.Bucket) + "/" + escapePath(n.Key)
	u.RawPath = path
	if u.Path, err = url.PathUnescape(path); err != nil {
		return "", err
	}
	u.RawQuery = url.Values{"X-Amz-Expires": {strconv.FormatInt(int64(valid/time.Second), 10)}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://none", http.NoBody)
	if err != nil {
		return "", err
	}
	r.URL, r.Host = u, u.Host
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	signed, _, err := signer.PresignHTTP(ctx, aws.Credentials{AccessKeyID: l.Access, SecretAccessKey: l.Secret}, r, "UNSIGNED-PAYLOAD", "s3", l.Region, now.Time())
	return signed, err
}

// escapePath escapes all but slashes and what S3 leaves as it is in a path.
func escapePath(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~/", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)+0x100, 16)[1:]))
		}
	}
	return b.String()
}
