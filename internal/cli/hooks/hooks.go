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

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/spelling"
	"github.com/actorswarm/swarm/internal/syntaxerr"
	"github.com/actorswarm/swarm/internal/term"
)

// New returns the command hooks with all below it.
func New(console *cli.Console) *cobra.Command {
	s := &selection{Console: console}
	c := &cobra.Command{
		Use:   "hooks",
		Short: "List and try the hooks of settings files and agent definitions",
		Long: `A hook is a command or a URL that settings files name for an event, such as
PreToolUse. An agent's definition can name more, which run for that agent only.
Hooks of a directory are in force after: swarm trust`,
		Example: `  swarm hooks list
  swarm hooks list --agent reviewer
  swarm hooks test PreToolUse --input call.json`,
	}
	c.PersistentFlags().StringVar(&s.dir, "dir", "", "the `directory` whose hooks are meant (default: the working directory)")
	c.PersistentFlags().StringVar(&s.agent, "agent", "", "the agent `definition` whose hooks are added")
	c.AddCommand(newList(s), newTest(s))
	for _, sub := range c.Commands() {
		cli.CompleteFixed(sub)
	}
	return c
}

// selection is what the hooks of a command are taken from.
type selection struct {
	*cli.Console
	dir, agent string
}

// hooks returns the hooks of the settings files, and those of the agent's definition.
func (s *selection) hooks() (*hook.Set, node.Config, error) {
	config, err := configOf(s.Console, s.dir)
	if err != nil {
		return nil, config, err
	}
	noteUnread(s.Console, config.Sources())
	if s.agent == "" {
		return config.Hooks(), config, nil
	}
	all, err := defs.Load(config.Sources())
	if err != nil {
		return nil, config, err
	}
	d, ok := all.Lookup(s.agent)
	if !ok {
		return nil, config, cli.Usagef("there is no agent %q; see them with: swarm agents list", s.agent)
	}
	own := config.OwnHooks(d)
	if own.Untrusted {
		s.Notef("%s: its hooks do not run, as the directory is not trusted; see them with: swarm trust", own.Path)
	}
	for _, problem := range hook.CheckDefinition(own.Hooks) {
		s.Notef("%s: %s", own.Path, problem)
	}
	return config.Hooks().With(own), config, nil
}

func newList(s *selection) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the hooks in force, and why others are not",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := errors.Join(cli.CheckFormat(format), cli.NoMoreArgs(args, 0, "swarm hooks list")); err != nil {
				return err
			}
			set, config, err := s.hooks()
			if err != nil {
				return err
			}
			all := set.List()
			for _, problem := range config.HookProblems() {
				s.Notef("%s", problem)
			}
			if format == "json" {
				return s.PrintJSON(all)
			}
			return s.Print(listText(all))
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

func newTest(s *selection) *cobra.Command {
	var input string
	c := &cobra.Command{
		Use:   "test EVENT",
		Short: "Run the hooks of an event on an input and show what they say",
		Long: `Test runs the hooks that are in force for an event. The input is a JSON object,
such as {"tool_name": "Bash", "tool_input": {"command": "ls"}}, from a file or
from standard input. Hooks with an "if" rule do not run here. The exit status is
1 if a hook blocks.`,
		Example: `  swarm hooks test PreToolUse --input call.json
  echo '{"tool_name": "Bash"}' | swarm hooks test PreToolUse`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name an event and its input: swarm hooks test EVENT --input FILE")
			}
			if _, known := hook.FindEvent(args[0]); !known {
				return cli.Usagef("there is no event %q%s", args[0], spelling.DidYouMean(args[0], "", hook.EventNames()))
			}
			fields, err := s.readInput(input)
			if err != nil {
				return err
			}
			return s.test(c.Context(), args[0], fields)
		},
	}
	c.Flags().StringVar(&input, "input", "", "the `file` with the input of the event; - or none is standard input")
	return c
}

// readInput reads the input of an event from a file, or from standard input.
func (s *selection) readInput(path string) (fields map[string]any, err error) {
	raw, name, err := s.inputText(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("%s must hold one JSON object: %w", name, syntaxerr.JSON(raw, err))
	}
	return fields, nil
}

func (s *selection) inputText(path string) (raw []byte, name string, err error) {
	if path != "" && path != "-" {
		raw, err = os.ReadFile(path)
		return raw, path, err
	}
	text, err := s.ReadInput()
	if err == nil && text == "" {
		err = cli.Usagef("there is no input: name a file with --input FILE, or write it to standard input")
	}
	return []byte(text), "standard input", err
}

// test runs the hooks of an event.
func (s *selection) test(ctx context.Context, event string, fields map[string]any) error {
	set, config, err := s.hooks()
	if err != nil {
		return err
	}
	out := set.Run(ctx, hook.Call{
		Event: event, Subject: subjectOf(fields), Input: fields, Dir: config.Dir, Getenv: s.Getenv, Place: config.HookPlace(""),
		Env: append(childenv.Of(s.Getenv, nil), "CLAUDE_PROJECT_DIR="+config.Dir),
	})
	if len(out) == 0 {
		return s.Print("no hook runs\n")
	}
	blocked := false
	for _, o := range out {
		_, b := o.Blocked()
		blocked = blocked || b
		if err := s.Print(outcomeText(o)); err != nil {
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
