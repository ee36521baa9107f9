package adoption

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/words"
)

// hookTime is how long a hook may take for a batch.
const hookTime = time.Minute

// missingObject is a line of a hook's input.
type missingObject struct {
	Collection string `json:"collection"`
	Bucket     string `json:"bucket"` // by its name in the description
	Key        string `json:"key"`
}

// hookOf runs the program of a collection with the keys that have no object, as lines of
// JSON on its standard input; nil if the collection has none. It fails if the program does not end
// with 0 within a minute.
func hookOf(name string, c adopt.Collection) func(context.Context, []string) error {
	program := c.Keys.Hook
	if len(program) == 0 {
		return nil
	}
	return func(ctx context.Context, keys []string) error {
		var lines bytes.Buffer
		w := json.NewEncoder(&lines)
		w.SetEscapeHTML(false)
		for _, key := range keys {
			if err := w.Encode(missingObject{name, c.Bucket, key}); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(ctx, hookTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, program[0], program[1:]...)
		cmd.Stdin, cmd.WaitDelay = &lines, time.Second
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s, with %s: %w: %s", program[0], words.Plural(int64(len(keys)), "key", "keys"), err, lastLine(out))
		}
		return nil
	}
}

// lastLine returns the last line of a program's output, which mostly has the
// reason of a failure.
func lastLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	return text[:min(len(text), 200)]
}

// checkHook checks that the program of a collection of keys exists.
func checkHook(c adopt.Collection) []adopt.Finding {
	if len(c.Keys.Hook) == 0 {
		return nil
	}
	if _, err := exec.LookPath(c.Keys.Hook[0]); err != nil {
		return []adopt.Finding{{Problem: true, What: "the hook cannot be run: " + err.Error(), Do: "correct keys.hook, or install the program where lethe runs"}}
	}
	return nil
}
