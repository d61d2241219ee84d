package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/term"
)

// The exit statuses of check, besides 0 for allow.
const (
	exitAsk  = 3
	exitDeny = 4
)

func newCheck(console *cli.Console) *cobra.Command {
	var s selection
	var format string
	c := &cobra.Command{
		Use:   "check CALL",
		Short: "Say whether a call would be allowed, and which rule decides",
		Long: `Check prints what the rules and the mode make of a call of the lead, or of the
agent that --agent names. A call is written like a rule, as in "Bash(git push)",
or as words: Bash git push. Nothing is run, and no hook is asked.

The exit status is 0 if the call is allowed, 3 if you would be asked, 4 if it is
denied, 2 if the command line is wrong and 1 after another error.`,
		Example: `  swarm permissions check "Bash(git push)"
  swarm permissions check Read ~/.ssh/id_rsa --agent reviewer
  swarm permissions check 'Agent({"subagent_type": "x", "model": "opus"})'`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			o, err := s.load(console)
			if err != nil {
				return err
			}
			v, err := o.check(args)
			if err != nil {
				return err
			}
			if format == "json" {
				err = console.PrintJSON(v)
			} else {
				err = console.Print(v.text())
			}
			return cmp.Or(err, v.exit())
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			o, err := s.load(console)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return o.tools, cobra.ShellCompDirectiveNoFileComp
		},
	}
	s.add(c)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	complete(c, console, &s)
	return c
}

// verdict is what check prints.
type verdict struct {
	Call     string `json:"call"`
	Agent    string `json:"agent"`
	Decision string `json:"decision"`
	Rule     string `json:"rule"`
	From     string `json:"from,omitempty"` // file and line of the rule
	Reason   string `json:"reason"`
	Mode     string `json:"mode"`
	ModeFrom string `json:"modeFrom"`
	Profile  string `json:"profile,omitempty"` // of a command
	Judge    string `json:"judge,omitempty"`   // the model that decides before you are asked
	// LeftOut are rules that would allow the call and do not apply, Suggested those that
	// would allow it.
	LeftOut   []string `json:"leftOut"`
	Suggested []string `json:"suggested"`
}

// check decides about the call that args name.
func (o *subject) check(args []string) (v verdict, err error) {
	called, err := o.parseCall(args)
	if err != nil {
		return v, err
	}
	d := o.decide(called.request)
	v = verdict{
		Call: called.text, Agent: o.name(), Decision: d.Behavior.String(), Rule: d.Rule, From: d.Source, Reason: d.Reason,
		Mode: o.mode.Value, ModeFrom: o.mode.From, Profile: string(d.Profile), LeftOut: []string{}, Suggested: []string{},
	}
	if d.Judge != permission.NotJudged {
		v.Judge = cmp.Or(o.judge, "the model for small questions")
	}
	if d.Behavior == permission.Allow {
		return v, nil
	}
	v.LeftOut = append(v.LeftOut, o.leftOutFor(called.request)...)
	if o.has(called.request.Tool) {
		v.Suggested = append(v.Suggested, permission.Suggest(o.policy, called.request)...)
	}
	return v, nil
}

// decide decides about a call. A tool that the agent does not have is denied.
func (o *subject) decide(r permission.Request) permission.Decision {
	d := permission.Decide(o.policy, r)
	if o.definition != nil && d.Source == "the definition of "+o.definition.Name {
		d.Source = o.line("tools")
	}
	if o.has(r.Tool) || d.Behavior == permission.Deny && d.Source != "" {
		return d
	}
	from := o.line("tools")
	if slices.ContainsFunc(permission.ParseLimits(o.definition.DisallowedTools, ""), func(rule permission.Rule) bool { return rule.Tool == r.Tool }) {
		from = o.line("disallowedTools")
	}
	return permission.Decision{Rule: "tools", Source: from, Reason: fmt.Sprintf("%s has no tool %s (%s)", o.name(), r.Tool, from)}
}

// has reports whether the agent has a tool. Tools of MCP servers are known only while
// these run.
func (o *subject) has(tool string) bool {
	return o.definition == nil || strings.HasPrefix(tool, "mcp__") || slices.Contains(o.spec.Tools, tool)
}

// leftOutFor returns the allow rules that do not apply and would allow a call.
func (o *subject) leftOutFor(r permission.Request) (all []string) {
	for _, left := range o.rules.Settings().LeftOut {
		rule, err := permission.ParseRule(left.Text)
		if left.Kind != "allow" || err != nil {
			continue
		}
		p := o.policy
		p.Allow = append(slices.Clip(p.Allow), rule)
		if permission.Decide(p, r).Behavior == permission.Allow {
			all = append(all, fmt.Sprintf("%s (%s) is left out %s", left.Text, left.From, left.Why))
		}
	}
	return all
}

func (v verdict) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", v.Decision, term.Clean(v.Call))
	fmt.Fprintf(&b, "  by %s%s\n", term.Clean(v.Rule), inParentheses(v.From))
	fmt.Fprintf(&b, "  %s\n", term.Clean(v.Reason))
	fmt.Fprintf(&b, "  agent %s, mode %s%s\n", term.Clean(v.Agent), v.Mode, inParentheses(v.ModeFrom))
	if v.Judge != "" {
		fmt.Fprintf(&b, "  judged by %s before you are asked\n", term.Clean(v.Judge))
	}
	if v.Profile != "" {
		fmt.Fprintf(&b, "  held to the profile %s (swarm sandbox explain %s)\n", v.Profile, v.Profile)
	}
	for _, left := range v.LeftOut {
		fmt.Fprintf(&b, "  %s\n", term.Clean(left))
	}
	for _, rule := range v.Suggested {
		fmt.Fprintf(&b, "  to allow it: swarm permissions allow %s\n", term.Clean(quote(rule)))
	}
	return b.String()
}

func inParentheses(text string) string {
	if text == "" {
		return ""
	}
	return " (" + term.Clean(text) + ")"
}

// quote quotes a rule for a shell.
func quote(rule string) string {
	return "'" + strings.ReplaceAll(rule, "'", `'\''`) + "'"
}

// exit returns the exit status.
func (v verdict) exit() error {
	switch v.Decision {
	case "allow":
		return nil
	case "ask":
		return &cli.ExitError{Code: exitAsk}
	}
	return &cli.ExitError{Code: exitDeny}
}
