package main

import (
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/spf13/cobra"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cli.NoMoreArgs(args, 0, "swarm version"); err != nil {
				return err
			}
			return a.Print(cli.VersionText() + "\n")
		},
	}
}
