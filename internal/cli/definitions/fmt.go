package definitions

import (
	"bytes"
	"errors"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/defedit"
	"github.com/actorswarm/swarm/internal/term"
)

func newAgentsFormat(a *commands) *cobra.Command {
	flags, check := &agentsFlags{}, false
	c := &cobra.Command{
		Use:   "fmt [PATH…]",
		Short: "Write the frontmatter of definitions in one form",
		Long: `Fmt puts the fields in their usual order, spells their names as documented and
quotes what needs it. The body stays as it is, byte for byte, and so do comments
and unknown fields. Without a path it is about the files of user and project.
The changed files are printed.`,
		RunE: func(c *cobra.Command, args []string) error {
			files, err := a.formatted(flags, args)
			if err != nil {
				return err
			}
			return a.formatAgents(files, check)
		},
	}
	flags.add(c)
	c.Flags().BoolVar(&check, "check", false, "change nothing; exit with 1 if a file would change")
	return c
}

// source is a file to format.
type source struct {
	path  string
	from  defs.Source
	named bool // by the user, not found in a folder
}

// formatted lists the files to format.
func (a *commands) formatted(flags *agentsFlags, paths []string) ([]source, error) {
	var all []source
	for _, path := range paths {
		files, err := defedit.Files(path)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			all = append(all, source{f, defs.Project, f == path})
		}
	}
	if len(paths) > 0 {
		return all, nil
	}
	found, err := a.catalog(flags.options(a))
	if err != nil {
		return nil, err
	}
	for _, e := range found.entries {
		if defedit.Editable(e.Definition) == nil {
			all = append(all, source{e.Path, e.Source, true})
		}
	}
	return all, nil
}

// formatAgents continues after a file that cannot be formatted.
func (a *commands) formatAgents(files []source, check bool) error {
	failed, changed := 0, 0
	for _, f := range files {
		done, err := format(f, check)
		if err != nil {
			failed++
			a.Notef("swarm: %s", cli.OneLine(err.Error()))
			continue
		}
		if done {
			changed++
			if err := a.Print(term.Clean(f.path) + "\n"); err != nil {
				return err
			}
		}
	}
	if failed > 0 || check && changed > 0 {
		return &cli.ExitError{Code: cli.ExitFailed}
	}
	return nil
}

// format rewrites one file and reports whether it was changed, or would be.
func format(f source, check bool) (changed bool, err error) {
	src, err := defs.ReadFile(f.path)
	if err != nil {
		return false, err
	}
	out, err := defedit.Format(f.path, src, f.from)
	if errors.Is(err, defs.ErrNotAgent) && !f.named {
		return false, nil // documentation beside the agents
	}
	if err != nil || bytes.Equal(src, out) || check {
		return err == nil && !bytes.Equal(src, out), err
	}
	return true, defedit.Write(f.path, out, true)
}
