package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/term"
)

// New returns the command hooks with all below it.
func New(console *cli.Console) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "hooks",
		Short: "List and try the hooks of settings files",
		Long: `A hook is a command or a URL that settings files name for an event, such as
PreToolUse. Hooks of a directory are in force after: swarm trust`,
		Example: `  swarm hooks list
  swarm hooks test PreToolUse --input call.json`,
	}
	c.PersistentFlags().StringVar(&dir, "dir", "", "the `directory` whose hooks are meant (default: the working directory)")
	c.AddCommand(newList(console, &dir), newTest(console, &dir))
	for _, sub := range c.Commands() {
		cli.CompleteFixed(sub)
	}
	return c
}

func newList(console *cli.Console, dir *string) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the hooks in force, and why others are not",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := errors.Join(cli.CheckFormat(format), cli.NoMoreArgs(args, 0, "swarm hooks list")); err != nil {
				return err
			}
			config, err := configOf(console, *dir)
			if err != nil {
				return err
			}
			all := config.Hooks().List()
			for _, problem := range config.HookProblems() {
				console.Notef("%s", problem)
			}
			if format == "json" {
				return console.PrintJSON(all)
			}
			return console.Print(listText(all))
		},
	}
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func listText(all []hook.Listed) string {
	if len(all) == 0 {
		return "no hook is in force\n"
	}
	var b strings.Builder
	for _, l := range all {
		fmt.Fprintf(&b, "%s %s  %s", l.Event, cmp.Or(term.Clean(l.Matcher), "*"), term.Clean(l.Command))
		if l.If != "" {
			fmt.Fprintf(&b, "  if %s", term.Clean(l.If))
		}
		fmt.Fprintf(&b, "\n  %s\n", term.Clean(l.Source))
		if l.Fault != "" {
			fmt.Fprintf(&b, "  does not run: %s\n", term.Clean(l.Fault))
		}
	}
	return b.String()
}

func newTest(console *cli.Console, dir *string) *cobra.Command {
	var input string
	c := &cobra.Command{
		Use:   "test EVENT",
		Short: "Run the hooks of an event on an input and show what they say",
		Long: `Test runs the hooks that are in force for an event. The input is a JSON object,
such as {"tool_name": "Bash", "tool_input": {"command": "ls"}}. Hooks with an
"if" rule do not run here. The exit status is 1 if a hook blocks.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || input == "" {
				return cli.Usagef("name an event and the file of its input: swarm hooks test EVENT --input FILE")
			}
			if _, known := hook.FindEvent(args[0]); !known {
				return cli.Usagef("there is no event %q", args[0])
			}
			fields, err := readInput(input)
			if err != nil {
				return err
			}
			return test(c.Context(), console, *dir, args[0], fields)
		},
	}
	c.Flags().StringVar(&input, "input", "", "the `file` with the input of the event")
	return c
}

func readInput(path string) (fields map[string]any, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("%s must hold one JSON object: %w", path, err)
	}
	return fields, nil
}

// test runs the hooks of an event.
func test(ctx context.Context, console *cli.Console, dir, event string, fields map[string]any) error {
	config, err := configOf(console, dir)
	if err != nil {
		return err
	}
	out := config.Hooks().Run(ctx, hook.Call{
		Event: event, Subject: subjectOf(fields), Input: fields, Dir: config.Dir, Getenv: console.Getenv, Place: config.HookPlace(""),
		Env: append(childenv.Of(console.Getenv, nil), "CLAUDE_PROJECT_DIR="+config.Dir),
	})
	if len(out) == 0 {
		return console.Print("no hook runs\n")
	}
	blocked := false
	for _, o := range out {
		_, b := o.Blocked()
		blocked = blocked || b
		if err := console.Print(outcomeText(o)); err != nil {
			return err
		}
	}
	if blocked {
		return errors.New("a hook blocks the event")
	}
	return nil
}

// subjectOf is what matchers are compared with.
func subjectOf(fields map[string]any) string {
	for _, key := range []string{"tool_name", "source", "reason", "trigger", "notification_type", "agent_type"} {
		if text, ok := fields[key].(string); ok {
			return text
		}
	}
	return ""
}

func outcomeText(o hook.Outcome) string {
	text := fmt.Sprintf("%s (%s): ", o.Command, o.Source)
	why, blocked := o.Blocked()
	switch {
	case blocked:
		text += "blocks: " + why
	case o.Failure() != nil:
		text += o.Failure().Error()
	default:
		text += "success"
	}
	if out := strings.TrimSpace(o.Stdout); out != "" {
		text += "; it printed: " + out
	}
	return term.Clean(text) + "\n"
}
