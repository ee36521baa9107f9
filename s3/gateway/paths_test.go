package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

// Hole 7: what is signed, authorised, stored and listed is one key: the path
// after the bucket, decoded once. Encoded dots and slashes do not traverse
// anything.
func TestEncodedPaths(t *testing.T) {
	s, other := newSite(t), newSite(t)
	other.put("secret", "theirs", nil)
	mine := s.key("rw", false, s.bucket)
	climbs := "%2e%2e%2F" + other.bucket + "%2Fsecret"
	for path, want := range map[string]string{
		"a%2Fb": "a/b", "c%2fd": "c/d", "e%252Ff": "e%2Ff", "%2Fg": "/g", "h%2F%2Fi": "h//i", "j%5c..%5ck": `j\..\k`,
		"l%2F%2e%2e%2Fm": "l/../m", "n/%2e%2e/o": "n/../o", "p/%2E/q": "p/./q", "r%2e%2e": "r..",
		// These would traverse folders if a key were a path: no key here begins
		// so.
		climbs: "", "%2e%2e/" + other.bucket + "/secret": "", "x/%2e%2e/%2e%2e/" + other.bucket + "/secret": "", "..%2f" + other.bucket + "/secret": "",
		"%2e%2e": "", "%2e": "", "x%2F" + "..%2F" + climbs: "",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodGet, http.MethodDelete} {
			// As on S3, the signature covers the key encoded once, however it
			// is sent.
			r := s.raw(method, "/"+path, []byte("mine"))
			sent := r.URL.RawPath
			r.URL.RawPath = ""
			r = signed(r, mine, "UNSIGNED-PAYLOAD")
			r.URL.RawPath = sent
			status, _, body := s.send(r)
			switch {
			case want == "" && (status < 400 || status >= 500), strings.Contains(body, "theirs"):
				t.Errorf("%s %s: %d %s", method, path, status, body)
			case want != "" && method == http.MethodPut:
				if keys := s.urlEncodedKeys(); status != 200 || !slices.Equal(keys, []string{want}) {
					t.Errorf("%s is stored as %q, want %q (%d %s)", path, keys, want, status, body)
				}
			case want != "" && method == http.MethodGet && status == 200 && body != "mine":
				t.Errorf("%s reads %q", path, body)
			}
		}
	}
	if keys := s.urlEncodedKeys(); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
	if got, _ := other.get("secret"); got != "theirs" || len(other.keys()) != 1 {
		t.Errorf("the other bucket has %q, %q", other.keys(), got)
	}
}

