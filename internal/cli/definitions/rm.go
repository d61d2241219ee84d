package definitions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/defedit"
	"github.com/actorswarm/swarm/internal/term"
)

func newAgentsRemove(a *commands) *cobra.Command {
	flags, yes := &agentsFlags{}, false
	c := &cobra.Command{
		Use:     "rm NAME",
		Aliases: []string{"remove"},
		Short:   "Remove a definition of the user or the project",
		Long: `Rm removes the file of a definition. It asks first, unless told --yes. Agents
that run keep the definition they were started with.`,
		ValidArgsFunction: a.completeDefinition,
		RunE: func(c *cobra.Command, args []string) error {
			name, err := oneName(args, "swarm agents rm NAME")
			if err != nil {
				return err
			}
			all, err := a.catalog(flags.options(a))
			if err != nil {
				return err
			}
			return a.removeAgent(all, name, yes)
		},
	}
	flags.add(c)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *commands) removeAgent(all *catalog, name string, yes bool) error {
	e, err := all.find(name)
	if err != nil {
		return err
	}
	if err := defedit.Editable(e.Definition); err != nil {
		return err
	}
	if !yes {
		sure, err := a.Confirm(fmt.Sprintf("remove %s (%s)?", heading(e), all.short(e.Path)))
		if err != nil {
			return err
		}
		if !sure {
			return errors.New("nothing was removed")
		}
	}
	if err := os.Remove(e.Path); err != nil {
		return fmt.Errorf("%s cannot be removed; make its folder writable: %w", e.Path, unwrapped(err))
	}
	if err := a.Print("removed " + term.Clean(e.Path) + "\n"); err != nil {
		return err
	}
	if next, ok := all.next(e); ok {
		a.Notef("%s is from now on the %s one (%s)", e.Name, next.Source, all.short(next.Path))
	}
	return nil
}

// next returns the definition that becomes active when one is removed.
func (c *catalog) next(gone defs.Entry) (next defs.Entry, ok bool) {
	for _, e := range c.entries { // the lowest first
		if e.Status == defs.StatusShadowed && e.Name == gone.Name {
			next, ok = e, true
		}
	}
	return next, ok
}

func unwrapped(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
