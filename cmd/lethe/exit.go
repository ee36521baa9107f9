package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lethe-storage/lethe/admin/api"
)

// The exit codes of all commands, as "lethe --help" lists them. Those of status are in its own
// help.
const (
	exitFailure = 1 // it could not be done, or found something wrong
	exitUsage   = 2 // the command line is wrong, or needs --yes; nothing was done
	exitNothing = 3 // there is nothing of that name
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

// nothingUnder is the error of a command that lists what is under a prefix, if nothing is.
func nothingUnder(bucket, prefix string) error {
	return &exitError{exitNothing, fmt.Errorf("nothing is under s3://%s/%s", bucket, prefix)}
}

// walkFailed is the error of a command that has exit code 1 for what it finds.
func walkFailed(err error) error {
	if code, _ := codeOf(err); code != exitFailure {
		return err
	}
	return &exitError{exitFailed, err}
}

// ownCodes annotates a command that has exit codes of its own for wrong arguments and flags.
const ownCodes = "own exit codes"

// strictArgs makes a command, and those below it, say how they are used when their arguments or
// flags are not as they have to be.
func strictArgs(cmd *cobra.Command) {
	if cmd.Annotations[ownCodes] != "" {
		return
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &exitError{exitUsage, flagError(cmd, err)} })
	if check := cmd.Args; check != nil || !cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			text := misusedFlags(cmd)
			if check != nil && check(cmd, args) != nil {
				text = misused(cmd, args)
			}
			if text == "" {
				return nil
			}
			return usageError("%s; see %s --help", text, cmd.CommandPath())
		}
	}
	for _, sub := range cmd.Commands() {
		strictArgs(sub)
	}
}

// wanted says what values of a flag have to be, by the library's names of their types. The
// values of this package say it themselves.
var wanted = map[string]string{
	"bool":        "true or false",
	"duration":    "a duration, such as 2s or 5m",
	"int":         "a whole number",
	"int64":       "a whole number",
	"stringSlice": "a list, with commas between its items",
}

// flagError is the error for a flag that cannot be read. It does not show how the library
// tried to.
func flagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		f := bad.GetFlag()
		err = fmt.Errorf("invalid value %q for --%s: want %s", bad.GetValue(), f.Name, cmp.Or(wanted[f.Value.Type()], bad.Unwrap().Error()))
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// exclusive annotates a flag with the flags that exclude each other, as cobra does.
const exclusive = "cobra_annotation_mutually_exclusive"

// misusedFlags describes flags that are missing or exclude each other; empty: there are none.
func misusedFlags(cmd *cobra.Command) (text string) {
	var missing []string
	together := map[string][]string{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed {
			missing = append(missing, "--"+f.Name)
		}
		for _, group := range f.Annotations[exclusive] {
			if f.Changed {
				together[group] = append(together[group], "--"+f.Name)
			}
		}
	})
	if len(missing) > 0 {
		return "add " + strings.Join(missing, " and ")
	}
	for _, names := range together {
		if len(names) > 1 {
			text = strings.Join(names, " and ") + " exclude each other"
		}
	}
	return text
}

// misused describes arguments that a command does not take.
func misused(cmd *cobra.Command, args []string) string {
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if use == cmd.CommandPath() {
		return fmt.Sprintf("%s takes no argument such as %q", use, args[0])
	}
	return "write " + use
}
