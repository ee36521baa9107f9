package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
)

// The exit codes of all commands, as "lethe --help" lists them. Those of status are in its own
// help.
const (
	exitFailure = 1 // it could not be done, or found something wrong
	exitUsage   = 2 // the command line is wrong, or needs --yes; nothing was done
	exitNothing = 3 // what was named does not exist
)

// usageError is about how a command was written.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// codeOf returns the exit code of an error, and the error to print, nil if everything was
// printed already.
func codeOf(err error) (int, error) {
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return exit.code, exit.err
	case api.IsNotFound(err):
		return exitNothing, err
	case errors.Is(err, api.ErrBadRequest):
		return exitUsage, err
	}
	return exitFailure, err
}

// ownCodes annotates a command that has exit codes of its own for wrong arguments and flags.
const ownCodes = "own exit codes"

// strictArgs makes a command, and those below it, say how they are used when their arguments or
// flags are not as they have to be.
func strictArgs(cmd *cobra.Command) {
	if cmd.Annotations[ownCodes] != "" {
		return
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%w; see %s --help", err, cmd.CommandPath())
	})
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError("%s; see %s --help", misused(cmd, args), cmd.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		strictArgs(sub)
	}
}

// misused describes arguments that a command does not take.
func misused(cmd *cobra.Command, args []string) string {
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if use == cmd.CommandPath() {
		return fmt.Sprintf("%s takes no argument such as %q", use, args[0])
	}
	return "write " + use
}
