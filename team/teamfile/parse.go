package teamfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/syntaxerr"
	"github.com/actorswarm/swarm/mailbox"
)

// maxSize is the most bytes of a file.
const maxSize = 1 << 20

// Parse reads a file. path is used in messages and for the name of a team that
// names itself not. The team is usable only if the error is nil. subteam returns
// a team that a member leads, by the name that the file gives; nil refuses all.
func Parse(path string, src []byte, subteam func(name string) (*Team, error)) (Team, error) {
	r := &reader{path: path, subteam: subteam}
	t := r.read(src)
	return t, errors.Join(r.errs...)
}

// reader is one reading of a file.
type reader struct {
	path    string
	subteam func(name string) (*Team, error)
	errs    []error
	owners  []*yaml.Node // of tasks
}

func (r *reader) wrong(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s", r.path, n.Line, fmt.Sprintf(format, args...)))
}

func (r *reader) read(src []byte) Team {
	base := filepath.Base(r.path)
	t := Team{Path: r.path, Name: strings.TrimSuffix(base, filepath.Ext(base))}
	var doc yaml.Node
	switch err := yaml.Unmarshal(src, &doc); {
	case len(src) > maxSize:
		r.errs = append(r.errs, fmt.Errorf("%s: the file has %d bytes and the limit is %d", r.path, len(src), maxSize))
		return t
	case err != nil:
		r.errs = append(r.errs, fmt.Errorf("%s: %w", r.path, syntaxerr.YAML(err)))
		return t
	case doc.Kind == 0:
		r.errs = append(r.errs, fmt.Errorf("%s: the file is empty; give a team at least one member", r.path))
		return t
	}
	top := doc.Content[0]
	at := top
	r.fields(top, "a team", map[string]field{
		"name":        func(n *yaml.Node) { r.text(n, &t.Name); at = n },
		"description": func(n *yaml.Node) { r.text(n, &t.Description) },
		"members":     func(n *yaml.Node) { t.Members = r.members(n) },
		"tasks":       func(n *yaml.Node) { t.Tasks = r.tasks(n) },
	})
	if why := badName(t.Name); why != "" {
		r.wrong(at, "the name of the team, %q, %s", t.Name, why)
	}
	if len(t.Members) == 0 && len(r.errs) == 0 {
		r.wrong(top, "the team has no members; list them under members:")
	}
	r.checkOwners(t.Members)
	return t
}

// checkOwners refuses owners of tasks who will not be in the team. Who an agent of
// the session is, only the session knows.
func (r *reader) checkOwners(members []Member) {
	names := []string{"team-lead"}
	for _, m := range members {
		if m.Agent != "" {
			return
		}
		names = append(names, m.Name)
	}
	for _, n := range r.owners {
		if !slices.ContainsFunc(append(names, "lead"), func(name string) bool { return strings.EqualFold(name, n.Value) }) {
			r.wrong(n, "the owner %q is not in the team; name one of %s", n.Value, strings.Join(names, ", "))
		}
	}
}

// field takes the value of a key.
type field func(*yaml.Node)

// fields goes through a mapping; a key that is not known or stands twice is
// wrong.
func (r *reader) fields(n *yaml.Node, what string, known map[string]field) {
	if n = whole(n); n.Kind != yaml.MappingNode {
		r.wrong(n, "%s must be written as key: value", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], whole(n.Content[i+1])
		take, ok := known[key.Value]
		switch {
		case !ok:
			r.wrong(key, "%s has no %q; it has %s", what, key.Value, list(known))
		case seen[key.Value]:
			r.wrong(key, "%s is given twice", key.Value)
		default:
			take(value)
		}
		seen[key.Value] = true
	}
}

