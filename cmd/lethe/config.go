package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/internal/config"
)

func (c *cli) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Write, check and show the configuration"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "init", Short: "Write a file with every key, its default and its meaning to standard output", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := io.WriteString(c.out, config.Init())
				return err
			},
		},
		&cobra.Command{
			Use: "validate", Short: "Check file, environment and flags", Args: cobra.NoArgs,
			Long: `Check file, environment and flags. What is wrong is an error; what is allowed and
likely a mistake is warned of: an admin listener that others reach without TLS,
and variables of the environment that set nothing.`,
			RunE: func(*cobra.Command, []string) error {
				conf, err := c.load()
				if err != nil {
					return err
				}
				for _, text := range conf.Warnings() {
					printf(c.err, "warning: %s\n", text)
				}
				for _, name := range config.UnknownEnviron(os.Environ()) {
					printf(c.err, "warning: the variable %s sets nothing\n", name)
				}
				_, err = printf(c.out, "the configuration is valid\n")
				return err
			},
		},
		&cobra.Command{
			Use: "print", Short: "Show the configuration in use, secrets redacted", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				conf, err := c.load()
				if err != nil {
					return err
				}
				return conf.Print(c.out)
			},
		},
	)
	return cmd
}
