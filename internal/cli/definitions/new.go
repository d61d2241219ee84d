package definitions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/defedit"
	"github.com/actorswarm/swarm/internal/term"
)

// newFlags are the seven properties of a new agent.
type newFlags struct {
	dir        string
	draft      defedit.Draft
	promptFile string
	location   string
	force      bool
}

func newAgentsNew(a *commands) *cobra.Command {
	flags := &newFlags{}
	c := &cobra.Command{
		Use:   "new",
		Short: "Define a new agent",
		Long: `New asks on the terminal, step by step, for a name, a description, a system
prompt, tools, a model, a color and a location, and writes the file. With --name
and --description nothing is asked. A file that exists is replaced only with
--force.`,
		Example: `  swarm agents new
  swarm agents new --name reviewer --description "Use after each change." --tools "Read, Grep" --prompt-file reviewer.txt`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.NoMoreArgs(args, 0, "swarm agents new"); err != nil {
				return err
			}
			return a.newAgent(c.Context(), flags, c.Flags().Changed("prompt"))
		},
	}
	flags.add(c)
	cli.CompleteFlag(c, "color", cobra.FixedCompletions(defs.Colors(), cobra.ShellCompDirectiveNoFileComp))
	cli.CompleteFlag(c, "location", cobra.FixedCompletions([]string{"project", "user"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (f *newFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.dir, "dir", "", "the directory of the project (default: the working directory)")
	fs.StringVar(&f.draft.Name, "name", "", "the type that others call it by")
	fs.StringVar(&f.draft.Description, "description", "", "when to use it")
	fs.StringVar(&f.draft.Prompt, "prompt", "", "the system prompt")
	fs.StringVar(&f.promptFile, "prompt-file", "", "a file with the system prompt; - is standard input")
	fs.StringVar(&f.draft.Tools, "tools", "", `its tools, such as "Read, Grep"; * is all and [] none (default: all)`)
	fs.StringVar(&f.draft.Model, "model", "", "an alias, an id or inherit (default: that of its parent)")
	fs.StringVar(&f.draft.Color, "color", "", "one of: "+strings.Join(defs.Colors(), ", "))
	fs.StringVar(&f.location, "location", "", "project (.claude/agents, the default) or user (~/.claude/agents)")
	fs.BoolVar(&f.force, "force", false, "replace a file that exists")
}

func (a *commands) newAgent(ctx context.Context, f *newFlags, promptGiven bool) error {
	if f.location != "" && f.location != "project" && f.location != "user" {
		return cli.Usagef("unknown --location %q; use project or user", f.location)
	}
	if promptGiven && f.promptFile != "" {
		return cli.Usagef("--prompt and --prompt-file exclude each other; give one of them")
	}
	all, err := a.catalog(swarm.Options{Dir: f.dir, Getenv: a.Getenv})
	if err != nil {
		return err
	}
	if f.promptFile != "" {
		if f.draft.Prompt, err = a.readPrompt(f.promptFile); err != nil {
			return err
		}
	}
	if f.draft.Name == "" || f.draft.Description == "" {
		if err := a.askForAgent(ctx, all, f); err != nil {
			return err
		}
	}
	return a.writeAgent(all, f)
}

// askForAgent asks for missing properties on the terminal, if there is one.
func (a *commands) askForAgent(ctx context.Context, all *catalog, f *newFlags) error {
	_, in := term.Columns(a.In)
	_, out := term.Columns(a.Out)
	if !in || !out {
		return cli.Usagef("there is no terminal to ask on; give at least --name and --description")
	}
	return a.wizard(ctx, all, f)
}

func (a *commands) readPrompt(path string) (string, error) {
	in := a.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", cli.Usagef("--prompt-file cannot be read: %w", err)
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, defs.MaxFileSize+1))
	if err == nil && len(raw) > defs.MaxFileSize {
		return "", cli.Usagef("--prompt-file holds more than %d MB; shorten it", defs.MaxFileSize>>20)
	}
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	return string(raw), nil
}

func (a *commands) writeAgent(all *catalog, f *newFlags) error {
	src, err := f.draft.Render()
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	path, err := all.place(a.Getenv, f)
	if err != nil {
		return err
	}
	err = defedit.Write(path, src, f.force)
	var exists *defedit.ExistsError
	if errors.As(err, &exists) {
		return fmt.Errorf("%w; edit it with swarm agents edit %s, choose another --name, or replace it with --force", err, f.draft.Name)
	}
	if err != nil {
		return err
	}
	a.warnAboutNew(all, f, path)
	return a.Print(term.Clean(path) + "\n")
}

// place returns the file for a new agent: the existing file of an agent with that name in
// the same source, or a new one.
func (c *catalog) place(env func(string) string, f *newFlags) (string, error) {
	from, dir := defs.Project, filepath.Join(c.dir, ".claude", "agents")
	if f.location == "user" {
		from, dir = defs.User, c.userDir(env)
	}
	name := strings.TrimSpace(f.draft.Name)
	for _, e := range c.entries {
		if e.Source != from || e.Name != name || filepath.Dir(e.Path) != dir {
			continue
		}
		if !f.force {
			return "", fmt.Errorf("agent %q is already defined in %s; edit it with swarm agents edit %s, choose another --name, or replace it with --force", name, c.short(e.Path), name)
		}
		return e.Path, nil
	}
	return filepath.Join(dir, defedit.FileName(name)), nil
}

func (c *catalog) userDir(env func(string) string) string {
	if dir := env("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, "agents")
	}
	return filepath.Join(c.home, ".claude", "agents")
}

// warnAboutNew prints warnings about the new agent.
func (a *commands) warnAboutNew(all *catalog, f *newFlags, path string) {
	for _, entry := range defedit.UnknownTools(f.draft.Tools, all.Tools()) {
		a.Notef("warning: no tool here is called %s; the tools are: %s", entry, strings.Join(all.Tools(), ", "))
	}
	from := defs.Project
	if f.location == "user" {
		from = defs.User
	}
	d, ok := all.Definitions().Lookup(strings.TrimSpace(f.draft.Name))
	switch {
	case !ok || d.Name != strings.TrimSpace(f.draft.Name) || d.Path == path:
	case d.Source > from:
		a.Notef("warning: the %s agent of that name (%s) is used instead", d.Source, all.short(d.Path))
	default:
		a.Notef("it takes the place of the %s agent of that name (%s)", d.Source, all.short(d.Path))
	}
}
