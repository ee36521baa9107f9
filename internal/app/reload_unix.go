//go:build unix

package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// hangups returns a channel for SIGHUP, which from then on does not end the
// process.
func hangups() chan os.Signal {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return hup
}

// reloadOn reloads at each signal until ctx ends.
func (a *App) reloadOn(ctx context.Context, hup chan os.Signal) {
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			a.reload()
		}
	}
}
