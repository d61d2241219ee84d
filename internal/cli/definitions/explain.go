package definitions

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/defedit"
	"github.com/actorswarm/swarm/internal/syntaxerr"
	"github.com/actorswarm/swarm/internal/term"
)

// explainFlags are the circumstances of a plan besides the definition.
type explainFlags struct {
	agentsFlags
	format, call, model, mode string
	deny                      []string
	budget                    cli.BudgetFlags
}

func newAgentsExplain(a *commands) *cobra.Command {
	flags := &explainFlags{}
	c := &cobra.Command{
		Use:   "explain NAME",
		Short: "Say why an agent is as it is",
		Long: `Explain shows every field of a definition: its value, the line it comes from and
whether swarm acts on it. Below stands what an agent of that type becomes when
the lead calls for it: its tools, model, mode and limits, and the reason for each
choice. Of a fork, which has no definition, only that is shown. Nothing is started
and no model is asked.`,
		Example: `  swarm agents explain reviewer
  swarm agents explain reviewer --call '{"model": "opus", "run_in_background": true}'`,
		ValidArgsFunction: a.completeDefinition,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(flags.format); err != nil {
				return err
			}
			name, err := oneName(args, "swarm agents explain NAME")
			if err != nil {
				return err
			}
			return a.explain(flags, name)
		},
	}
	flags.add(c)
	fs := c.Flags()
	fs.StringVar(&flags.format, "format", "text", "text or json")
	fs.StringVar(&flags.call, "call", "", "the input of the Agent call, as JSON")
	fs.StringVar(&flags.model, "model", "", "the lead's model")
	fs.StringVar(&flags.mode, "permission-mode", "", "the lead's permission mode")
	fs.StringArrayVar(&flags.deny, "disallowedTools", nil, "tools and rules that are refused")
	flags.budget.AddChild(fs)
	return c
}

// explanation is the output of explain.
type explanation struct {
	Name     string       `json:"name"`
	Source   string       `json:"source"`
	Path     string       `json:"path"`
	Replaces []string     `json:"replaces"` // overridden definitions of the same name
	Fields   []fieldRow   `json:"fields"`
	Warnings []string     `json:"warnings"`
	Unknown  []string     `json:"unknownTools"` // entries of tools that match none
	Plan     *planOutline `json:"plan,omitempty"`
	Error    string       `json:"error,omitempty"` // why the call is refused
	color    string
}

type fieldRow struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Given   bool   `json:"given"`
	Path    string `json:"path,omitempty"`
	Line    int    `json:"line,omitempty"`
	InForce bool   `json:"inForce"`
	Note    string `json:"note"`
}

// planOutline is the result of a call.
type planOutline struct {
	Role      string        `json:"role"`
	Model     string        `json:"model"`
	Mode      string        `json:"permissionMode"`
	Tools     []string      `json:"tools"`
	MaxTurns  int           `json:"maxTurns,omitempty"`
	Effort    string        `json:"effort,omitempty"`
	Dir       string        `json:"cwd"`
	Link      string        `json:"link,omitempty"`
	Isolation string        `json:"isolation,omitempty"`
	Budget    *swarm.Limits `json:"budget,omitempty"` // together with its descendants
	Reasons   []string      `json:"reasons"`
}

func (a *commands) explain(flags *explainFlags, name string) error {
	o := flags.options(a)
	o.Model, o.Mode, o.Deny, o.Policy.ChildBudget = flags.model, flags.mode, cli.SplitRules(flags.deny), flags.budget.Child
	all, err := a.catalog(o)
	if err != nil {
		return err
	}
	x, err := all.explained(name)
	if err != nil {
		return err
	}
	call, err := parseCall(flags.call, all.Definitions(), x.Name)
	if err != nil {
		return err
	}
	plan, err := all.Plan(call)
	if err != nil {
		x.Error = err.Error()
	} else {
		x.Plan = outline(plan)
	}
	if flags.format == "json" {
		err = a.PrintJSON(x)
	} else {
		err = a.Print(a.explanationText(all, x))
	}
	if err == nil && x.Error != "" {
		return fmt.Errorf("the call is refused: %s", x.Error)
	}
	return err
}

// parseCall reads the input of an Agent call and fills in missing fields for the agent.
func parseCall(text string, set *defs.Set, name string) (spawn.Call, error) {
	call := spawn.Call{Prompt: "(explained)"}
	if text != "" {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&call); err != nil {
			return call, cli.Usagef(`--call is not the input of an Agent call: %s; write it like {"prompt": "look", "model": "opus"}`, syntaxerr.JSON([]byte(text), err))
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return call, cli.Usagef("--call holds more than one JSON object; give one")
		}
	}
	if call.Type == "" {
		call.Type = name
	}
	if spawn.IsFork(call.Type) && call.Type == name {
		return call, nil
	}
	if d, ok := set.Lookup(call.Type); !ok || d.Name != name {
		return call, cli.Usagef("--call asks for subagent_type %q; explain that one, or leave the type out", call.Type)
	}
	return call, nil
}

