package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"io"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/service"
)

// Bounds of the sessions, of all and of one operator. Beyond them the one that was used least
// recently ends.
const (
	maxSessions   = 1000
	sessionsOfOne = 20
)

// note is what a page says once about the action before it.
type note struct {
	Bad  bool
	Text string
	// Secret is shown once, to be copied.
	Secret string
}

// maxNotes bounds the notes that wait for a page.
const maxNotes = 8

// session is an operator's, from login to logout. Its fields are guarded by sessions.
type session struct {
	operator    service.Operator
	token       string // of forms
	begun, seen lethe.Time
	notes       []note
}

// sessions are kept in memory, by digests of the ids that browsers have.
type sessions struct {
	opt Options
	mu  sync.Mutex
	by  map[[sha256.Size]byte]*session
}

// random returns 256 bits as text.
func (s *sessions) random() (string, error) {
	var b [32]byte
	if _, err := io.ReadFull(s.opt.Random, b[:]); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// begin makes a session and returns its id.
func (s *sessions) begin(op service.Operator) (id string, err error) {
	if id, err = s.random(); err != nil {
		return "", err
	}
	token, err := s.random()
	if err != nil {
		return "", err
	}
	now := s.opt.Stopwatch.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, other := range s.by {
		if s.ended(other, now) {
			delete(s.by, k)
		}
	}
	s.makeRoom(maxSessions, func(*session) bool { return true })
	s.makeRoom(sessionsOfOne, func(one *session) bool { return one.operator.Name == op.Name })
	s.by[sha256.Sum256([]byte(id))] = &session{operator: op, token: token, begun: now, seen: now}
	return id, nil
}

// makeRoom ends one of the sessions that count if there are as many as there may be.
func (s *sessions) makeRoom(most int, counts func(*session) bool) {
	var oldest [sha256.Size]byte
	var at lethe.Time
	n := 0
	for k, one := range s.by {
		if !counts(one) {
			continue
		}
		if n++; n == 1 || one.seen < at {
			oldest, at = k, one.seen
		}
	}
	if n >= most {
		delete(s.by, oldest)
	}
}

func (s *sessions) ended(one *session, now lethe.Time) bool {
	return now.Sub(one.seen) >= s.opt.Idle || now.Sub(one.begun) >= s.opt.Lifetime
}

// find returns a copy of a session. A request that nobody made, such as a refresh,
// does not make it last longer.
func (s *sessions) find(id string, byPerson bool) (session, bool) {
	now := s.opt.Stopwatch.Now()
	key := sha256.Sum256([]byte(id))
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.by[key]
	if !ok {
		return session{}, false
	}
	if s.ended(one, now) {
		delete(s.by, key)
		return session{}, false
	}
	if byPerson {
		one.seen = now
	}
	return *one, true
}

// say leaves a note for the next page.
func (s *sessions) say(id string, n note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.by[sha256.Sum256([]byte(id))]; ok {
		if len(one.notes) >= maxNotes {
			one.notes = one.notes[1:] // the newest may have a secret that is shown once
		}
		one.notes = append(one.notes[:len(one.notes):len(one.notes)], n)
	}
}

// notes takes what is to be said.
func (s *sessions) notes(id string) []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.by[sha256.Sum256([]byte(id))]
	if !ok {
		return nil
	}
	said := one.notes
	one.notes = nil
	return said
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, sha256.Sum256([]byte(id)))
}

// owns reports whether a form came from a page of the session.
func (one session) owns(token string) bool {
	return one.token != "" && subtle.ConstantTimeCompare([]byte(one.token), []byte(token)) == 1
}
