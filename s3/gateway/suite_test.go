package gateway_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// suiteRoot are the credentials for suites.
var suiteRoot = gateway.Credentials{Access: "suite", Secret: "suitesecret"}

// suiteAlt is a second account, for suites that need one.
var suiteAlt = auth.Account{Access: "alt", Secret: "altsecretaltsecret", Role: auth.RoleUserPlus}

// TestServeSuites serves an empty store for third-party test suites until it is
// interrupted. LETHE_S3_SERVE is the address to listen on, LETHE_S3_OWNERSHIP
// the ownership of new buckets; the credentials are suiteRoot. Accounts are
// versitygw's own, which its suite makes by its administration. Without the
// variable it does nothing.
func TestServeSuites(t *testing.T) {
	address := os.Getenv("LETHE_S3_SERVE")
	if address == "" {
		t.Skip("LETHE_S3_SERVE is not set")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	own := types.ObjectOwnership(os.Getenv("LETHE_S3_OWNERSHIP"))
	serveSuites(ctx, t, suiteServer{address: address, ownership: own, accounts: []auth.Account{suiteAlt}, ready: func(a []net.Addr) {
		fmt.Fprintln(os.Stderr, "serving suites on", a[0])
	}})
}

// suiteServer is the configuration of an empty store for a suite.
type suiteServer struct {
	address   string
	ownership types.ObjectOwnership // of new buckets
	accounts  []auth.Account        // besides the root
	ready     func([]net.Addr)
}

// start serves in the background; stop ends it.
func (o suiteServer) start(t *testing.T) (addr string, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan net.Addr, 1), make(chan struct{})
	o.address, o.ready = "127.0.0.1:0", func(a []net.Addr) { ready <- a[0] }
	go func() {
		defer close(done)
		serveSuites(ctx, t, o)
	}()
	select {
	case a := <-ready:
		addr = a.String()
	case <-done:
	}
	return addr, func() {
		cancel()
		<-done
	}
}

// serveSuites serves an empty store on SQLite and files until ctx is done.
func serveSuites(ctx context.Context, t *testing.T, o suiteServer) {
	store, closeStore := suiteStore(ctx, t)
	defer closeStore()
	accounts, err := auth.NewInternal(auth.Account{Access: suiteRoot.Access, Secret: suiteRoot.Secret, Role: auth.RoleAdmin}, t.TempDir())
	for _, a := range o.accounts {
		if err == nil {
			err = accounts.CreateAccount(a)
		}
	}
	if err != nil {
		t.Error(err)
		return
	}
	server, err := gateway.New(gateway.Options{
		Store: store, Root: suiteRoot, Listen: []string{o.address}, Domain: os.Getenv("LETHE_S3_DOMAIN"),
		Ownership: o.ownership,
		Events:    s3.Events{Failure: func(f s3.Failure) { fmt.Fprintln(os.Stderr, "failure:", f.Operation, f.Bucket, f.Key, f.Err) }},
		Ready:     o.ready,
	}.WithAccounts(accounts))
	if err == nil {
		err = server.Serve(ctx)
	}
	if err != nil {
		t.Error(err)
	}
}

// suiteStore opens an empty store on SQLite and files.
func suiteStore(ctx context.Context, t *testing.T) (parts s3.Store, closeStore func()) {
	db, err := sqlledger.Open(ctx, t.TempDir()+"/ledger.db", ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.AddBackend(ctx, ledger.Backend{ID: "disk"}); err != nil {
		t.Fatal(err)
	}
	who, err := db.Identity(ctx)
	if err != nil {
		t.Fatal(err)
	}
	disk, err := fsblob.Open(fsblob.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	store, err := object.New(object.Options{
		Ledger: ledgertest.ForObjects(db), Backends: map[string]blob.Store{"disk": disk}, StoreID: who.ID, Background: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return storeOf(store, db), func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
