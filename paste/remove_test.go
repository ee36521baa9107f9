package paste_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/object"
)

func TestDeleteTakesTheToken(t *testing.T) {
	s := newSite(t, nil)
	ways := map[string]func(code, token string) answer{
		"header": func(code, token string) answer { return s.ask("DELETE", "/"+code, "", "X-Delete-Token", token) },
		"bearer": func(code, token string) answer {
			return s.ask("DELETE", "/"+code, "", "Authorization", "bearer "+token)
		},
		"query": func(code, token string) answer { return s.ask("DELETE", "/"+code+"?token="+token, "") },
	}
	for name, remove := range ways {
		t.Run(name, func(t *testing.T) {
			m, other := s.paste("hello "+name), s.paste("another")
			s.wants(remove(m.Code, other.DeleteToken), http.StatusForbidden)
			a := s.wants(remove(m.Code, ""), http.StatusUnauthorized)
			s.says(a, "WWW-Authenticate", `Bearer realm="delete token"`)
			s.holds(m.Code, "hello "+name)
			s.wants(remove(m.Code, m.DeleteToken), http.StatusNoContent)
			s.wants(s.ask("GET", "/"+m.Code, ""), http.StatusNotFound)
			s.wants(remove(m.Code, m.DeleteToken), http.StatusNotFound)
		})
	}
}

func TestTokenIsNotKept(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("hello")
	o, err := s.store.Head(context.Background(), object.GetRequest{Bucket: "pastes", Key: m.Code})
	s.must(err)
	for name, value := range o.Attrs.User {
		if strings.Contains(value, m.DeleteToken) {
			t.Errorf("metadata %s holds the token", name)
		}
	}
	hash := o.Attrs.User["paste-token-sha256"]
	if len(hash) != 64 {
		t.Fatalf("the token's hash is %q", hash)
	}
	s.wants(s.ask("DELETE", "/"+m.Code, "", "X-Delete-Token", hash), http.StatusForbidden)
	for _, path := range []string{"/" + m.Code, "/" + m.Code + "/raw"} {
		if a := s.ask("GET", path, "", "Accept", browser); strings.Contains(a.body, m.DeleteToken) || strings.Contains(a.body, hash) {
			t.Errorf("%s shows the token or its hash to a stranger", path)
		}
	}
}

func TestDeleteByForm(t *testing.T) {
	s := newSite(t, nil)
	m := s.paste("hello")
	at := "/" + m.Code + "/delete"
	s.wants(s.ask("POST", at, "token=wrong", "Content-Type", urlencoded, "Accept", browser), http.StatusForbidden)
	s.wants(s.ask("POST", at, "token="+strings.Repeat("x", 5000), "Content-Type", urlencoded), http.StatusBadRequest)
	s.wants(s.ask("POST", at+"?token="+m.DeleteToken, "", "Content-Type", urlencoded), http.StatusUnauthorized)
	s.holds(m.Code, "hello")
	a := s.wants(s.ask("POST", at, "token=+"+m.DeleteToken, "Content-Type", urlencoded, "Accept", browser), http.StatusOK)
	if !strings.Contains(a.body, "Deleted") {
		t.Errorf("the page says %q", a.body)
	}
	s.wants(s.ask("GET", "/"+m.Code, ""), http.StatusNotFound)
}