// whole follows an alias.
func whole(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func list(known map[string]field) string {
	var all []string
	for k := range known {
		all = append(all, k)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (r *reader) each(n *yaml.Node, what string, take field) {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, "%s must be a list", what)
		return
	}
	for _, item := range n.Content {
		take(whole(item))
	}
}

func (r *reader) text(n *yaml.Node, into *string) {
	if n.Kind != yaml.ScalarNode {
		r.wrong(n, "a text is expected here")
		return
	}
	*into = strings.TrimSpace(n.Value)
}

func (r *reader) yes(n *yaml.Node, into *bool) {
	if n.Decode(into) != nil {
		r.wrong(n, "true or false is expected, not %q", n.Value)
	}
}

func (r *reader) number(n *yaml.Node, into *int64) {
	v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 64)
	if err != nil || v < 1 {
		r.wrong(n, "a whole number from 1 up is expected, not %q", n.Value)
		return
	}
	*into = v
}

func (r *reader) span(n *yaml.Node, into *time.Duration) {
	d, err := time.ParseDuration(n.Value)
	if err != nil || d <= 0 {
		r.wrong(n, "a time such as 90s, 5m or 2h is expected, not %q", n.Value)
		return
	}
	*into = d
}

func (r *reader) oneOf(n *yaml.Node, into *string, what string, all ...string) {
	if r.text(n, into); !slices.Contains(all, *into) {
		r.wrong(n, "%s is %q; use %s", what, *into, strings.Join(all, ", "))
	}
}

func (r *reader) members(n *yaml.Node) (all []Member) {
	seen := map[string]int{}
	r.each(n, "members", func(item *yaml.Node) {
		m := r.member(item)
		if first := seen[strings.ToLower(m.Name)]; first > 0 && m.Name != "" {
			r.wrong(item, "two members are named %q; the other is in line %d", m.Name, first)
		}
		seen[strings.ToLower(m.Name)] = item.Line
		all = append(all, m)
	})
	return all
}

func (r *reader) member(n *yaml.Node) (m Member) {
	if n.Kind == yaml.ScalarNode { // a name alone
		m.Name, m.Line = n.Value, n.Line
		r.checkName(n, m.Name)
		return m
	}
	m.Line = n.Line
	var turns int64
	r.fields(n, "a member", map[string]field{
		"name":               func(n *yaml.Node) { r.text(n, &m.Name) },
		"agent":              func(n *yaml.Node) { r.text(n, &m.Agent) },
		"type":               func(n *yaml.Node) { r.text(n, &m.Type) },
		"prompt":             func(n *yaml.Node) { r.text(n, &m.Prompt) },
		"model":              func(n *yaml.Node) { r.text(n, &m.Model) },
		"effort":             func(n *yaml.Node) { r.text(n, &m.Effort) },
		"mode":               func(n *yaml.Node) { r.oneOf(n, &m.Mode, "mode", modes[:]...) },
		"color":              func(n *yaml.Node) { r.oneOf(n, &m.Color, "color", colors[:]...) },
		"cwd":                func(n *yaml.Node) { r.text(n, &m.Cwd) },
		"worktree":           func(n *yaml.Node) { r.yes(n, &m.Worktree) },
		"plan_mode_required": func(n *yaml.Node) { r.yes(n, &m.PlanRequired) },
		"max_turns":          func(n *yaml.Node) { r.number(n, &turns) },
		"restart":            func(n *yaml.Node) { r.restart(n, &m) },
		"budget":             func(n *yaml.Node) { m.Budget = r.budget(n) },
		"leads":              func(n *yaml.Node) { m.Leads = r.leads(n) },
	})
	m.MaxTurns = int(turns)
	r.check(n, &m)
	return m
}

var (
	modes  = [...]string{"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"}
	colors = [...]string{"red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"}
)

func (r *reader) check(n *yaml.Node, m *Member) {
	if m.Agent != "" {
		if *m != (Member{Agent: m.Agent, Leads: m.Leads, Name: m.Name, Line: m.Line}) || m.Name != "" && m.Name != m.Agent {
			r.wrong(n, "agent: %s is there already and keeps what it is; leave out everything but leads", m.Agent)
		}
		m.Name = m.Agent
		return
	}
	r.checkName(n, m.Name)
	if m.Worktree && m.Cwd != "" {
		r.wrong(n, "worktree gives %s a directory of its own: leave out cwd or worktree", m.Name)
	}
}

