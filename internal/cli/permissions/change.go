package permissions

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/tool/builtin"
)

// effects describes what the rules of each list do.
var effects = map[string]string{
	"allow": "let calls run without a question",
	"ask":   "have you asked about calls",
	"deny":  "deny calls, in every mode",
}

// changeFlags select the file to change.
type changeFlags struct {
	selection
	scope string
}

func (f *changeFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "dir", "", "the `directory` of the project (default: the working directory)")
	c.Flags().StringVar(&f.scope, "scope", string(settings.LocalScope), "the settings `file`: local, project or user")
	cli.CompleteFlag(c, "scope", cobra.FixedCompletions(settings.Scopes(), cobra.ShellCompDirectiveNoFileComp))
}

// newAdd returns the command that adds rules to a list.
func newAdd(console *cli.Console, list string) *cobra.Command {
	var f changeFlags
	c := &cobra.Command{
		Use:   list + " RULE…",
		Short: "Add rules that " + effects[list],
		Long: `The rules are added to a settings file: .claude/settings.local.json of the
project, .claude/settings.json of the project, which others share, or that of
your home. What else the file holds stays as it is. A running session obeys the
change at the next call.`,
		Example: fmt.Sprintf(`  swarm permissions %[1]s "Bash(git push:*)"
  swarm permissions %[1]s "Read(~/notes/**)" --scope user`, list),
		RunE: func(_ *cobra.Command, args []string) error {
			o, rules, err := f.parse(console, args)
			if err != nil {
				return err
			}
			for _, rule := range rules {
				if err := f.save(console, o, list, rule); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f.add(c)
	return c
}

func newRemove(console *cli.Console) *cobra.Command {
	var f changeFlags
	c := &cobra.Command{
		Use:   "remove RULE…",
		Short: "Remove rules from a settings file",
		Long: `Remove takes rules out of all lists of a settings file. What else the file holds
stays as it is.`,
		Example: `  swarm permissions remove "Bash(git push:*)"`,
		RunE: func(_ *cobra.Command, args []string) error {
			o, rules, err := f.parse(console, args)
			if err != nil {
				return err
			}
			for _, rule := range rules {
				if err := f.remove(console, o, rule); err != nil {
					return err
				}
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return f.ruleNames(console), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.add(c)
	return c
}

// parse checks who runs the command, and parses the rules.
func (f *changeFlags) parse(console *cli.Console, args []string) (*subject, []permission.Rule, error) {
	marks, err := builtin.MarksOf(os.Getpid())
	if err != nil {
		return nil, nil, err
	}
	if len(marks) > 0 || console.Getenv("SWARM_AGENT") != "" {
		return nil, nil, errors.New("only a person changes rules, and this process was started by an agent")
	}
	if !slices.Contains(settings.Scopes(), f.scope) {
		return nil, nil, cli.Usagef("there is no scope %q; use %s", f.scope, strings.Join(settings.Scopes(), ", "))
	}
	o, err := f.load(console)
	if err != nil {
		return nil, nil, err
	}
	rules, err := o.parseRules(args)
	return o, rules, err
}

// parseRules parses rules: each argument one or several, as the value of --allowedTools, or
// all together the words of one, as in Bash git push.
func (o *subject) parseRules(args []string) (rules []permission.Rule, err error) {
	for _, text := range cli.SplitRules(args) {
		rule, err := permission.ParseRule(text)
		if err != nil || o.checkTool(rule.Tool) != nil {
			rules = nil
			break
		}
		rules = append(rules, rule)
	}
	if len(rules) == 0 {
		tool, text, err := splitRule(args)
		if err != nil {
			return nil, err
		}
		if err := o.checkTool(tool); err != nil {
			return nil, err
		}
		rules = []permission.Rule{{Tool: tool, Specifier: text}}
	}
	return rules, nil
}

// save adds one rule to a list.
func (f *changeFlags) save(console *cli.Console, o *subject, list string, rule permission.Rule) error {
	if flaw := rule.Flaw(behaviorOf(list), node.AllToolNames()); flaw != "" {
		return cli.Usagef("%s; nothing is changed", flaw)
	}
	file, err := settings.RuleFile(o.sources, settings.Scope(f.scope))
	if err != nil {
		return err
	}
	for _, l := range o.written() {
		if l.Kind == list && l.Rule == rule.String() && strings.HasPrefix(l.From, file.Path()+":") {
			return console.Print(fmt.Sprintf("%s %s is there already: %s\n", list, term.Clean(l.Rule), term.Clean(l.From)))
		}
	}
	place, err := settings.Save(o.sources, o.store, settings.Scope(f.scope), list, rule)
	if err != nil {
		return err
	}
	if err := console.Print(fmt.Sprintf("%s %s: %s\n", list, term.Clean(rule.String()), term.Clean(place))); err != nil {
		return err
	}
	return f.warn(console, list, rule, place)
}

func behaviorOf(list string) permission.Behavior {
	switch list {
	case "allow":
		return permission.Allow
	case "ask":
		return permission.Ask
	}
	return permission.Deny
}

// warn reports why a rule that was saved is not in force, or has no effect.
func (f *changeFlags) warn(console *cli.Console, list string, rule permission.Rule, place string) error {
	o, err := f.load(console)
	if err != nil {
		return err
	}
	for _, left := range o.rules.Settings().LeftOut {
		if left.From == place && list == "allow" {
			console.Notef("warning: it is left out %s", left.Why)
		}
	}
	for _, l := range o.rules.List() {
		if l.Rule == rule.String() && behaviorOf(l.Kind) < behaviorOf(list) {
			console.Notef("warning: it has no effect, as this goes before it: %s %s (%s)", l.Kind, l.Rule, l.From)
		}
	}
	return nil
}

// remove removes one rule.
func (f *changeFlags) remove(console *cli.Console, o *subject, rule permission.Rule) error {
	path, n, err := settings.Remove(o.sources, o.store, settings.Scope(f.scope), rule)
	switch {
	case err != nil:
		return err
	case n > 0:
		if f.scope != string(settings.UserScope) && o.restricts(rule) {
			console.Notef("a session that runs now keeps a rule of a project that denies or asks until it is opened again")
		}
		return console.Print(fmt.Sprintf("removed %s: %s\n", term.Clean(rule.String()), term.Clean(path)))
	}
	for _, l := range o.written() {
		if l.Rule == rule.String() {
			return fmt.Errorf("%s has no rule %s; it stands in %s, which --scope may name", path, l.Rule, l.From)
		}
	}
	return fmt.Errorf("%s has no rule %s; the rules are listed by: swarm permissions list", path, rule)
}

// restricts reports whether a rule denied or asked.
func (o *subject) restricts(rule permission.Rule) bool {
	return slices.ContainsFunc(o.rules.List(), func(l node.Listed) bool { return l.Kind != "allow" && l.Rule == rule.String() })
}

// written returns the rules of all files, in force or not.
func (o *subject) written() []node.Listed {
	all := o.rules.List()
	for _, left := range o.rules.Settings().LeftOut {
		all = append(all, node.Listed{Kind: left.Kind, Rule: left.Text, From: left.From})
	}
	return all
}

// ruleNames returns the rules in the file.
func (f *changeFlags) ruleNames(console *cli.Console) (names []string) {
	o, err := f.load(console)
	if err != nil {
		return nil
	}
	file, err := settings.RuleFile(o.sources, settings.Scope(f.scope))
	if err != nil {
		return nil
	}
	for _, l := range o.written() {
		if strings.HasPrefix(l.From, file.Path()+":") && !slices.Contains(names, l.Rule) {
			names = append(names, l.Rule)
		}
	}
	return names
}
