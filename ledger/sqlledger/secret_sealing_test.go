package sqlledger

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func sealingOf(t *testing.T, keys ...byte) *SealingKeys {
	t.Helper()
	var list [][]byte
	for _, k := range keys {
		list = append(list, bytes.Repeat([]byte{k}, ledger.SealingKeySize))
	}
	s, err := NewSealingKeys(list...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kept are the secrets as the database has them.
func (l *fixture) kept() (out []keptSecret) {
	l.t.Helper()
	l.ok(l.read(l.ctx, "kept", func(t *tx) error {
		out = nil
		for _, table := range secretTables {
			list, err := all(t, scanSecret, table.list)
			if err != nil {
				return err
			}
			out = append(out, list...)
		}
		return nil
	}))
	return out
}

// opens fails the test unless the secrets can be had.
func (l *fixture) opens() {
	l.t.Helper()
	for _, id := range []string{"plain", "sealed"} {
		if k, err := l.AccessKey(l.ctx, id); err != nil || k.Secret != "secret of "+id {
			l.t.Errorf("%s: %q, %v", id, k.Secret, err)
		}
	}
	if v, err := l.Secret(l.ctx, "root"); err != nil || v != "secret root" {
		l.t.Errorf("root: %q, %v", v, err)
	}
	if v, err := l.ShareSecret(l.ctx, "root", "another"); err != nil || v != "secret root" {
		l.t.Errorf("shared root: %q, %v", v, err)
	}
}

func (l *fixture) sealed(want int) {
	l.t.Helper()
	if n, err := l.SealAll(l.ctx); err != nil || n != want {
		l.t.Errorf("%d were sealed, want %d: %v", n, want, err)
	}
}

// withSecrets has a key from before there was a sealing key, one from after, and a
// root pair.
func withSecrets(t *testing.T) *fixture {
	t.Helper()
	l := newLedger(t)
	_, err := l.AddAccessKey(l.ctx, ledger.AccessKey{ID: "plain", Secret: "secret of plain"})
	l.ok(err)
	l.SealSecrets(sealingOf(t, 1))
	_, err = l.AddAccessKey(l.ctx, ledger.AccessKey{ID: "sealed", Secret: "secret of sealed"})
	l.ok(err)
	_, err = l.ShareSecret(l.ctx, "root", "secret root")
	l.ok(err)
	return l
}

func TestSecretsAreSealed(t *testing.T) {
	l := withSecrets(t)
	if n, err := l.CheckSealed(l.ctx); n != 1 || err != nil {
		t.Errorf("%d in clear, %v", n, err)
	}
	for _, k := range l.kept() {
		if strings.Contains(k.text, "secret") != (k.name == "plain") {
			t.Errorf("%s is kept as %q", k.name, k.text)
		}
	}
	l.opens()
	l.sealed(1)
	l.sealed(0)
	for _, k := range l.kept() {
		if strings.Contains(k.text, "secret") {
			t.Errorf("%s is kept as %q", k.name, k.text)
		}
	}
	l.opens()
}

func TestSealingKeysAreChanged(t *testing.T) {
	l := withSecrets(t)
	l.SealSecrets(sealingOf(t, 2, 1))
	l.opens()
	l.sealed(3)
	l.SealSecrets(sealingOf(t, 2))
	l.opens()
	l.sealed(0)
}

// TestSealingKeyIsMissing: without its sealing key a secret is not returned, and nothing is
// lost.
func TestSealingKeyIsMissing(t *testing.T) {
	l := withSecrets(t)
	before := l.kept()
	for _, s := range []*SealingKeys{nil, sealingOf(t, 2)} {
		l.SealSecrets(s)
		k, err := l.AccessKey(l.ctx, "sealed")
		if !errors.Is(err, ledger.ErrSealed) || k.Secret != "" || !strings.Contains(err.Error(), "database.sealing_key_file") {
			t.Errorf("%q, %v", k.Secret, err)
		}
		_, err = l.ShareSecret(l.ctx, "root", "another")
		l.refused(err, ledger.ErrSealed)
		_, err = l.Secret(l.ctx, "root")
		l.refused(err, ledger.ErrSealed)
		_, err = l.CheckSealed(l.ctx)
		l.refused(err, ledger.ErrSealed)
		want := ledger.ErrSealed
		if s == nil {
			want = ledger.ErrNoSealing
		}
		_, err = l.SealAll(l.ctx)
		l.refused(err, want)
		if list, err := l.AccessKeys(l.ctx); err != nil || len(list) != 2 {
			t.Errorf("keys %v, %v", list, err)
		}
		if k, err := l.AccessKey(l.ctx, "plain"); err != nil || k.Secret != "secret of plain" {
			t.Errorf("%q, %v", k.Secret, err)
		}
	}
	for i, k := range l.kept() {
		if k != before[i] {
			t.Errorf("%s was %s", k, before[i])
		}
	}
	l.SealSecrets(sealingOf(t, 1))
	l.opens()
}

// A shared secret is dropped only if it cannot be opened; the next to share one has it
// kept.
func TestALostSharedSecretIsDropped(t *testing.T) {
	l := withSecrets(t)
	l.SealSecrets(sealingOf(t, 1))
	l.refused(l.DropLost(l.ctx, "root"), ledger.ErrOpens)
	l.opens()
	for _, s := range []*SealingKeys{sealingOf(t, 2), nil} {
		l.SealSecrets(s)
		l.ok(l.DropLost(l.ctx, "root"))
		if v, err := l.ShareSecret(l.ctx, "root", "another"); err != nil || v != "another" {
			t.Errorf("shared root: %q, %v", v, err)
		}
		l.refused(l.DropLost(l.ctx, "root"), ledger.ErrOpens)
	}
	l.ok(l.DropLost(l.ctx, "none"))
}

// TestSealedSecretsAreBound: a sealed secret opens for its own access key only.
func TestSealedSecretsAreBound(t *testing.T) {
	l := withSecrets(t)
	kept := l.kept()
	l.ok(l.write(l.ctx, "swap", func(t *tx) error {
		_, err := t.Exec(secretTables[0].update, "plain", kept[0].text, kept[1].text)
		return err
	}))
	_, err := l.AccessKey(l.ctx, "plain")
	l.refused(err, lethe.ErrCorrupt)
	if _, err := NewSealingKeys(make([]byte, 31)); err == nil {
		t.Error("a short key was taken")
	}
}
