package app

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/lethe-storage/lethe/internal/config"
)

// NewLogger returns the process's log; the level may change while it runs.
func NewLogger(c config.Log, w io.Writer, level *slog.LevelVar) *slog.Logger {
	setLevel(level, c.Level)
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" || c.Format == "auto" && !isTerminal(w) {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// setLevel sets the level by its name in the configuration.
func setLevel(level *slog.LevelVar, name string) {
	l := slog.LevelInfo
	// The configuration was validated; a level that does not parse stays info.
	if err := l.UnmarshalText([]byte(name)); err == nil {
		level.Set(l)
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
