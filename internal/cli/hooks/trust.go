package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/mcpconfig"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/internal/trust"
	"github.com/actorswarm/swarm/tool/builtin"
)

// NewTrust returns the command trust.
func NewTrust(console *cli.Console) *cobra.Command {
	var yes, revoke bool
	c := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Let the settings of a directory run and allow what they name",
		Long: `Settings files and agent definitions of a directory can name commands that
swarm runs, as hooks, and permission rules that allow calls. Neither counts
before you have trusted the directory. Trust shows what would run or be allowed
and asks; a change of it is not trusted until you do so again.`,
		Example: `  swarm trust            the working directory
  swarm trust --yes DIR  without being asked, as in CI
  swarm trust --revoke   not any more`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cli.NoMoreArgs(args, 1, "swarm trust [DIR]"); err != nil {
				return err
			}
			dir := cmp.Or(cli.Arg(args, 0), ".")
			if revoke {
				return revokeTrust(console, dir)
			}
			return trustDir(console, dir, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "trust it without being asked")
	c.Flags().BoolVar(&revoke, "revoke", false, "withdraw the trust in the directory")
	return c
}

// TrustDirs trusts directories with what they would run now, but for the MCP servers of
// .mcp.json: --mcp-config names those that are meant.
func TrustDirs(console *cli.Console, dirs []string) error {
	for _, dir := range dirs {
		items, _, err := itemsOf(console, dir)
		if err != nil {
			return err
		}
		store, err := storeOf(console)
		if err != nil {
			return err
		}
		// Servers of a change that is under test are no part of what CI means to run.
		items = slices.DeleteFunc(items, func(i trust.Item) bool { return mcpconfig.IsItem(i) && !store.Trusts(i) })
		if err := record(console, items); err != nil {
			return err
		}
	}
	return nil
}

// trustDir shows what a directory would run and records that it is trusted if the
// person says so.
func trustDir(console *cli.Console, dir string, yes bool) error {
	config, err := configOf(console, dir)
	if err != nil {
		return err
	}
	noteUnread(console, config.Sources())
	items, dir, err := itemsOf(console, dir)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return console.Print(fmt.Sprintf("%s runs and allows nothing that needs trust\n", term.Clean(dir)))
	}
	if err := console.Print(describe(items)); err != nil {
		return err
	}
	if !yes {
		sure, err := console.Confirm("let swarm do this?")
		if err != nil {
			return err
		}
		if !sure {
			return errors.New("nothing is trusted that was not before")
		}
	}
	return record(console, items)
}

// AskTrust asks the person at the terminal, before a session starts in a directory, about
// what it would run or allow. The answer is on record, so that nobody is asked twice about
// the same text. What keeps it from being asked is reported by the start of the session.
func AskTrust(console *cli.Console, dir string) error {
	items, _, err := itemsOf(console, dir)
	if err != nil {
		return nil
	}
	store, err := storeOf(console)
	if err != nil {
		return nil // an agent has started this process
	}
	items = slices.DeleteFunc(items, store.Declined)
	open := slices.DeleteFunc(slices.Clone(items), store.Trusts)
	if len(open) == 0 {
		return nil
	}
	if err := cli.Fprint(console.Err, describe(open)); err != nil {
		return err
	}
	sure, err := console.Confirm("let swarm do this? You are asked once; swarm trust changes the answer.")
	if err != nil {
		return err
	}
	if sure {
		return record(console, items)
	}
	for dir, declined := range byDir(open) {
		if err := store.Decline(dir, declined); err != nil {
			return err
		}
	}
	return nil
}

// byDir returns items by their directories.
func byDir(items []trust.Item) map[string][]trust.Item {
	all := map[string][]trust.Item{}
	for _, i := range items {
		all[i.Dir] = append(all[i.Dir], i)
	}
	return all
}

// describe shows items by directory, each with the text that would run.
func describe(items []trust.Item) string {
	var b strings.Builder
	dir := ""
	for _, i := range items {
		if i.Dir != dir {
			dir = i.Dir
			fmt.Fprintf(&b, "%s would run or allow:\n", term.Clean(dir))
		}
		fmt.Fprintf(&b, "  %s\n    %s\n", term.Clean(i.Name), term.Clean(i.Text))
	}
	return b.String()
}

// itemsOf returns what a directory, and those above it in its repository, would run.
func itemsOf(console *cli.Console, dir string) (items []trust.Item, abs string, err error) {
	sources, abs, err := sourcesOf(console, dir)
	if err != nil {
		return nil, "", err
	}
	set, err := defs.Load(sources)
	if err != nil {
		return nil, "", err
	}
	items, err = settings.Items(sources, set)
	items = append(items, mcpconfig.Items(sources)...)
	slices.SortStableFunc(items, func(a, b trust.Item) int { return cmp.Compare(a.Dir, b.Dir) })
	return items, abs, err
}

// noteUnread names the settings files that cannot be read: what they would run is not known.
func noteUnread(console *cli.Console, from defs.Options) {
	_, problems, err := defs.ReadSettings(from)
	for _, p := range problems {
		if p.Fatal {
			console.Notef("%s", p)
		}
	}
	if err != nil {
		console.Notef("%v", err)
	}
}

// sourcesOf returns where the settings of a directory come from.
func sourcesOf(console *cli.Console, dir string) (from defs.Options, abs string, err error) {
	c, err := configOf(console, dir)
	return c.Sources(), c.Dir, err
}

func configOf(console *cli.Console, dir string) (c node.Config, err error) {
	state, abs, err := console.Sessions().Directories(dir)
	if err != nil {
		return c, err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return c, cli.Usagef("%s is not a directory", abs)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return c, fmt.Errorf("find the home directory; set HOME: %w", err)
	}
	return node.Config{Dir: abs, StateDir: state, Home: home, Getenv: console.Getenv}, nil
}

// record records items, directory by directory.
func record(console *cli.Console, items []trust.Item) error {
	store, err := storeOf(console)
	if err != nil {
		return err
	}
	all := byDir(items)
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if err := store.Add(dir, all[dir]); err != nil {
			return err
		}
		console.Notef("%s is trusted with what it runs now", dir)
	}
	return nil
}

func revokeTrust(console *cli.Console, dir string) error {
	store, err := storeOf(console)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := store.Remove(abs); err != nil {
		return err
	}
	return console.Print(term.Clean(abs) + " is not trusted\n")
}

// storeOf opens the record of trusted directories, for a person: a process that an
// agent has started may not change it.
func storeOf(console *cli.Console) (*trust.Store, error) {
	marks, err := builtin.MarksOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	if len(marks) > 0 {
		return nil, errors.New("only a person trusts a directory, and this process was started by an agent")
	}
	state, err := console.Sessions().StateDir()
	return trust.Open(state), err
}
