package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/internal/config"
)

func (c *cli) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Write, check and show the configuration"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "init", Short: "Write a configuration with every setting, its default and its meaning to standard output", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := io.WriteString(c.out, config.Init())
				return err
			},
		},
		&cobra.Command{
			Use: "validate", Short: "Check file, environment and flags", Args: cobra.NoArgs,
			Long: `Check file, environment and flags. Invalid settings are errors. Likely mistakes are
warnings: an admin listener that others reach without TLS, and environment variables
that set nothing.`,
			RunE: func(*cobra.Command, []string) error {
				conf, err := c.load()
				if err != nil {
					return err
				}
				for _, text := range conf.Warnings() {
					printf(c.err, "warning: %s\n", text)
				}
				for _, name := range config.UnknownEnviron(os.Environ()) {
					printf(c.err, "warning: the environment variable %s sets nothing\n", name)
				}
				_, err = printf(c.out, "the configuration is valid\n")
				return err
			},
		},
		c.configPrintCommand(),
		&cobra.Command{
			Use: "settings [PREFIX]", Short: "List every setting with its type, default, variable and meaning", Args: cobra.MaximumNArgs(1),
			Long: `List every setting with its type, default, environment variable and meaning. PREFIX is
the beginning of names: "lethe config settings cache" lists cache.size, cache.max_value
and cache.ttl.`,
			RunE: func(_ *cobra.Command, args []string) error { return c.listSettings(strings.Join(args, "")) },
		},
	)
	return cmd
}

func (c *cli) configPrintCommand() *cobra.Command {
	var sources bool
	cmd := &cobra.Command{
		Use: "print", Short: "Show the configuration in use, secrets redacted", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			conf, from, err := c.loadWithSources()
			if err != nil {
				return err
			}
			if !sources {
				return conf.Print(c.out)
			}
			values, err := conf.Values(from)
			if err != nil {
				return err
			}
			rows := [][]string{{"SETTING", "FROM", "VALUE"}} // values of lists are long
			for _, v := range values {
				rows = append(rows, []string{v.Path, cmp.Or(v.From, "the default"), strings.Join(strings.Fields(v.Text), " ")})
			}
			return table(c.out, rows)
		},
	}
	cmd.Flags().BoolVar(&sources, "sources", false, "list each setting with its value, and where that comes from")
	return cmd
}

// listSettings lists the keys that begin with prefix, grouped by their
// sections.
func (c *cli) listSettings(prefix string) error {
	var b strings.Builder
	section := ""
	for _, k := range config.Keys() {
		if !strings.HasPrefix(k.Path, prefix) {
			continue
		}
		if k.Section != section && k.Section != "" {
			b.WriteString("# " + strings.ReplaceAll(k.Section, "\n", "\n# ") + "\n\n")
		}
		section = k.Section
		facts := k.Type
		if k.Default != "" {
			facts += ", default " + k.Default
		}
		if k.Env != "" {
			facts += ", " + k.Env
		}
		b.WriteString(k.Path + " (" + facts + ")\n    " + strings.ReplaceAll(k.Doc, "\n", "\n    ") + "\n\n")
	}
	if b.Len() == 0 {
		return &exitError{exitNothing, fmt.Errorf("no setting begins with %q; \"lethe config settings\" lists all of them", prefix)}
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}