// Holes 14, 15: nothing in a request makes the server connect to an address.
func TestRequestsTriggerNoOutgoingCalls(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	defer l.Close()
	there := l.Addr().String()
	link := "http://" + there + "/b/k"
	for _, name := range []string{
		"X-Amz-Copy-Source", "X-Amz-Website-Redirect-Location", "X-Amz-Meta-Url", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
		"X-Forwarded-Server", "Forwarded", "X-Real-Ip", "X-Original-Url", "X-Rewrite-Url", "X-Http-Host-Override", "Origin", "Referer",
		"Destination", "Location", "Link", "Via", "Proxy", "Traceparent", "Content-Location", "X-Amz-Security-Token", "X-Amz-Fwd-Header-Location",
		"X-Amz-Request-Route", "X-Amz-Object-Lambda", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id",
	} {
		for _, value := range []string{link, there, "//" + there + "/b/k", "http://[::ffff:127.0.0.1]:" + strings.Split(there, ":")[1] + "/"} {
			for _, method := range []string{http.MethodGet, http.MethodPut} {
				r := s.raw(method, "/k", []byte("x"))
				r.Header.Set(name, value)
				s.answered(name+" "+value, signed(r, root, "UNSIGNED-PAYLOAD"))
			}
		}
	}
	for query, doc := range map[string]string{
		"website":                               "<WebsiteConfiguration><RedirectAllRequestsTo><HostName>THERE</HostName></RedirectAllRequestsTo></WebsiteConfiguration>",
		"notification":                          "<NotificationConfiguration><TopicConfiguration><Id>1</Id><Topic>LINK</Topic><Event>s3:ObjectCreated:*</Event></TopicConfiguration></NotificationConfiguration>",
		"replication":                           "<ReplicationConfiguration><Role>LINK</Role><Rule><Status>Enabled</Status><Destination><Bucket>LINK</Bucket></Destination></Rule></ReplicationConfiguration>",
		"logging":                               "<BucketLoggingStatus><LoggingEnabled><TargetBucket>LINK</TargetBucket></LoggingEnabled></BucketLoggingStatus>",
		"inventory&id=1":                        "<InventoryConfiguration><Destination><S3BucketDestination><Bucket>LINK</Bucket></S3BucketDestination></Destination></InventoryConfiguration>",
		"cors":                                  "<CORSConfiguration><CORSRule><AllowedOrigin>LINK</AllowedOrigin><AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>",
		"tagging":                               `<!DOCTYPE x SYSTEM "LINK"><Tagging><TagSet><Tag><Key>a</Key><Value>LINK</Value></Tag></TagSet></Tagging>`,
		"acl":                                   `<!DOCTYPE x [<!ENTITY e SYSTEM "LINK">]><AccessControlPolicy><Owner><ID>&e;</ID></Owner></AccessControlPolicy>`,
		"policy":                                `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"LINK","Condition":{"StringEquals":{"aws:Referer":"LINK"}}}]}`,
		"lifecycle":                             `<LifecycleConfiguration xmlns="LINK"><Rule><ID>LINK</ID><Status>Enabled</Status><Filter/><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`,
		"publicAccessBlock":                     `<PublicAccessBlockConfiguration xmlns="LINK"/>`,
		"encryption":                            "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>aws:kms</SSEAlgorithm><KMSMasterKeyID>LINK</KMSMasterKeyID></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>",
		"accelerate&x=" + url.QueryEscape(link): "<AccelerateConfiguration/>",
	} {
		doc = strings.NewReplacer("LINK", link, "THERE", there).Replace(doc)
		s.answered(query, signed(s.raw(http.MethodPut, "?"+query, []byte(doc)), root, sum([]byte(doc))))
	}
	for _, field := range []string{"success_action_redirect", "redirect", "x-amz-website-redirect-location", "x-amz-meta-url", "x-amz-copy-source"} {
		for _, value := range []string{link, there, "//" + there + "/b/k"} {
			status := s.answered("the form's "+field+" "+value, s.signedForm(map[string]string{"key": "form", field: value}, "x"))
			if field == "success_action_redirect" && value == link && status != http.StatusSeeOther {
				t.Errorf("a form that asks for it is not redirected: %d", status)
			}
		}
	}
	source := link
	_, err = s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("c"), CopySource: &source})
	if err == nil {
		t.Error("a link was copied")
	}
	s.absolute(there)
	s.uncalled(l)
}

// answered sends a request that may succeed or fail, but must not connect to
// anything.
func (s *site) answered(what string, r *http.Request) int {
	s.t.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(r)
	s.must(err)
	if body := s.read(resp.Body); resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented {
		s.t.Errorf("%s: %d %s", what, resp.StatusCode, body)
	}
	return resp.StatusCode
}

// absolute requests another server's address, as a client does of its proxy.
func (s *site) absolute(there string) {
	s.t.Helper()
	for _, line := range []string{"GET http://" + there + "/b/k HTTP/1.1\r\nHost: " + there, "CONNECT " + there + " HTTP/1.1\r\nHost: " + there} {
		c := s.dial(w.addr)
		_, err := io.WriteString(c, line+"\r\nConnection: close\r\n\r\n")
		s.must(err)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		s.must(err)
		if resp.StatusCode < 400 {
			s.t.Errorf("%q: %d", line, resp.StatusCode)
		}
		s.must(resp.Body.Close())
	}
}

// uncalled fails if the listener was called before this call: calls are
// accepted in order.
func (s *site) uncalled(l net.Listener) {
	s.t.Helper()
	own := s.dial(l.Addr().String())
	first, err := l.Accept()
	s.must(err)
	defer first.Close()
	if got, want := first.RemoteAddr(), own.LocalAddr(); fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("the server called an address of a request, from %s", got)
	}
}
