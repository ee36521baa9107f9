package paste_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/paste"
)

func TestRawBodyIsThePaste(t *testing.T) {
	s := newSite(t, nil)
	a := s.wants(s.ask("POST", "/", "hello\n"), http.StatusCreated)
	at := strings.TrimSuffix(a.body, "\n")
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/[2-9A-HJ-NP-Za-km-z]{7}$`).MatchString(at) {
		t.Fatalf("body is %q, want the link and nothing else", a.body)
	}
	s.says(a, "Location", at)
	s.says(a, "Cache-Control", "no-store")
	s.says(a, "Sunset", s.clock.Now().Add(24*time.Hour).Time().Format(http.TimeFormat))
	if len(a.Header.Get("X-Delete-Token")) != 32 {
		t.Errorf("delete token is %q, want 32 characters", a.Header.Get("X-Delete-Token"))
	}
	got := s.wants(s.ask("GET", at, ""), http.StatusOK)
	if got.body != "hello\n" {
		t.Fatalf("the link holds %q", got.body)
	}
}

func TestAnswerInJSON(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("hello", "X-Ttl", "90s")
	if m.URL != s.URL+"/"+m.Code || m.RawURL != m.URL+"/raw" || m.Size != 5 || m.DeleteToken == "" {
		t.Errorf("answer is %+v", m)
	}
	want := s.clock.Now().Add(90 * time.Second).Time().Format(time.RFC3339)
	if m.ExpiresAt == nil || *m.ExpiresAt != want {
		t.Errorf("expires_at is %v, want %s", m.ExpiresAt, want)
	}
}

func TestPasteIsUnlimitedOnlyWithoutAMaximum(t *testing.T) {
	s := newSite(t, func(o *paste.Options) { o.DefaultTTL, o.MaxTTL = 0, 0 })
	if m := s.paste("hello"); m.ExpiresAt != nil {
		t.Errorf("expires at %s without any limit", *m.ExpiresAt)
	}
	s = newSite(t, func(o *paste.Options) { o.DefaultTTL, o.MaxTTL = 0, time.Hour })
	m := s.paste("hello")
	if want := s.clock.Now().Add(time.Hour).Time().Format(time.RFC3339); m.ExpiresAt == nil || *m.ExpiresAt != want {
		t.Errorf("expires at %v, want the longest time to live, %s", m.ExpiresAt, want)
	}
}

func TestPasteEndsAtItsInstant(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("hello", "X-Ttl", "90s")
	s.clock.Advance(90*time.Second - time.Microsecond)
	s.holds(m.Code, "hello")
	s.clock.Advance(time.Microsecond)
	for _, method := range []string{"GET", "HEAD", "DELETE"} {
		s.wants(s.ask(method, "/"+m.Code, "", "X-Delete-Token", m.DeleteToken), http.StatusNotFound)
	}
	s.wants(s.ask("GET", "/"+m.Code+"/raw", ""), http.StatusNotFound)
	s.wants(s.ask("GET", "/"+m.Code, "", "Accept", browser), http.StatusNotFound)
}

func TestIdenticalPastesShareOneContent(t *testing.T) {
	s := newSite(t, nil)
	first, second := s.paste("the same"), s.paste("the same", "X-Alias", "mine")
	if first.Code == second.Code || first.DeleteToken == second.DeleteToken {
		t.Fatalf("two pastes are one: %+v, %+v", first, second)
	}
	one, err := s.store.Head(t.Context(), object.GetRequest{Bucket: "pastes", Key: first.Code})
	s.must(err)
	other, err := s.store.Head(t.Context(), object.GetRequest{Bucket: "pastes", Key: second.Code})
	s.must(err)
	if one.ContentID != other.ContentID {
		t.Fatalf("two identical pastes have the contents %s and %s", one.ContentID, other.ContentID)
	}
	// Otherwise the time of a paste would tell whether somebody else has its text.
	if n := s.disk.Len(); n != 2 {
		t.Errorf("%d blobs were written of two identical pastes", n)
	}
	s.wants(s.ask("DELETE", "/"+first.Code, "", "X-Delete-Token", first.DeleteToken), http.StatusNoContent)
	s.holds(second.Code, "the same")
}

func TestAliasIsTakenOnce(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("first", "X-Alias", "my_Notes-1")
	if m.Code != "my_Notes-1" {
		t.Fatalf("code is %q, want the alias", m.Code)
	}
	stored := s.disk.Len()
	a := s.wants(s.ask("POST", "/?alias=my_Notes-1", "second"), http.StatusConflict)
	if n := s.disk.Len(); n != stored {
		t.Errorf("%d blobs were sent for a paste that is refused", n-stored)
	}
	if !strings.Contains(a.body, "my_Notes-1 is taken") {
		t.Errorf("the refusal says %q", a.body)
	}
	s.holds(m.Code, "first")
	s.clock.Advance(24 * time.Hour)
	s.paste("third", "X-Alias", "my_Notes-1")
	s.holds("my_Notes-1", "third")
}

func TestInvalidFieldsAreRefused(t *testing.T) {
	s := newSite(t, nil)
	for _, c := range []struct{ name, path, body, says string }{
		{"short alias", "/?alias=ab", "x", "3 to 64"},
		{"long alias", "/?alias=" + strings.Repeat("a", 65), "x", "3 to 64"},
		{"alias with a slash", "/?alias=a%2Fb", "x", "3 to 64"},
		{"alias with dots", "/?alias=..-..", "x", "3 to 64"},
		{"ttl without a unit", "/?ttl=90", "x", "has no unit"},
		{"negative ttl", "/?ttl=-1h", "x", "is negative"},
		{"ttl beyond the limit", "/?ttl=31d", "x", "no longer than 30d"},
		{"type with a line break", "/?type=a%0Ab", "x", "short and plain"},
		{"no reads", "/?reads=0", "x", "from 1 to 10000"},
		{"too many reads", "/?reads=1000000", "x", "from 1 to 10000"},
		{"reads in words", "/?reads=once", "x", "from 1 to 10000"},
		{"broken query", "/?ttl=%zz", "x", "query"},
		{"nothing", "/", "", "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := s.wants(s.ask("POST", c.path, c.body), http.StatusBadRequest)
			if !strings.HasPrefix(a.body, "error: ") || !strings.Contains(a.body, c.says) {
				t.Errorf("the refusal says %q, want %q in it", a.body, c.says)
			}
			s.says(a, "Cache-Control", "no-store")
		})
	}
}

// repeating returns the bytes of a list, then those of zeros that count up.
type repeating struct{ chunks [][]byte }

func (r *repeating) Read(p []byte) (int, error) {
	if len(r.chunks) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, r.chunks[0])
	if r.chunks[0] = r.chunks[0][n:]; len(r.chunks[0]) == 0 {
		r.chunks = r.chunks[1:]
	}
	return n, nil
}

func TestCodeThatIsTakenIsDrawnAgain(t *testing.T) {
	token, one, two := make([]byte, 32), []byte{1, 1, 1, 1, 1, 1, 1}, []byte{2, 2, 2, 2, 2, 2, 2}
	random := &repeating{chunks: [][]byte{token, one, append([]byte{}, token...), append([]byte{}, one...), two}}
	s := newSite(t, func(o *paste.Options) { o.Random = random })
	if m := s.paste("first"); m.Code != "3333333" {
		t.Fatalf("first code is %q", m.Code)
	}
	if m := s.paste("second"); m.Code != "4444444" {
		t.Fatalf("second code is %q, want the next that was drawn", m.Code)
	}
	s.holds("3333333", "first")
	s.holds("4444444", "second")
	s.wants(s.ask("POST", "/", "third"), http.StatusInternalServerError)
	if len(s.failed) != 1 || !strings.Contains(s.failed[0], "random source") {
		t.Errorf("a broken source of randomness was reported as %q", s.failed)
	}
}

func TestBucketOfOthersIsRefused(t *testing.T) {
	s := newSite(t, nil)
	ctx := context.Background()
	_, err := s.store.CreateBucket(ctx, ledger.Bucket{Name: "private", Owner: "alice"})
	s.must(err)
	_, err = paste.New(ctx, paste.Options{Store: s.store, Bucket: "private"})
	if !errors.Is(err, lethe.ErrBucketExists) || !strings.Contains(err.Error(), `"alice"`) {
		t.Fatalf("error is %v, want a refusal that names the owner", err)
	}
	if _, err = paste.New(ctx, paste.Options{Store: s.store}); err != nil {
		t.Fatalf("the bucket of pastes is not taken up again: %v", err)
	}
}

func TestOnlyPastesAreShown(t *testing.T) {
	s := newSite(t, nil)
	_, err := s.store.Put(context.Background(), object.PutRequest{
		Bucket: "pastes", Key: "secret", Body: strings.NewReader("not a paste"), Size: -1,
	})
	s.must(err)
	for _, path := range []string{"/secret", "/secret/raw", "/ab", "/..%2Fx", "/secret%00", "/%ff%fe"} {
		s.wants(s.ask("GET", path, ""), http.StatusNotFound)
	}
	s.wants(s.ask("DELETE", "/secret", "", "X-Delete-Token", "x"), http.StatusNotFound)
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	store := newSite(t, nil).store
	for name, o := range map[string]paste.Options{
		"no store":     {},
		"size":         {Store: store, MaxSize: 65 << 20},
		"default":      {Store: store, DefaultTTL: 2 * time.Hour, MaxTTL: time.Hour},
		"no scheme":    {Store: store, PublicURL: "paste.example.org"},
		"with a query": {Store: store, PublicURL: "https://paste.example.org?x=1"},
	} {
		if _, err := paste.New(context.Background(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
