package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

func (c *cli) ttlCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "ttl", Short: "Show or change when an object ends"}
	unlimited := &cobra.Command{
		Use: "clear s3://bucket/key", Short: "Remove the time to live of an object", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.setTTL(cmd, args[0], api.TTLRequest{}, true)
		},
	}
	cmd.AddCommand(c.ttlSetCommand(), c.ttlShowCommand(), noQuestion(c.completes(unlimited, objectPlaces)))
	return cmd
}

func (c *cli) ttlShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show s3://bucket/key", Short: "Show when an object ends", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseObject(args[0])
			if err != nil {
				return err
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				o, err := api.Call[api.ObjectInfo](cmd.Context(), client, "ttl/show", name)
				switch {
				case err != nil:
					return err
				case asJSON:
					return printJSON(c.out, o)
				}
				return c.printTTL(args[0], o)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c.completes(cmd, objectPlaces)
}

func (c *cli) ttlSetCommand() *cobra.Command {
	var at, idle string
	var yes bool
	cmd := &cobra.Command{
		Use: "set s3://bucket/key [ttl]", Short: "Set when an object ends: its time to live, its idle time, or both",
		Long: `Set the time to live of an object, such as 12h or 30d, from now, or its idle time: how
long it is kept after its last read. What is not named stays as it is. Of both ends the
earlier one counts.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := api.TTLRequest{Idle: idle}
			switch {
			case len(args) == 2 && args[1] != "" && at == "":
				if _, err := lethe.ParseTTL(args[1]); err != nil {
					return usageError("%w", err)
				}
				req.TTL = args[1]
			case len(args) == 1 && at != "":
				t, err := instant("at", at, 1)
				if err != nil {
					return err
				}
				req.At = t
			case len(args) == 1 && idle != "":
			default:
				return usageError("give a time to live, such as 12h, or --at and a time, or --idle; \"lethe ttl clear\" removes a time to live")
			}
			endsNothing := req.TTL == "" && at == "" && idle == "none"
			return c.setTTL(cmd, args[0], req, yes || endsNothing)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the `time` at which it ends, such as 2030-01-31T12:00:00Z")
	cmd.Flags().Var(idleOrNone(&idle), "idle", "how `long` it is kept after its last read, such as 7d, or none")
	yesFlag(cmd, &yes)
	return c.completes(cmd, objectPlaces)
}

func (c *cli) setTTL(cmd *cobra.Command, object string, req api.TTLRequest, yes bool) error {
	name, err := parseObject(object)
	if err != nil {
		return err
	}
	req.ObjectName = name
	return c.withYes(cmd.Context(), yes, ofTTL(object, req), func(client *api.Client) error {
		o, err := api.Call[api.ObjectInfo](cmd.Context(), client, "ttl/set", req)
		if err != nil {
			return err
		}
		return c.printTTL(object, o)
	})
}

func (c *cli) printTTL(object string, o api.ObjectInfo) error {
	_, err := printf(c.out, "%s %s\n", object, lifeOf(o))
	return err
}

// lifeOf describes when an object expires, and by what.
func lifeOf(o api.ObjectInfo) string {
	text, ends, rule := "has no time to live", "ends ", "; a rule ends it "
	if o.Held {
		ends, rule = "would end ", "; a rule would end it "
	}
	if !o.TTLAt.IsZero() {
		text = ends + o.TTLAt.Format(time.RFC3339)
	}
	if o.Idle != "" {
		text += "; without a read it " + ends + o.IdleAt.Format(time.RFC3339) + ", idle for " + o.Idle
	}
	if !o.RuleAt.IsZero() {
		text += rule + o.RuleAt.Format(time.RFC3339)
	}
	if o.Held {
		text += "; a hold keeps it"
	}
	return text
}
