package definitions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"charm.land/huh/v2"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/defedit"
	"github.com/actorswarm/swarm/internal/term"
)

// wizard asks for the seven properties of a definition, one page each. Values of flags are
// filled in already.
func (a *commands) wizard(ctx context.Context, all *catalog, f *newFlags) error {
	w := newAnswers(f)
	plain := a.Getenv("TERM") == "dumb" || a.Getenv("ACCESSIBLE") != ""
	form := huh.NewForm(
		huh.NewGroup(w.name()),
		huh.NewGroup(w.description()),
		huh.NewGroup(w.prompt()),
		huh.NewGroup(w.chooseTools(all)),
		huh.NewGroup(w.model()),
		huh.NewGroup(w.color(a)),
		huh.NewGroup(w.chooseLocation(a, all)),
	).WithInput(a.In).WithOutput(a.Out).WithAccessible(plain)
	err := form.RunWithContext(ctx)
	switch {
	case errors.Is(err, huh.ErrUserAborted):
		return &cli.ExitError{Code: cli.ExitInterrupted, Err: errors.New("nothing was written")}
	case err == nil && !plain && form.State != huh.StateCompleted:
		// A form that SIGTERM ends reports no error.
		return &cli.ExitError{Code: cli.ExitTerminated, Err: errors.New("nothing was written")}
	case err != nil:
		return fmt.Errorf("the form failed and nothing was written; give the answers as flags, see swarm agents new --help: %w", err)
	}
	w.joinTools()
	return nil
}

// answers are the values of the pages.
type answers struct {
	*newFlags
	tools []string
}

const everyTool = "*"

func newAnswers(f *newFlags) *answers {
	w := &answers{newFlags: f, tools: defs.SplitTools(strings.Trim(f.draft.Tools, "[]"))}
	if strings.TrimSpace(f.draft.Tools) == "" {
		w.tools = []string{everyTool}
	}
	w.location = cmp.Or(w.location, "project")
	return w
}

// joinTools turns the chosen tools into a list.
func (w *answers) joinTools() {
	switch {
	case slices.Contains(w.tools, everyTool):
		w.draft.Tools = ""
	case len(w.tools) == 0:
		w.draft.Tools = "[]"
	default:
		w.draft.Tools = strings.Join(w.tools, ", ")
	}
}

func (w *answers) name() huh.Field {
	return huh.NewInput().Title("1/7 Name").
		Description("The type that others call the agent by, such as code-reviewer.").
		Value(&w.draft.Name).Validate(defedit.CheckName)
}

func (w *answers) description() huh.Field {
	return huh.NewText().Title("2/7 Description").
		Description("When to use it. It is all that a model sees to choose: name concrete cases.").
		Lines(4).ExternalEditor(false).Value(&w.draft.Description).
		Validate(func(text string) error {
			_, err := defedit.Draft{Name: "x", Description: text}.Render()
			return err
		})
}

func (w *answers) prompt() huh.Field {
	return huh.NewText().Title("3/7 System prompt").
		Description("What the agent is and how it works. Empty leaves the default prompt.").
		Lines(8).CharLimit(0).ExternalEditor(false).Value(&w.draft.Prompt)
}

func (w *answers) chooseTools(all *catalog) huh.Field {
	options := []huh.Option[string]{huh.NewOption("all tools", everyTool)}
	for _, name := range all.Tools() {
		options = append(options, huh.NewOption(name, name))
	}
	for _, entry := range w.tools { // what flags named, such as Bash(git diff:*)
		if entry != everyTool && !slices.Contains(all.Tools(), entry) {
			options = append(options, huh.NewOption(entry, entry))
		}
	}
	return huh.NewMultiSelect[string]().Title("4/7 Tools").
		Description("Space chooses. With all tools chosen the others do not matter; with nothing chosen it has none.").
		Options(options...).Height(12).Value(&w.tools)
}

func (w *answers) model() huh.Field {
	options := []huh.Option[string]{huh.NewOption("that of its parent", "")}
	for _, alias := range append(defs.ModelAliases(), "inherit") {
		options = append(options, huh.NewOption(alias, alias))
	}
	if m := w.draft.Model; m != "" && m != "inherit" && !slices.Contains(defs.ModelAliases(), m) {
		options = append(options, huh.NewOption(m, m))
	}
	return huh.NewSelect[string]().Title("5/7 Model").
		Description("A full id can be written into the file later.").
		Options(options...).Value(&w.draft.Model).Validate(defedit.CheckModel)
}

func (w *answers) color(a *commands) huh.Field {
	scr := a.Screen()
	options := []huh.Option[string]{huh.NewOption("one that its name gives", "")}
	for _, c := range defs.Colors() {
		options = append(options, huh.NewOption(scr.Paint("●", c)+" "+c, c))
	}
	return huh.NewSelect[string]().Title("6/7 Color").
		Options(options...).Height(12).Value(&w.draft.Color)
}

func (w *answers) chooseLocation(a *commands, all *catalog) huh.Field {
	return huh.NewSelect[string]().Title("7/7 Location").
		Options(
			huh.NewOption("project  "+term.Clean(filepath.Join(all.dir, ".claude", "agents")), "project"),
			huh.NewOption("user  "+term.Clean(all.userDir(a.Getenv)), "user"),
		).Value(&w.location).
		Validate(func(location string) error {
			at := *w.newFlags
			at.location = location
			_, err := all.place(a.Getenv, &at)
			return err
		})
}