// explained is the explanation of a type without a call for it.
func (c *catalog) explained(name string) (explanation, error) {
	if spawn.IsFork(name) {
		return explanation{
			Name: name, Source: "its caller over again, without a definition",
			Replaces: []string{}, Fields: []fieldRow{}, Warnings: []string{}, Unknown: []string{},
		}, nil
	}
	e, err := c.loaded(name)
	if err != nil {
		return explanation{}, err
	}
	return c.explanation(e), nil
}

func (c *catalog) explanation(e defs.Entry) explanation {
	x := explanation{
		Name: e.Name, Source: e.Source.String(), Path: e.Path, Replaces: []string{}, Warnings: warnings(e),
		Unknown: []string{}, color: e.ShownColor(),
	}
	for _, other := range c.entries {
		if other.Status == defs.StatusShadowed && other.Name == e.Name {
			x.Replaces = append(x.Replaces, fmt.Sprintf("%s: %s", other.Source, other.Path))
		}
	}
	for _, f := range e.Explain() {
		row := fieldRow{Name: f.Name, Value: f.Value, Given: f.Line > 0, InForce: f.InEffect, Note: f.Note}
		if row.Given {
			row.Path, row.Line = f.Path, f.Line
		}
		x.Fields = append(x.Fields, row)
	}
	x.Unknown = append(x.Unknown, defedit.UnknownTools(strings.Join(e.Tools, ","), c.Tools())...)
	return x
}

func outline(p spawn.Plan) *planOutline {
	s := p.Spec
	o := &planOutline{
		Role: string(s.Role), Model: s.Model, Mode: s.Mode, Tools: s.Tools, MaxTurns: s.MaxTurns, Effort: s.Effort, Dir: s.Dir,
		Link: string(s.Link), Isolation: s.Isolation, Reasons: p.Reasons,
	}
	if s.Budget != (swarm.Limits{}) {
		o.Budget = &s.Budget
	}
	return o
}

func (a *commands) explanationText(all *catalog, x explanation) string {
	var b strings.Builder
	scr := a.Screen()
	fmt.Fprintf(&b, "%s  %s\n", scr.Paint(term.Clean(x.Name), x.color), x.Source+term.Clean(all.origin(x.Path)))
	for _, r := range x.Replaces {
		fmt.Fprintf(&b, "replaces  %s\n", term.Clean(r))
	}
	b.WriteString("\n")
	for _, f := range x.Fields {
		b.WriteString(all.fieldText(f, scr.Width()))
	}
	for _, u := range x.Unknown {
		fmt.Fprintf(&b, "warning: tools names %s, which no tool here has\n", term.Clean(u))
	}
	for _, w := range x.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", term.Clean(strings.Replace(w, x.Path, all.short(x.Path), 1)))
	}
	if x.Plan != nil {
		b.WriteString(planText(x.Plan))
	}
	return b.String()
}

// origin returns the source of a definition and its path, if it has one.
func (c *catalog) origin(path string) string {
	if path == "" {
		return ""
	}
	return ", " + c.short(path)
}

// fieldText returns a line with the field, its place and its value, and marks a field
// without effect.
func (c *catalog) fieldText(f fieldRow, width int) string {
	from, value := "not given", f.Note
	if f.Given {
		from = fmt.Sprintf("%s:%d", c.short(f.Path), f.Line)
		value = view.FirstLine(f.Value)
		if value != strings.TrimSpace(f.Value) {
			value += " …"
		}
		if value == "" {
			value = "(no value)"
		}
		switch {
		case strings.HasPrefix(f.Note, "unknown"):
			value += " (" + f.Note + ")"
		case !f.InForce:
			value += " (not in force yet: " + f.Note + ")"
		}
	}
	head := fmt.Sprintf("%-22s  %-28s  ", term.Clean(f.Name), term.Clean(from))
	return head + term.Cut(term.Clean(value), max(30, width-term.Width(head))) + "\n"
}

func planText(p *planOutline) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\ncalled by the lead it is\n")
	for _, row := range [][2]string{
		{"role", p.Role},
		{"model", p.Model},
		{"mode", p.Mode},
		{"effort", p.Effort},
		{"cwd", p.Dir},
		{"isolation", p.Isolation},
		{"link", p.Link},
		{"turns", strings.TrimPrefix(strconv.Itoa(p.MaxTurns), "0")},
		{"budget", budgetText(p.Budget)},
		{"tools", cmp.Or(strings.Join(p.Tools, ", "), "none")},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "  %-9s  %s\n", row[0], term.Clean(row[1]))
		}
	}
	b.WriteString("because\n")
	for _, r := range p.Reasons {
		fmt.Fprintf(&b, "  %s\n", term.Clean(r))
	}
	return b.String()
}

func budgetText(l *swarm.Limits) string {
	if l == nil {
		return ""
	}
	return l.String() + " with all below it"
}
