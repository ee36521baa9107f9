package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin"
)

func (c *cli) clockCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "clock", Short: "Show how the ledger's clock stands to the machine's, or set it back",
		Long: `The ledger's clock never runs back. If the machine's clock was far ahead once and
was set right, the ledger's stands still until the machine's has caught up, and
nothing is removed for its age meanwhile. Once you are sure that the machine's
clock is right, "lethe clock reset --to-now" lets the ledger go by it again.

Nothing expires by that. Claims, heartbeats, undo windows and graces that were
stamped ahead count from now. The times at which objects end stay as they are:
what had ended between now and the time shown is seen again until its time, and
what was stored meanwhile with a time to live keeps it from the wrong time on.`,
	}
	cmd.AddCommand(c.clockShowCommand(), c.clockResetCommand())
	return cmd
}

func (c *cli) clockShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show how the ledger's clock stands, and what a reset would mean", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *admin.Client) error {
				s, err := admin.Call[admin.Clock](cmd.Context(), client, "clock/show", admin.None{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, s)
				}
				c.printClock(s)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) printClock(s admin.Clock) {
	printf(c.out, "ledger   %s\nmachine  %s\n", stamp(s.Ledger), stamp(s.Wall))
	if s.Ahead == 0 {
		printf(c.out, "The ledger's clock is not ahead.\n")
		return
	}
	printf(c.out, "\nThe ledger's clock is %s ahead: nothing becomes due before the machine's has caught up.\nA reset would mean:\n", seconds(s.Ahead))
	printf(c.out, "  %s that clients do not see any more would be seen until their time\n", plural(s.Hidden, "object", "objects"))
	printf(c.out, "  %s stored meanwhile would end up to %s later than told\n", plural(s.Longer, "object", "objects"), seconds(s.LongerBy))
	if len(s.Others) > 0 {
		printf(c.out, "  all other instances have to be stopped: %v\n", s.Others)
	}
}

func seconds(s float64) string { return span(time.Duration(s * float64(time.Second))) }

func (c *cli) clockResetCommand() *cobra.Command {
	var toNow, yes bool
	var req admin.ClockRequest
	cmd := &cobra.Command{
		Use: "reset", Short: "Set the ledger's clock back to the machine's", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !toNow {
				return errors.New("say that the machine's clock is right: lethe clock reset --to-now")
			}
			return c.withYes(cmd.Context(), yes, ofClock, func(client *admin.Client) error {
				s, err := admin.Call[admin.Clock](cmd.Context(), client, "clock/reset", req)
				if err != nil {
					return err
				}
				_, err = printf(c.out, "the ledger's clock was set back by %s, to %s\n", seconds(s.Ahead), stamp(s.Wall))
				return err
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&toNow, "to-now", false, "to what the machine's clock says, which is right")
	f.BoolVar(&req.Accept, "accept", false, "objects may be seen again, or live longer than told (see: lethe clock show)")
	f.BoolVar(&req.Alone, "alone", false, "the other instances that the ledger remembers are stopped")
	yesFlag(cmd, &yes)
	return cmd
}