func (r *reader) checkName(n *yaml.Node, name string) {
	if why := badName(name); why != "" {
		r.wrong(n, "the member's name, %q, %s", name, why)
	}
}

// badName returns why a member cannot have a name, or "".
func badName(name string) string {
	if name == "" {
		return "is empty; add a line name:"
	}
	return mailbox.NameProblem(name)
}

// restart reads never, on_failure, or on_failure with limits.
func (r *reader) restart(n *yaml.Node, m *Member) {
	if n.Kind == yaml.ScalarNode {
		switch n.Value {
		case "never":
		case "on_failure":
			m.Restarts = defaultRestarts
		default:
			r.wrong(n, "restart is %q; use never, on_failure, or on_failure: with max and within", n.Value)
		}
		return
	}
	r.fields(n, "restart", map[string]field{"on_failure": func(n *yaml.Node) {
		most := int64(defaultRestarts)
		r.fields(n, "on_failure", map[string]field{
			"max":    func(n *yaml.Node) { r.number(n, &most) },
			"within": func(n *yaml.Node) { r.span(n, &m.Within) },
		})
		m.Restarts = int(most)
	}})
}

// defaultRestarts is how often a failed turn begins again if the file has only
// on_failure.
const defaultRestarts = 3

func (r *reader) budget(n *yaml.Node) (l budget.Limits) {
	r.fields(n, "a budget", map[string]field{
		"usd": func(n *yaml.Node) {
			var err error
			if l.Money, err = budget.ParseUSD(n.Value); err != nil || l.Money <= 0 {
				r.wrong(n, "an amount of dollars such as 2.50 is expected, not %q", n.Value)
			}
		},
		"tokens":   func(n *yaml.Node) { r.number(n, &l.Tokens) },
		"requests": func(n *yaml.Node) { r.number(n, &l.Requests) },
		"time":     func(n *yaml.Node) { r.span(n, &l.Time) },
	})
	return l
}

func (r *reader) leads(n *yaml.Node) *Team {
	var name string
	if r.text(n, &name); name == "" {
		return nil
	}
	if r.subteam == nil {
		r.wrong(n, "team %s cannot be found from here", name)
		return nil
	}
	t, err := r.subteam(name)
	if err != nil {
		r.wrong(n, "leads: %v", err)
	}
	return t
}

func (r *reader) tasks(n *yaml.Node) (all []Task) {
	seen := map[string]bool{}
	r.each(n, "tasks", func(item *yaml.Node) {
		t := r.task(item)
		if t.Key == "" {
			t.Key = strconv.Itoa(len(all) + 1)
		}
		if seen[t.Key] {
			r.wrong(item, "two tasks have the key %q", t.Key)
		}
		for _, key := range t.After {
			if !seen[key] {
				r.wrong(item, "the task waits for %q, which no task before it has as its key", key)
			}
		}
		seen[t.Key] = true
		all = append(all, t)
	})
	return all
}

func (r *reader) task(n *yaml.Node) (t Task) {
	if n.Kind == yaml.ScalarNode { // a subject alone
		r.text(n, &t.Subject)
	} else {
		r.fields(n, "a task", map[string]field{
			"key":         func(n *yaml.Node) { r.text(n, &t.Key) },
			"subject":     func(n *yaml.Node) { r.text(n, &t.Subject) },
			"description": func(n *yaml.Node) { r.text(n, &t.Description) },
			"writes":      func(n *yaml.Node) { r.yes(n, &t.Writes) },
			"owner": func(n *yaml.Node) {
				if r.text(n, &t.Owner); t.Owner != "" {
					r.owners = append(r.owners, n)
				}
			},
			"after": func(n *yaml.Node) {
				r.each(n, "after", func(n *yaml.Node) { t.After = append(t.After, n.Value) })
			},
		})
	}
	if t.Subject == "" {
		r.wrong(n, "the task has no subject: say in a few words what is to be done")
	}
	return t
}
