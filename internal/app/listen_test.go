package app

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A panic is logged as an error with its place, and the client is cut off.
func TestAPanicIsLogged(t *testing.T) {
	var log bytes.Buffer
	w := &web{name: "admin", log: slog.New(slog.NewTextHandler(&log, nil))}
	h := w.counted(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken here") }))
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the server is told %v", p)
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/admin/api/status", nil))
	}()
	if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "broken here") || !strings.Contains(text, "listen_test.go") {
		t.Errorf("logged: %s", text)
	}
}
