package servers

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"strconv"
)

// Ports below 32768 are not given to outgoing connections, so that the port of
// a server that was killed is free when it starts again.
const (
	firstPort = 12000
	lastPort  = 32000
)

// address answers a free address of 127.0.0.1.
func address() (string, error) {
	for range 100 {
		var b [4]byte
		if _, err := rand.Read(b[:]); err != nil {
			return "", err
		}
		port := firstPort + int(binary.BigEndian.Uint32(b[:])%(lastPort-firstPort))
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return l.Addr().String(), l.Close()
	}
	return "", errors.New("servers: no free port was found")
}

// portOf is the port of an address.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// attempts is how often a server is started on another port, since somebody
// else may have taken the first.
const attempts = 3

// onFreePort starts what make makes for an address.
func onFreePort(make func(addr string) (*process, error)) (*process, string, error) {
	var errs error
	for range attempts {
		addr, err := address()
		if err != nil {
			return nil, "", err
		}
		p, err := make(addr)
		if err != nil {
			return nil, "", err
		}
		if err = p.start(); err == nil {
			return p, addr, nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, "", errs
}
