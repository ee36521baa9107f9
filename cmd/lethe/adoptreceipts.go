package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/receipt"
)

func (c *cli) adoptReceiptsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "receipts", Short: "List, export and verify receipts of deletions",
		Long: `A receipt records when a row, object or folder was deleted, and when an object was moved
into quarantine and back. Receipts are sealed in a chain of hashes, which reveals a later
change, addition or removal. They are dropped after the time in the description
("receipts: 90d").`,
	}
	cmd.AddCommand(c.adoptReceiptsListCommand(), c.adoptReceiptsExportCommand(), c.adoptReceiptsVerifyCommand())
	return cmd
}

// receiptFlags select receipts.
type receiptFlags struct{ collection, since string }

func (f *receiptFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.collection, "collection", "", "only of this `collection`")
	cmd.Flags().StringVar(&f.since, "since", "", "only deletions since this `time`, such as 1h, 7d or 2030-01-31T12:00:00Z")
}

// receipts passes the selected receipts to yield, sealed ones first.
func (f *receiptFlags) receipts(ctx context.Context, a *adoption.Adoption, yield func(receipt.Receipt) error) error {
	since, err := sinceTime(f.since)
	if err == nil {
		err = a.HasReceipts(ctx)
	}
	if err != nil {
		return err
	}
	_, described := a.Description.Collections[f.collection]
	found := f.collection == "" || described || a.Unusable[f.collection] != nil
	wanted := func(r receipt.Receipt) error {
		if f.collection != "" && r.Collection != f.collection {
			return nil
		}
		found = true
		return yield(r)
	}
	err = eachReceipt(api.ReceiptRequest{Since: since}, wanted, func(req api.ReceiptRequest) (api.ReceiptPage, error) {
		return service.ReadReceipts(ctx, a.DB, req)
	})
	if err == nil && !found {
		return fmt.Errorf("the description has no collection %q, and no receipt names it", f.collection)
	}
	return err
}

func (c *cli) adoptReceiptsListCommand() *cobra.Command {
	var flags receiptFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list FILE", Short: "List receipts", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error {
				list := []receipt.Receipt{}
				err := flags.receipts(cmd.Context(), a, func(r receipt.Receipt) error {
					list = append(list, r)
					return nil
				})
				if err != nil {
					return err
				}
				receipt.Sort(list)
				if asJSON {
					return printJSON(c.out, list)
				}
				rows := [][]string{{"WENT", "COLLECTION", "KIND", "KEY"}}
				for _, r := range list {
					rows = append(rows, []string{stamp(lethe.Time(r.At).Time()), r.Collection, string(r.Kind), cell(r.Key)})
				}
				return table(c.out, rows)
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) adoptReceiptsExportCommand() *cobra.Command {
	var flags receiptFlags
	cmd := &cobra.Command{
		Use: "export FILE", Short: "Write receipts to standard output as JSON lines", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error {
				return flags.receipts(cmd.Context(), a, func(r receipt.Receipt) error { return printLine(c.out, r) })
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func (c *cli) adoptReceiptsVerifyCommand() *cobra.Command {
	var head string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Verify the chain of receipts, and report the first broken link", Args: cobra.ExactArgs(1),
		Long: `It recomputes every hash of the chain. Who can write to Lethe's tables can also compute
a whole new chain: that is found by a head recorded elsewhere, such as in the
log's audit lines "receipts_sealed" or an earlier answer of this command, given with
--head.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := chainHead(head)
			if err != nil {
				return err
			}
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error {
				chain, err := a.VerifyReceipts(cmd.Context(), req)
				if err != nil {
					return err
				}
				return c.showChain(chain, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "a `number:hash` recorded elsewhere")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
