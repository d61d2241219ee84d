package permission

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"github.com/actorswarm/swarm/internal/shell"
)

// Behavior is the outcome of a decision. The values rise with power; the zero
// value denies.
type Behavior int

// The behaviors.
const (
	Deny Behavior = iota
	Ask
	Allow
)

// String returns "deny", "ask" or "allow".
func (b Behavior) String() string {
	switch b {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	}
	return "deny"
}

// Policy is everything a decision depends on besides the request.
type Policy struct {
	Mode             Mode
	Allow, Ask, Deny []Rule
	// Dirs are the working directories, absolute. The first is the project's.
	Dirs []string
	// Home is the user's home, absolute; "~" stands for it.
	Home string
	// Resolve returns what an absolute path is after symbolic links, also when
	// its last parts do not exist. Nil: paths are what they are called.
	Resolve func(path string) string
	// FoldCase matches paths without regard to case, as some file systems do.
	FoldCase bool
	// Enclosure confines an agent that has a worktree of its own. Nil: it is
	// not isolated.
	Enclosure *Enclosure
}

// Request is one tool call.
type Request struct {
	Tool  string
	Input json.RawMessage
	// ReadOnly is set by whoever vouches that this tool changes nothing. It
	// counts only for tools this package knows nothing about.
	ReadOnly bool
	// Cwd is the directory relative paths start from, absolute.
	Cwd string
}

// Decision is what becomes of a request.
type Decision struct {
	Behavior Behavior
	// Rule is the rule that decided, as written, or the name of the step, such
	// as "mode acceptEdits" or "critical removal".
	Rule string
	// Reason is one sentence for a person.
	Reason string
}

// Decide returns what becomes of r under p.
func Decide(p Policy, r Request) Decision {
	p.Mode = known(p.Mode)
	c, err := newCall(&p, &r)
	if err != nil {
		return Decision{Deny, "input", fmt.Sprintf("the input of %s cannot be judged: %v", r.Tool, err)}
	}
	d := c.decide()
	if d.Behavior == Ask && p.Mode.neverAsk() {
		return Decision{Deny, d.Rule, d.Reason + "; nobody is asked in mode " + string(p.Mode)}
	}
	return d
}

func (c *call) decide() Decision {
	steps := []func() (Decision, bool){c.enclosed, c.denied, c.asked, c.guarded, c.byMode, c.allowed}
	for _, step := range steps {
		if d, ok := step(); ok {
			return d
		}
	}
	return Decision{Ask, "no rule", fmt.Sprintf("no rule allows this use of %s", c.tool)}
}

func (c *call) denied() (Decision, bool) {
	if i := slices.IndexFunc(c.p.Deny, c.touches); i >= 0 {
		return c.ruled(Deny, "denied", c.p.Deny[i]), true
	}
	return Decision{}, false
}

func (c *call) asked() (Decision, bool) {
	if i := slices.IndexFunc(c.p.Ask, c.touches); i >= 0 {
		return c.ruled(Ask, "asked about", c.p.Ask[i]), true
	}
	if c.tool == "AskUserQuestion" {
		return Decision{Ask, "user interaction", "the tool talks to the user"}, true
	}
	return Decision{}, false
}

func (c *call) ruled(b Behavior, verb string, r Rule) Decision {
	reason := fmt.Sprintf("%s is %s by the rule %s", c.tool, verb, r)
	if r.Source != "" {
		reason += " (" + r.Source + ")"
	}
	return Decision{b, r.String(), reason}
}

// guarded stops what no mode and no rule approves.
func (c *call) guarded() (Decision, bool) {
	if c.shell == nil {
		return Decision{}, false
	}
	if c.answersQuestions() {
		return Decision{Deny, "answer of an agent", "only a person answers questions; no command of an agent does"}, true
	}
	if why := c.criticalRemoval(); why != "" {
		return Decision{Ask, "critical removal", why}, true
	}
	if c.shell.Err != nil {
		return Decision{Ask, "unparsable command", fmt.Sprintf("the command cannot be judged: %v", c.shell.Err)}, true
	}
	return Decision{}, false
}

// answersQuestions reports a command that would settle what a person is asked.
func (c *call) answersQuestions() bool {
	for i := range c.shell.Commands {
		words := c.shell.Commands[i].Words
		if len(words) > 1 && path.Base(shell.Certain(words[0].Text)) == "swarm" &&
			(!words[1].Literal || slices.ContainsFunc(words[1:], func(w shell.Word) bool { return w.Text == "approvals" })) {
			return true
		}
	}
	return false
}

func (c *call) byMode() (Decision, bool) {
	if c.p.Mode == Bypass {
		return Decision{Allow, "mode bypassPermissions", "everything else is allowed"}, true
	}
	if path := c.protectedTarget(); path != "" {
		return Decision{Ask, "protected path", fmt.Sprintf("%s is protected", path)}, true
	}
	if d, ok := c.harmless(); ok {
		return d, true
	}
	if c.p.Mode.plans() && !c.coordinates() {
		return Decision{Ask, "mode " + string(c.p.Mode), "only reading is free while planning"}, true
	}
	return Decision{}, false
}

// harmless allows what the mode lets through without any rule.
func (c *call) harmless() (Decision, bool) {
	switch c.class {
	case reads:
		return Decision{Allow, "working directory", "reading inside the working directories"}, c.targetsInside()
	case edits:
		return Decision{Allow, "mode acceptEdits", "editing inside the working directories"}, c.p.Mode == AcceptEdits && c.targetsInside()
	case runs:
		return c.harmlessCommand()
	}
	if c.coordinates() {
		return Decision{Allow, "coordination", "the tool acts only inside the swarm"}, true
	}
	return Decision{Allow, "read-only tool", "the tool changes nothing"}, c.r.ReadOnly && c.class == other
}

// coordinates reports tools that act only on agents, messages and tasks, whose
// effects are themselves decided here.
func (c *call) coordinates() bool {
	switch c.tool {
	case "Agent", "SendMessage", "ListAgents", "TaskStop", "TaskOutput", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate",
		"TodoWrite", "ToolSearch", "EnterPlanMode", "ExitPlanMode", "SubagentHandback":
		return true
	}
	return false
}

func (c *call) allowed() (Decision, bool) {
	if c.class == runs {
		return c.allowedCommand()
	}
	for _, r := range c.p.Allow {
		if c.covers(r) {
			return c.ruled(Allow, "allowed", r), true
		}
	}
	return Decision{}, false
}
