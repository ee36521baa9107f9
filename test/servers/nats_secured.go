package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/lethe-storage/lethe"
)

// NATSUsers is a NATS that speaks TLS alone, and takes users whose account has signed them.
type NATSUsers struct {
	URL         string
	Authorities string // a file of the certificates that signed its own
	t           testing.TB
	account     nkeys.KeyPair
}

// StartNATSUsers starts one with JetStream.
func StartNATSUsers(t testing.TB) NATSUsers {
	t.Helper()
	folder := t.TempDir()
	operator, account, system := natsKey(t, nkeys.CreateOperator), natsKey(t, nkeys.CreateAccount), natsKey(t, nkeys.CreateAccount)
	n := NATSUsers{Authorities: filepath.Join(folder, "cert.pem"), t: t, account: account}
	accounts := ""
	for _, a := range []nkeys.KeyPair{account, system} {
		limits := map[string]any{}
		for _, name := range []string{"conn", "leaf", "subs", "data", "payload", "imports", "exports", "mem_storage", "disk_storage", "streams", "consumer"} {
			if a == account || !strings.Contains("mem_storage disk_storage streams consumer", name) {
				limits[name] = -1
			}
		}
		accounts += fmt.Sprintf("%s: %q\n", public(t, a), natsToken(t, operator, a, map[string]any{"type": "account", "version": 2, "limits": limits}))
	}
	key := filepath.Join(folder, "key.pem")
	certify(t, n.Authorities, key)
	config := fmt.Sprintf("operator: %q\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {%s}\ntls: {cert_file: %q, key_file: %q}\n",
		natsToken(t, operator, operator, map[string]any{"type": "operator", "version": 2}), public(t, system), accounts, n.Authorities, key)
	path := filepath.Join(folder, "nats.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	n.URL = strings.Replace(NATS(t, "--config", path), "nats://", "tls://", 1)
	return n
}

// Credentials writes a file of credentials of a new user, whom the server takes if its account has
// signed it, and returns its path and the secret in it.
func (n NATSUsers) Credentials(signed bool) (path, secret string) {
	n.t.Helper()
	user, by := natsKey(n.t, nkeys.CreateUser), n.account
	if !signed {
		by = natsKey(n.t, nkeys.CreateAccount)
	}
	seed, err := user.Seed()
	if err != nil {
		n.t.Fatal(err)
	}
	token := natsToken(n.t, by, user, map[string]any{"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1})
	path = filepath.Join(n.t.TempDir(), "user.creds")
	text := fmt.Sprintf("-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n", token, seed)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return path, string(seed)
}

func natsKey(t testing.TB, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func public(t testing.TB, key nkeys.KeyPair) string {
	t.Helper()
	text, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// natsToken returns what one key says of another, with its signature.
func natsToken(t testing.TB, by, of nkeys.KeyPair, claims map[string]any) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"jti": public(t, of), "iat": lethe.SystemClock{}.Now().Time().Unix(), "iss": public(t, by), "sub": public(t, of), "name": public(t, of), "nats": claims,
	})
	if err != nil {
		t.Fatal(err)
	}
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(`{"typ":"JWT","alg":"ed25519-nkey"}`)) + "." + enc.EncodeToString(body)
	sum, err := by.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + enc.EncodeToString(sum)
}

// certify writes a certificate of 127.0.0.1 that signs itself, and its key.
func certify(t testing.TB, cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := lethe.SystemClock{}.Now().Time()
	made := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nats"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, made, made, pair.Public(), pair)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
