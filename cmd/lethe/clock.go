package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) clockCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "clock", Short: "Compare the ledger's clock with the machine's, or set it back",
		Long: `The ledger's clock never runs back. If the machine's clock was far ahead and was then
corrected, the ledger's clock stops until the machine's catches up. Until then nothing
is removed by age. Once you are sure that the machine's clock is right, run
"lethe clock reset --to-now".

A reset expires nothing. Claims, heartbeats, undo windows and grace periods from the
future count from now. Objects keep the times at which they end: those that ended
between now and the time shown are visible again until then, and those stored meanwhile
with a time to live end late.`,
	}
	cmd.AddCommand(c.clockShowCommand(), c.clockResetCommand())
	return cmd
}

func (c *cli) clockShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show the ledger's clock and the effect of a reset", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				s, err := api.Call[api.Clock](cmd.Context(), client, "clock/show", api.None{})
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

func (c *cli) printClock(s api.Clock) {
	printf(c.out, "ledger   %s\nmachine  %s\n", stamp(s.Ledger), stamp(s.Wall))
	if s.Ahead == 0 {
		printf(c.out, "The ledger's clock is not ahead.\n")
		return
	}
	printf(c.out, "\nThe ledger's clock is %s ahead: nothing becomes due until the machine's has caught up.\nAfter a reset:\n", seconds(s.Ahead))
	printf(c.out, "  %s that clients cannot see any more would be visible until their time\n", words.Plural(s.Hidden, "object", "objects"))
	printf(c.out, "  %s stored meanwhile would end up to %s later than promised\n", words.Plural(s.Longer, "object", "objects"), seconds(s.LongerBy))
	if len(s.Others) > 0 {
		printf(c.out, "  stop all other instances first: %v\n", s.Others)
	}
}

func seconds(s float64) string { return words.Span(time.Duration(s * float64(time.Second))) }

func (c *cli) clockResetCommand() *cobra.Command {
	var toNow, yes bool
	var req api.ClockRequest
	cmd := &cobra.Command{
		Use: "reset", Short: "Set the ledger's clock back to the machine's", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !toNow {
				return usageError("confirm that the machine's clock is right: lethe clock reset --to-now")
			}
			return c.withYes(cmd.Context(), yes, ofClock, func(client *api.Client) error {
				s, err := api.Call[api.Clock](cmd.Context(), client, "clock/reset", req)
				if err != nil {
					return err
				}
				_, err = printf(c.out, "the ledger's clock was set back by %s, to %s\n", seconds(s.Ahead), stamp(s.Wall))
				return err
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&toNow, "to-now", false, "to the machine's clock, which is right")
	f.BoolVar(&req.Accept, "accept", false, "accept that objects become visible again, or live longer (see: lethe clock show)")
	f.BoolVar(&req.Alone, "alone", false, "confirm that the other instances in the ledger are stopped")
	yesFlag(cmd, &yes)
	return cmd
}
