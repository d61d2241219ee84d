package definitions

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/shell"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/defedit"
	"github.com/actorswarm/swarm/internal/term"
)

func newAgentsEdit(a *commands) *cobra.Command {
	flags := &agentsFlags{}
	c := &cobra.Command{
		Use:   "edit NAME",
		Short: "Edit a definition of the user or the project",
		Long: `Edit opens the file in VISUAL or EDITOR and checks it afterwards. The value may
have arguments, such as "code --wait"; no shell reads it. A definition that could
not be loaded is found by the name of its file.`,
		ValidArgsFunction: a.completeDefinition,
		RunE: func(c *cobra.Command, args []string) error {
			name, err := oneName(args, "swarm agents edit NAME")
			if err != nil {
				return err
			}
			all, err := a.catalog(flags.options(a))
			if err != nil {
				return err
			}
			return a.editAgent(c.Context(), all, name)
		},
	}
	flags.add(c)
	return c
}

func (a *commands) editAgent(ctx context.Context, all *catalog, name string) error {
	e, err := all.find(name)
	if err != nil {
		return err
	}
	if err := defedit.Editable(e.Definition); err != nil {
		return err
	}
	argv, err := a.editor()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], e.Path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %q failed, and %s is as it left it; set VISUAL or EDITOR to another: %w", strings.Join(argv, " "), all.short(e.Path), err)
	}
	report, err := defedit.Lint([]string{e.Path}, a.checks(all.dir))
	if err != nil {
		return err
	}
	a.printFindings(report, all)
	if report.Errors > 0 {
		return &cli.ExitError{Code: cli.ExitFailed}
	}
	return nil
}

func (a *commands) printFindings(r defedit.Report, all *catalog) {
	for line := range strings.Lines(findings(r.Findings, all.short)) {
		a.Notef("%s", strings.TrimRight(line, "\n"))
	}
}

// editor returns the command of the person's editor.
func (a *commands) editor() ([]string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if a.Getenv(name) == "" {
			continue
		}
		argv, err := splitWords(a.Getenv(name))
		if err != nil {
			return nil, fmt.Errorf("%s is %q, which %w; correct it", name, a.Getenv(name), err)
		}
		if len(argv) > 0 {
			return argv, nil
		}
	}
	if _, terminal := term.Columns(a.In); !terminal {
		return nil, cli.Usagef("there is no terminal to edit on; set EDITOR to a program that needs none")
	}
	for _, name := range []string{"sensible-editor", "nano", "vi"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, errors.New("there is no editor; set EDITOR to one, such as EDITOR=nano")
}

// splitWords splits a command into words, quoted as in a shell. Variables stay unexpanded,
// and syntax that only a shell could run is an error.
func splitWords(text string) ([]string, error) {
	words, err := shell.Fields(text, func(name string) string {
		if name == "IFS" { // the value of a variable is not split
			return ""
		}
		return "$" + name
	})
	if err != nil || strings.HasSuffix(text, `\`) {
		return nil, errors.New("is not a program with its arguments")
	}
	return words, nil
}
