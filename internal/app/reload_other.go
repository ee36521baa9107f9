//go:build !unix

package app

import (
	"context"
	"os"
)

// hangups never delivers one here.
func hangups() chan os.Signal { return nil }

// reloadOn does nothing: there is no such signal.
func (*App) reloadOn(context.Context, chan os.Signal) {}
