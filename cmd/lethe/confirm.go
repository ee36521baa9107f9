package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
)

// errNotAsked is the error of a command that needs confirmation where nobody
// can give it.
var errNotAsked = errors.New("nothing was done: this command deletes data, or changes what is deleted, and needs confirmation on a terminal; without one, add --yes")

// yesFlag adds --yes to a command that asks for confirmation.
func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do not ask; required without a terminal")
}

// noQuestion adds --yes to a command that changes something and asks nothing, so that scripts
// may give it to every change.
func noQuestion(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().Bool("yes", false, "has no effect: nothing is asked here")
	return cmd
}

// askable returns an error if there is neither --yes nor a terminal to ask on.
func (c *cli) askable(yes bool) error {
	if yes || isTerminal(c.in) && isTerminal(c.err) {
		return nil
	}
	return &exitError{exitUsage, errNotAsked}
}

// errNothing is returned instead of a question if there is nothing that the command would change.
var errNothing = errors.New("there is nothing to do")

// unlessNothing says that there is nothing to do, which is no failure.
func (c *cli) unlessNothing(err error) error {
	if errors.Is(err, errNothing) {
		_, err = printf(c.out, "%v\n", errNothing)
	}
	return err
}

// confirmed asks on a terminal whether to continue; the question is computed
// only then. Without a terminal for input and errors it refuses: silence is not
// consent.
func (c *cli) confirmed(yes bool, question func() (string, error)) error {
	if err := c.askable(yes); err != nil || yes {
		return err
	}
	text, err := question()
	if err != nil {
		return err
	}
	printf(c.err, "%s [y/N] ", text)
	answer, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}

// question returns what a command is about to do as a question, with numbers
// and sizes.
type question func(context.Context, *api.Client) (string, error)

// withYes calls act with a client of the admin API after confirmation. What
// would be refused is refused before anything is opened.
func (c *cli) withYes(ctx context.Context, yes bool, q question, act func(*api.Client) error) error {
	if err := c.askable(yes); err != nil {
		return err
	}
	return c.unlessNothing(c.withAdmin(ctx, func(client *api.Client) error {
		if err := c.confirmed(yes, func() (string, error) { return q(ctx, client) }); err != nil {
			return err
		}
		return act(client)
	}))
}
