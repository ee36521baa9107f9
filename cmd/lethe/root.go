package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/internal/config"
)

// cli is the state that all commands share.
type cli struct {
	streams
	file     string   // of the configuration
	dataDir  string   // overrides that of the configuration
	settings []string // key=value
	server   string   // URL of an admin API elsewhere; empty for that of the data folder
	token    string   // for the admin API; empty for that of the data folder

	clockWatch *adoption.ClockWatch // of the database of an adopted application
}

// root returns the command with all subcommands.
func (c *cli) root() *cobra.Command {
	io := c.streams
	root := &cobra.Command{
		Use:   "lethe",
		Short: "Store objects, share identical bytes, and forget correctly",
		Long: `Lethe is an S3 store that keeps identical content once, honours a time to live
for each object, and returns the space to the disk.

  lethe serve      starts it, with data in ./lethe-data
  lethe demo       shows in two minutes what it does

  what is wrong right now?           lethe status
  why is it here? when did it go?    lethe explain s3://bucket/key
  what goes tomorrow, and by what?   lethe forecast
  which prefix grows?                lethe usage s3://bucket --sort growth
  what would a rule end?             lethe lifecycle simulate bucket rules.json
  stop it before it acts             lethe hold add s3://bucket/prefix/

Exit codes: 0 done; 1 failed, or something is wrong; 2 the command line is wrong or lacks
--yes, and nothing was done; 3 there is nothing of that name. check, reconcile and import
have 1 for what they find, and 2 if they fail. status has those of monitoring plugins:
1 warning, 2 critical, 3 unknown.`,
		Version:      versionText(),
		SilenceUsage: true, SilenceErrors: true, Args: cobra.ArbitraryArgs,
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	f := root.PersistentFlags()
	f.StringVarP(&c.file, "config", "c", "", "configuration `file` (default: none; every setting has a default)")
	f.StringVar(&c.dataDir, "data-dir", "", "data `folder` (default: that of the configuration, ./lethe-data)")
	f.StringArrayVar(&c.settings, "set", nil, "set a `key=value` of the configuration, such as cache.size=1GiB")
	f.StringVar(&c.server, "server", os.Getenv(serverEnv), "`URL` of the admin API of another server, such as https://lethe.example.org:9003 (default: $"+serverEnv+", else the server or the data folder here)")
	f.StringVar(&c.token, "token", "", "`token` for the admin API; prefer $"+tokenEnv+", because other users can see arguments")
	root.RunE = onlySubcommands
	root.AddCommand(
		c.serveCommand(), c.statusCommand(), c.explainCommand(), c.checkCommand(), c.reclaimCommand(), c.applyCommand(), c.reconcileCommand(), c.importCommand(),
		c.usageCommand(), c.forecastCommand(), c.lsCommand(), c.duCommand(),
		c.cleanupQueueCommand(), c.pendingObjectsCommand(), c.deadCommand(), c.eventsCommand(), c.receiptsCommand(), c.trashCommand(), c.ttlCommand(), c.holdCommand(), c.limitsCommand(), c.bucketsCommand(), c.lifecycleCommand(), c.keysCommand(), c.tokenCommand(), c.auditCommand(), c.backendCommand(), c.clockCommand(),
		c.backupCommand(), c.restoreCommand(), c.ledgerCommand(),
		c.adoptCommand(), c.configCommand(), c.demoCommand(), c.versionCommand(),
	)
	// Before parsing: an unknown flag would take the next argument for its
	// value.
	root.InitDefaultVersionFlag()
	root.InitDefaultHelpFlag()
	strictArgs(root)
	c.completesNames(root)
	for _, group := range root.Commands() {
		if group.HasSubCommands() {
			group.RunE = onlySubcommands
		}
	}
	return root
}

// onlySubcommands is the action of a command that only groups others: cobra
// would print the help of a misspelt one, and succeed.
func onlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usageError("%s; did you mean %s?", text, strings.Join(near, " or "))
	}
	return usageError("%s; %q lists them", text, cmd.CommandPath()+" --help")
}

// load reads file, environment and flags.
func (c *cli) load() (*config.Config, error) {
	conf, _, err := c.loadWithSources()
	return conf, err
}

// loadWithSources also returns where each value comes from.
func (c *cli) loadWithSources() (*config.Config, config.Sources, error) {
	settings := c.settings
	if c.dataDir != "" {
		settings = append(settings[:len(settings):len(settings)], "data_dir="+c.dataDir)
	}
	return config.LoadWithSources(c.file, os.Environ(), settings...)
}
