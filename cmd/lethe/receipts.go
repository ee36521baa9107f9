package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/receipt"
)

func (c *cli) receiptsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "receipts", Short: "Export and verify receipts of deletions",
		Long: `A receipt records when and why a version of an object was deleted, at whose request or
by which rule, and when its bytes were confirmed gone. Receipts are sealed in a chain
of hashes, which reveals a later change, addition or removal. "lethe explain" shows the
receipts of one key.`,
	}
	cmd.AddCommand(c.receiptsExportCommand(), c.receiptsVerifyCommand())
	return cmd
}

func (c *cli) receiptsExportCommand() *cobra.Command {
	var req api.ReceiptRequest
	var since string
	cmd := &cobra.Command{
		Use: "export", Short: "Write receipts to standard output as JSON lines", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if req.Since, err = sinceTime(since); err != nil {
				return err
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				return eachReceipt(req, func(r receipt.Receipt) error { return printLine(c.out, r) }, func(req api.ReceiptRequest) (api.ReceiptPage, error) {
					return api.Call[api.ReceiptPage](cmd.Context(), client, "receipts/list", req)
				})
			})
		},
	}
	cmd.Flags().StringVar(&req.Bucket, "bucket", "", "only objects of this `bucket`")
	cmd.Flags().StringVar(&since, "since", "", "only deletions since this `time`, such as 1h, 7d or 2030-01-31T12:00:00Z")
	return cmd
}

func (c *cli) receiptsVerifyCommand() *cobra.Command {
	var head string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify", Short: "Verify the chain of receipts, and report the first broken link", Args: cobra.NoArgs,
		Long: `Recompute every hash of the chain. Someone who can write to the ledger's database can
also compute a whole new chain. To detect that, give --head with a head recorded
elsewhere: in the log's audit lines "receipts_sealed", or by an earlier run of this
command.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := chainHead(head)
			if err != nil {
				return err
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				chain, err := api.Call[api.Chain](cmd.Context(), client, "receipts/verify", req)
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

// eachReceipt passes all receipts to yield, page by page.
func eachReceipt(req api.ReceiptRequest, yield func(receipt.Receipt) error, read func(api.ReceiptRequest) (api.ReceiptPage, error)) error {
	for {
		page, err := read(req)
		if err != nil {
			return err
		}
		for _, r := range page.Receipts {
			if err := yield(r); err != nil {
				return err
			}
		}
		if page.Next == 0 && page.NextBatch == 0 {
			return nil
		}
		req.After, req.Batch = page.Next, page.NextBatch
	}
}

// chainHead parses the flag --head; empty is none.
func chainHead(head string) (req api.ChainRequest, err error) {
	if head == "" {
		return req, nil
	}
	seq, hash, _ := strings.Cut(head, ":")
	n, err := strconv.ParseInt(seq, 10, 64)
	if sum, notHex := hex.DecodeString(hash); err != nil || n < 1 || notHex != nil || len(sum) != sha256.Size {
		return req, usageError("--head %q is not a number and hash, such as 42:9f86d081... with 64 digits", head)
	}
	return api.ChainRequest{Seq: n, Hash: hash}, nil
}

// showChain shows the result of verifying a chain. A broken one is an error.
func (c *cli) showChain(chain api.Chain, asJSON bool) error {
	switch {
	case chain.Broken != "":
		return errors.New(chain.Broken)
	case asJSON:
		return printJSON(c.out, chain)
	}
	if !chain.DroppedUntil.IsZero() {
		printf(c.out, "receipts of deletions until %s were dropped by age\n", stamp(chain.DroppedUntil))
	}
	_, err := printf(c.out, "the chain is intact: %s in %s, %s not sealed yet\n",
		words.Plural(chain.Receipts, "receipt", "receipts"), words.Plural(chain.Segments, "segment", "segments"),
		words.Plural(chain.Unsealed, "receipt", "receipts"))
	if chain.Head.Hash == "" {
		return err
	}
	_, err = printf(c.out, "head %d:%s\n", chain.Head.Seq, chain.Head.Hash)
	return err
}
