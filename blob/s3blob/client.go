package s3blob

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// slowest is the rate, in bytes per second, below which a transfer is given up.
const slowest = 256 << 10

// connect makes the client, without a request to the service.
func (s *Store) connect(ctx context.Context) error {
	credentials, err := s.o.credentials(ctx)
	if err != nil {
		return fmt.Errorf("find credentials: %w", err)
	}
	s.transport = s.o.Transport
	if s.transport == nil {
		if s.transport, err = s.o.transport(); err != nil {
			return err
		}
	}
	var endpoint *string
	if s.o.Endpoint != "" {
		endpoint = &s.o.Endpoint
	}
	s.client = s3.New(s3.Options{
		Region: s.o.Region, BaseEndpoint: endpoint, UsePathStyle: s.o.PathStyle, Credentials: credentials,
		Retryer: aws.NopRetryer{},
		HTTPClient: &http.Client{
			Transport: s.transport,
			// A redirect would send the request to an unintended server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		// The body's sum is signed and its MD5 sent, which every service accepts.
		RequestChecksumCalculation:                aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation:                aws.ResponseChecksumValidationWhenRequired,
		DisableLogOutputChecksumValidationSkipped: true,
	})
	return nil
}

func (o Options) credentials(ctx context.Context) (aws.CredentialsProvider, error) {
	if o.AccessKey != "" {
		fixed := aws.Credentials{AccessKeyID: o.AccessKey, SecretAccessKey: o.SecretKey, SessionToken: o.SessionToken, Source: "configuration"}
		return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return fixed, nil }), nil
	}
	found, err := config.LoadDefaultConfig(ctx, config.WithRegion(o.Region))
	if err != nil {
		return nil, err
	}
	return found.Credentials, nil
}

// transport bounds what the requests' own deadlines do not.
func (o Options) transport() (*http.Transport, error) {
	roots, err := o.roots()
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: min(o.Timeout, 10*time.Second), KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: min(o.Timeout, 10*time.Second),
		MaxIdleConns:        0, MaxIdleConnsPerHost: 64, IdleConnTimeout: 60 * time.Second,
		ExpectContinueTimeout: time.Second, DisableCompression: true,
		ReadBufferSize: 32 << 10, WriteBufferSize: 32 << 10,
	}, nil
}

// roots are the certificate authorities to trust; nil for the system's.
func (o Options) roots() (*x509.CertPool, error) {
	if len(o.CA) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(o.CA) {
		return nil, errors.New("the file of certificate authorities has no certificate in PEM")
	}
	return pool, nil
}

// errSlow: the request took longer than Options.Timeout allows.
var errSlow = errors.New("took too long")

// bounded returns ctx with the deadline of a request of so many bytes.
func (s *Store) bounded(ctx context.Context, carries int64) (context.Context, context.CancelFunc) {
	limit := s.o.Timeout + time.Duration(carries/slowest)*time.Second
	return context.WithTimeoutCause(ctx, limit, errSlow)
}

// sumOf is the Content-MD5 of a body.
func sumOf(body []byte) *string {
	sum := md5.Sum(body)
	text := base64.StdEncoding.EncodeToString(sum[:])
	return &text
}

// withMD5 sends the MD5 of a DeleteObjects in place of the SDK's CRC32: older
// services require it, and newer ones accept it.
func withMD5(stack *middleware.Stack) error {
	if _, err := stack.Initialize.Remove("AWSChecksum:SetupInputContext"); err != nil {
		return err
	}
	return stack.Build.Add(middleware.BuildMiddlewareFunc("ContentMD5",
		func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
			r, ok := in.Request.(*smithyhttp.Request)
			if !ok {
				return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("unknown request %T", in.Request)
			}
			body, err := io.ReadAll(r.GetStream())
			if err != nil {
				return middleware.BuildOutput{}, middleware.Metadata{}, err
			}
			if err := r.RewindStream(); err != nil {
				return middleware.BuildOutput{}, middleware.Metadata{}, err
			}
			r.Header.Set("Content-MD5", *sumOf(body))
			return next.HandleBuild(ctx, in)
		}), middleware.After)
}

// capture takes the body of a successful response unparsed, for a stricter parser
// than the SDK's, which gets an empty body.
type capture struct {
	body []byte
	err  error
}

// most is the greatest response to a batch delete that is read, in bytes.
const most = 16 << 20

func (c *capture) install(stack *middleware.Stack) error {
	return stack.Deserialize.Insert(middleware.DeserializeMiddlewareFunc("CaptureBody",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
			out, meta, err := next.HandleDeserialize(ctx, in)
			r, ok := out.RawResponse.(*smithyhttp.Response)
			if err != nil || !ok || r.StatusCode != http.StatusOK {
				return out, meta, err
			}
			c.body, c.err = io.ReadAll(io.LimitReader(r.Body, most))
			_ = r.Body.Close()
			r.Body = io.NopCloser(bytes.NewReader([]byte("<DeleteResult/>")))
			return out, meta, nil
		}), "OperationDeserializer", middleware.After)
}
