//go:build !unix

package app

import (
	"context"
	"os"
)

// hangups never delivers one here.
func hangups() chan os.Signal { return nil }

// reloadOn has no signal to wait for.
func (*App) reloadOn(context.Context, chan os.Signal) {}
