package permissions

import (
	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/internal/cli"
)

// New returns the command permissions with all below it.
func New(console *cli.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "permissions",
		Short: "List, try and change the permission rules",
		Long: `Rules such as Bash(git push:*) or Read(~/.ssh/**) say which calls of agents are
denied, asked about or allowed. They come from settings files, flags, agent
definitions and your answers. The first list with a rule that matches decides:
deny, then ask, then allow.`,
		Example: `  swarm permissions list
  swarm permissions check "Bash(git push)"
  swarm permissions allow "Bash(go test:*)" --scope project`,
	}
	c.AddCommand(newList(console), newCheck(console), newRemove(console))
	for _, list := range []string{"allow", "ask", "deny"} {
		c.AddCommand(newAdd(console, list))
	}
	return c
}

// complete completes the flags that the commands share.
func complete(c *cobra.Command, console *cli.Console, s *selection) {
	cli.CompleteFixed(c)
	cli.CompleteFlag(c, "agent", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return s.agentNames(console), cobra.ShellCompDirectiveNoFileComp
	})
	cli.CompleteFlag(c, "session", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		all, err := console.Sessions().List(s.dir)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return cli.IDs(all), cobra.ShellCompDirectiveNoFileComp
	})
}
