package main

import (
	"io"
	"os"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// The colours of severities on a terminal, and the end of a colour.
var colours = map[string]string{
	api.SeverityOK: "\x1b[32m", api.SeverityNotice: "\x1b[32m", api.SeverityWarning: "\x1b[33m", api.SeverityCritical: "\x1b[1;31m",
}

const plainAgain = "\x1b[0m"

// coloured reports whether an output takes colours: a terminal whose user does not refuse them.
func coloured(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// painted writes a text in the colour of a severity.
func painted(w io.Writer, severity, text string) {
	if !coloured(w) {
		printf(w, "%s", text)
		return
	}
	_, _ = io.WriteString(w, colours[severity])
	printf(w, "%s", text)
	_, _ = io.WriteString(w, plainAgain)
}

// printFindings shows the verdict in one sentence, and then each finding with the next
// command, the worst first.
func (c *cli) printFindings(s api.Status) {
	painted(c.out, s.Severity, s.Sentence)
	printf(c.out, "\n\n")
	for _, f := range s.Findings {
		lasted := ""
		if d := s.Now.Sub(f.Since); !f.Since.IsZero() && d > 0 {
			lasted = " (for " + words.Span(d) + ")"
		}
		printf(c.out, "  ")
		painted(c.out, f.Severity, f.Severity)
		printf(c.out, "%s%s%s\n", strings.Repeat(" ", max(len("critical")-len(f.Severity), 0)+2), c.pasteable(f.What), lasted)
		if parts := strings.Fields(f.Next); len(parts) > 1 {
			printf(c.out, "            %s\n", c.command(parts[1:]...))
		}
	}
	if len(s.Findings) > 0 {
		printf(c.out, "\n")
	}
}
