package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Add, list, change and remove access keys",
		Long: `The root key may do everything. It is in the file "credentials" of the data folder or in
the configuration. Other keys may use the buckets that they are made for:

    lethe keys add --bucket photos --bucket music
    lethe keys add --bucket '*' --read-only
    lethe keys add --bucket photos --settings
    lethe keys add --id alice --bucket @account
    lethe keys add --id ci-builds --bucket builds --default-ttl 7d --max-ttl 30d

They read, write, list and delete objects. With --settings they also make and delete
their buckets, and change policies, access control lists, CORS and lifecycle rules,
tags, ownership, public access and legal holds there.

The last one is an account. It may make buckets and owns them, and access control lists
and policies of other buckets can grant it access by its id. A new key for the id of a
former account owns the buckets of that account.

The --default-ttl and --max-ttl are for what the key writes. Of these and the bucket's the
shorter counts. "lethe keys set" changes them for what it writes later.`,
	}
	cmd.AddCommand(noQuestion(c.keysAddCommand()), noQuestion(c.keysSetCommand()), c.keysListCommand(), c.keysRootCommand(),
		noQuestion(c.keysSealCommand()), noQuestion(c.keysForgetRootCommand()), c.keysRemoveCommand())
	return cmd
}

func (c *cli) keysSealCommand() *cobra.Command {
	return &cobra.Command{
		Use: "seal", Short: "Encrypt the secrets in the database with the first sealing key (database.sealing_key_file)", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				done, err := api.Call[api.SealedKeys](cmd.Context(), client, "keys/seal", api.None{})
				if err == nil {
					_, err = printf(c.out, "%s sealed\n", words.Plural(int64(done.Sealed), "secret was", "secrets were"))
				}
				return err
			})
		},
	}
}

func (c *cli) keysForgetRootCommand() *cobra.Command {
	return &cobra.Command{
		Use: "forget-root", Args: cobra.NoArgs,
		Short: "Remove the shared root key from the database if its sealing key is lost; the next instance to start shares its own",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				_, err := api.Call[api.None](cmd.Context(), client, "keys/forget-root", api.None{})
				if err == nil {
					_, err = printf(c.out, "the database has no root key any more; the next instance to start shares the one in its data folder\n")
				}
				return err
			})
		},
	}
}

func (c *cli) keysRemoveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "rm id...", Aliases: []string{"remove"}, Short: "Remove keys; what they stored stays", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return c.withYes(cmd.Context(), yes, ofNames("Remove", "key", "keys", keyNames, ids), func(client *api.Client) error {
				for _, id := range ids {
					if _, err := api.Call[api.None](cmd.Context(), client, "keys/remove", api.KeyName{ID: id}); err != nil {
						return err
					}
					printf(c.out, "removed %s\n", id)
				}
				return nil
			})
		},
	}
	yesFlag(cmd, &yes)
	return c.completes(cmd, keyNames)
}

func (c *cli) keysAddCommand() *cobra.Command {
	var req api.KeyRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use: "add", Short: "Add a key; its secret is shown once", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				k, err := api.Call[api.NewKey](cmd.Context(), client, "keys/add", req)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, k)
				}
				printf(c.out, "access key  %s\nsecret key  %s\nbuckets     %s, %s\n", k.ID, k.Secret, strings.Join(k.Buckets, ", "), access(k.Key))
				if k.DefaultTTL != "" || k.MaxTTL != "" {
					printf(c.out, "its objects live for %s, at most %s\n", cmp.Or(k.DefaultTTL, "the bucket's default"), cmp.Or(k.MaxTTL, "as long as the bucket allows"))
				}
				_, err = printf(c.out, "The secret is not shown again.\n")
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.ID, "id", "", "the key's `id` (default: random)")
	f.StringSliceVarP(&req.Buckets, "bucket", "b", nil, "a `bucket` that it may use, * for all, @account for those that it makes or is granted; repeatable")
	f.BoolVar(&req.ReadOnly, "read-only", false, "it may read and list, but not write")
	f.BoolVar(&req.Settings, "settings", false, "it may make and delete its buckets and change their settings")
	f.StringVar(&req.Owner, "owner", "", "`account` that it acts for (default: its id)")
	f.StringVar(&req.DefaultTTL, "default-ttl", "", "`ttl` of objects that it writes without one (default: the bucket's)")
	f.StringVar(&req.MaxTTL, "max-ttl", "", "longest `ttl` of what it writes (default: the bucket's)")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) keysSetCommand() *cobra.Command {
	var byDefault, longest string
	cmd := &cobra.Command{
		Use: "set id", Short: "Change how long objects live that a key writes from now on", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change := api.KeyChange{ID: args[0]}
			if cmd.Flags().Changed("default-ttl") {
				change.DefaultTTL = &byDefault
			}
			if cmd.Flags().Changed("max-ttl") {
				change.MaxTTL = &longest
			}
			if change == (api.KeyChange{ID: args[0]}) {
				return usageError("nothing to change: name --default-ttl or --max-ttl, such as --default-ttl 7d")
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				k, err := api.Call[api.Key](cmd.Context(), client, "keys/set", change)
				if err != nil {
					return err
				}
				return c.printKeys([]api.Key{k})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&byDefault, "default-ttl", "", "`ttl` of objects that it writes without one, or none")
	f.StringVar(&longest, "max-ttl", "", "longest `ttl` of what it writes, or none")
	return c.completes(cmd, keyNames)
}

func (c *cli) keysRootCommand() *cobra.Command {
	return &cobra.Command{
		Use: "root", Short: "Show the generated root key in the format of S3 clients", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			conf, err := c.load()
			if err != nil {
				return err
			}
			if conf.Root.AccessKey != "" {
				return fmt.Errorf("the root key is %s, with the secret that is configured (root.secret)", conf.Root.AccessKey)
			}
			if err := app.CheckDataDir(conf.DataDir); err != nil {
				return err
			}
			text, err := os.ReadFile(app.CredentialsPath(conf.DataDir))
			if err != nil {
				return fmt.Errorf("read the root key: %w; \"lethe serve\" makes one", err)
			}
			_, err = c.out.Write(text)
			return err
		},
	}
}

func access(k api.Key) string {
	switch {
	case k.ReadOnly:
		return "read only"
	case k.Settings:
		return "read, write and settings"
	}
	return "read and write"
}

func (c *cli) printKeys(list []api.Key) error {
	rows := [][]string{{"KEY", "OWNER", "ACCESS", "MADE", "DEFAULT TTL", "MAX TTL", "BUCKETS"}}
	for _, k := range list {
		rows = append(rows, []string{k.ID, k.Owner, access(k), stamp(k.CreatedAt),
			cmp.Or(k.DefaultTTL, "-"), cmp.Or(k.MaxTTL, "-"), strings.Join(k.Buckets, ", ")})
	}
	return table(c.out, rows)
}

func (c *cli) keysListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List keys besides the root key, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list, err := api.Call[[]api.Key](cmd.Context(), client, "keys/list", api.None{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				return c.printKeys(list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
