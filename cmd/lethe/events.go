package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) eventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "events", Short: "Show what waits to be told to targets, and what failed",
		Long: `Buckets tell targets of the configuration (events.targets) when objects come and go. An
event waits until its target has confirmed it. One that its target refuses, or never
answers, for events.give_up becomes a dead letter: requeue it once the cause is fixed, or drop it.`,
	}
	cmd.AddCommand(c.eventTargetsCommand(), c.eventsListCommand(),
		noQuestion(c.eventsRequeueCommand()), c.eventsDropCommand())
	return cmd
}

func (c *cli) eventTargetsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "targets", Short: "Show each target: what waits, what failed, and why", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list, err := api.Call[[]api.EventTarget](cmd.Context(), client, "events/targets", api.None{})
				if err != nil || asJSON {
					return errors.Join(err, printJSON(c.out, list))
				}
				return c.printTargets(list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// printTargets shows each target, and below them the whole errors, which may be long.
func (c *cli) printTargets(list []api.EventTarget) error {
	rows := [][]string{{"TARGET", "WAITING", "OLDEST", "DEAD", "LOST", "DELIVERED", "FAILING SINCE"}}
	for _, t := range list {
		name := t.Name
		if !t.Configured {
			name += " (not configured)"
		}
		rows = append(rows, []string{name, plainNumber(t.Waiting), stamp(t.OldestAt), plainNumber(t.Dead), plainNumber(t.Lost), plainNumber(t.Delivered), stamp(t.FailingSince)})
	}
	err := table(c.out, rows)
	for _, t := range list {
		if t.LastError != "" && err == nil {
			_, err = printf(c.out, "\nlast error of %s: %s\n", cell(t.Name), cell(t.LastError))
		}
	}
	return err
}

func plainNumber(n int64) string { return strconv.FormatInt(n, 10) }

func (c *cli) eventsListCommand() *cobra.Command {
	var req api.EventRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list target", Short: "List the events of a target that wait, or its dead letters", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Target = args[0]
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list, err := api.Call[api.EventList](cmd.Context(), client, "events/list", req)
				if err != nil {
					return err
				}
				if list.Next != 0 {
					printf(c.err, "there may be more: continue with --after %d\n", list.Next)
				}
				if asJSON {
					return printJSON(c.out, list.Events)
				}
				rows := [][]string{{"NUMBER", "AT", "EVENT", "OBJECT", "SIZE", "REASON", "ATTEMPTS", "NEXT TRY", "LAST ERROR"}}
				for _, e := range list.Events {
					rows = append(rows, []string{plainNumber(e.Number), stamp(e.At), e.Event, "s3://" + e.Bucket + "/" + e.Key, words.Size(e.Size), orDash(e.Reason), plainNumber(e.Attempts), stamp(e.NextTry), orDash(brief(e.LastError))})
				}
				return table(c.out, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&req.Dead, "dead", false, "dead letters instead of what waits")
	cmd.Flags().Int64Var(&req.After, "after", 0, "begin after the event with this `number`")
	cmd.Flags().Var(atLeast(1, &req.Limit, 1000), "limit", "list at most this `number`, up to 1000")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// eventChoice reads the dead letters that arguments name.
func eventChoice(args []string, all bool) (api.EventChoice, error) {
	choice := api.EventChoice{Target: args[0], All: all}
	for _, text := range args[1:] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return choice, usageError("%q is no number of an event; \"lethe events list %s --dead\" shows them", text, choice.Target)
		}
		choice.Numbers = append(choice.Numbers, n)
	}
	if choice.All == (len(choice.Numbers) > 0) {
		return choice, usageError("name dead letters by their numbers, or --all")
	}
	return choice, nil
}

func (c *cli) eventsRequeueCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "requeue target [number...]", Short: "Deliver dead letters again", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			choice, err := eventChoice(args, all)
			if err != nil {
				return err
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				return c.changeEvents(cmd.Context(), client, "requeue", choice)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all of them")
	return cmd
}

func (c *cli) eventsDropCommand() *cobra.Command {
	var all, yes bool
	cmd := &cobra.Command{
		Use: "drop target [number...]", Short: "Remove dead letters, which are then never delivered",
		Long: "Remove dead letters, which are then never delivered. --all of a target that is not in\nevents.targets removes what waits for it as well.\n", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			choice, err := eventChoice(args, all)
			if err != nil {
				return err
			}
			return c.withYes(cmd.Context(), yes, ofEvents(choice), func(client *api.Client) error {
				return c.changeEvents(cmd.Context(), client, "drop", choice)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all of them")
	yesFlag(cmd, &yes)
	return cmd
}

func (c *cli) changeEvents(ctx context.Context, client *api.Client, change string, choice api.EventChoice) error {
	n, err := api.Call[api.Count](ctx, client, "events/"+change, choice)
	if err != nil {
		return err
	}
	printf(c.out, "%s: %s\n", map[string]string{"requeue": "requeued", "drop": "dropped"}[change], words.Plural(int64(n.Count), "event", "events"))
	if n.Count == 0 && !choice.All {
		return &exitError{exitNothing, errors.New("none of these is a dead letter of the target " + choice.Target)}
	}
	return nil
}

// ofEvents asks about the dead letters that are chosen.
func ofEvents(choice api.EventChoice) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		// A target that nobody knows is an error here.
		if _, err := api.Call[api.EventList](ctx, client, "events/list", api.EventRequest{Target: choice.Target, Limit: 1}); err != nil {
			return "", err
		}
		n := int64(len(choice.Numbers))
		if choice.All {
			list, err := api.Call[[]api.EventTarget](ctx, client, "events/targets", api.None{})
			if err != nil {
				return "", err
			}
			for _, t := range list {
				if t.Name != choice.Target {
					continue
				}
				if n = t.Dead; !t.Configured && t.Waiting > 0 {
					return fmt.Sprintf("Drop %s of %s, and %s?", words.Plural(n, "dead letter", "dead letters"), t.Name, words.Plural(t.Waiting, "event that waits", "events that wait")), nil
				}
			}
		}
		if n == 0 {
			return "", errNothing
		}
		return fmt.Sprintf("Drop %s of %s?", words.Plural(n, "dead letter", "dead letters"), choice.Target), nil
	}
}
