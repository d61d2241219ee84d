package permission

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/sandbox"
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

// Policy is what a decision depends on besides the request.
type Policy struct {
	Mode             Mode
	Allow, Ask, Deny []Rule
	// Only limits what an agent does with certain tools: a call of a tool that one of
	// the lists names is denied unless a rule of that list for the tool covers it.
	Only [][]Rule
	// Dirs are the working directories, absolute. The first is the project's.
	Dirs []string
	// Home is the user's home directory, absolute.
	Home string
	// Resolve follows the symbolic links of an absolute path, whose last parts
	// need not exist. If it is nil, no link is followed.
	Resolve func(path string) string
	// ReadDir returns the names in a directory, at most max of them, without following a link at
	// the end of its absolute path. What is no directory has none. If it is nil, no directory is
	// read.
	ReadDir func(dir string, max int) ([]fs.DirEntry, error)
	// Private reports, by absolute path, files that belong to the runtime or to other agents.
	// No file tool of the agent reaches them, whatever rules and modes allow. It may be nil.
	Private func(path string) bool
	// FoldCase compares paths without regard to case, as some file systems do.
	FoldCase bool
	// Unconfined reports that nothing holds a command to reading. Then one counts as reading
	// only if each of its words is fixed.
	Unconfined bool
	// Contained reports that the profile inspect holds a program whatever it does. Then a
	// command runs under it that only probably reads.
	Contained bool
	// NoEdits is why nothing holds a command to changing the working directories, "" if
	// something does. Then no command is allowed because mode acceptEdits is on.
	NoEdits string
	// Sandbox is zero where the machine cannot enforce the profile edit.
	Sandbox Sandbox
	// Boundary limits the writes of an isolated agent. It is nil for an agent that
	// is not isolated.
	Boundary *Boundary

	judge, judgeAll bool // which of the calls that are asked about a model judges; set by setMode
}

// Request is one tool call.
type Request struct {
	Tool  string
	Input json.RawMessage
	// ReadOnly states that the tool changes nothing. It is ignored for tools that
	// this package knows.
	ReadOnly bool
	// Cwd is the absolute directory that relative paths start from.
	Cwd string
}

// Decision is whether a request is allowed, and why.
type Decision struct {
	Behavior Behavior
	// Rule is the rule that decided, as written, or the name of the check, such as
	// "mode acceptEdits" or "critical removal".
	Rule string
	// Source is where the rules that decided are from, as in Rule.Source; "" if none did.
	Source string
	// Reason is one sentence for a person.
	Reason string
	// Profile is what a command is held to if it runs; "" for tools that run none.
	Profile sandbox.Name
	// Paths holds where the paths of a file tool's call led when it was decided, by the
	// absolute path. What is done has to be done there.
	Paths map[string]string
	// Judge is set if Behavior is Ask and a model may decide before a person is asked.
	Judge Judging
}

// Judging is whether a model may decide about a call.
type Judging int

// The ways to decide about a call.
const (
	NotJudged   Judging = iota
	JudgedFirst         // a person is asked if the model gives no verdict
	JudgedAlone         // the call is denied if the model gives no verdict
)

// Rules of decisions about commands that nobody has allowed: one counts as reading, one
// as changing files of the working directories.
const (
	onlyReads = "read-only command"
	onlyEdits = "mode acceptEdits"
)

// Decide decides about r under p.
func Decide(p Policy, r Request) Decision {
	mode := p.Mode
	p.setMode()
	p.Resolve = once(p.Resolve)
	c, err := newCall(&p, &r)
	if err != nil {
		return Decision{Behavior: Deny, Rule: "input", Reason: fmt.Sprintf("the input of %s cannot be judged: %v", r.Tool, err)}
	}
	d := c.decide()
	switch {
	case d.Behavior == Deny:
	case c.effect == runEffect:
		if d.Profile = c.profile(d); d.Profile == sandbox.Open && c.heldToEdit() {
			d.Profile = sandbox.Edit
		}
	case p.Resolve != nil:
		d.Paths = make(map[string]string, len(c.targets))
		for _, t := range c.targets {
			d.Paths[t] = p.Resolve(t)
		}
	}
	if d.Behavior == Ask && d.Rule == noRule && c.unheld() {
		d.Reason += "; mode acceptEdits allows it under the profile edit only: " + p.NoEdits
	}
	if file := fileRunByOthers(c); d.Behavior == Ask && d.Rule == noRule && p.Mode == AcceptEdits && file != "" {
		d.Reason += fmt.Sprintf("; mode acceptEdits does not allow a change of %s, which others run or obey", file)
	}
	if d.Behavior == Ask && d.Rule == noRule && p.Mode == AcceptEdits && c.shell != nil {
		if dir := unreadTree(c, true); dir != "" {
			d.Reason += fmt.Sprintf("; mode acceptEdits does not allow it, as not all that %s holds could be looked at", dir)
		}
	}
	if d.Behavior == Ask && p.judges(c, d) {
		d.Judge = JudgedFirst
	}
	switch {
	case d.Behavior != Ask || !p.Mode.neverAsks():
	case d.Judge != NotJudged:
		d.Judge = JudgedAlone
	default:
		d.Behavior, d.Reason = Deny, d.Reason+"; nobody is asked in mode "+string(p.Mode)
	}
	if mode == Auto && d.Rule == onlyEdits {
		d.Rule = "mode auto"
	}
	return d
}

// once returns resolve with a memory, so that all checks of a decision are about one place.
func once(resolve func(string) string) func(string) string {
	if resolve == nil {
		return nil
	}
	known := map[string]string{}
	return func(path string) string {
		real, ok := known[path]
		if !ok {
			real = resolve(path)
			known[path] = real
		}
		return real
	}
}

func (c *call) decide() Decision {
	steps := []func() (Decision, bool){c.checkBoundary, func() (Decision, bool) { return checkPrivate(c) }, c.checkDenyRules, c.checkLimits, c.checkAskRules, func() (Decision, bool) { return checkTrees(c) }, c.checkGuards, c.checkUnsandboxed, c.checkMode, c.checkAllowRules}
	for _, step := range steps {
		if d, ok := step(); ok {
			return c.orSandboxed(d)
		}
	}
	return c.orSandboxed(Decision{Behavior: Ask, Rule: noRule, Reason: fmt.Sprintf("no rule allows this use of %s%s", c.tool, outside(c, ": "))})
}

// checkPrivate denies what belongs to the runtime or to other agents.
func checkPrivate(c *call) (Decision, bool) {
	if c.policy.Private == nil {
		return Decision{}, false
	}
	paths := c.targets
	if c.effect == runEffect && c.policy.Unconfined { // else the profile hides it
		paths = c.shellPaths()
	}
	for _, p := range paths {
		if slices.ContainsFunc(c.forms(p), c.policy.Private) {
			return Decision{Rule: "private", Reason: fmt.Sprintf("%s belongs to swarm or to another agent; an agent reaches its own outputs and mail only", p)}, true
		}
	}
	return Decision{}, false
}

func (c *call) checkDenyRules() (Decision, bool) {
	if i := slices.IndexFunc(c.policy.Deny, c.restrictedBy); i >= 0 {
		return c.decideByRule(Deny, "denied", c.policy.Deny[i]), true
	}
	return Decision{}, false
}

func (c *call) checkAskRules() (Decision, bool) {
	if i := slices.IndexFunc(c.policy.Ask, c.restrictedBy); i >= 0 {
		return c.decideByRule(Ask, "asked about", c.policy.Ask[i]), true
	}
	if c.tool == "AskUserQuestion" {
		return Decision{Behavior: Ask, Rule: "user interaction", Reason: "the tool talks to the user"}, true
	}
	return Decision{}, false
}

func (c *call) decideByRule(b Behavior, verb string, r Rule) Decision {
	reason := fmt.Sprintf("%s is %s by the rule %s", c.tool, verb, r)
	if r.Source != "" {
		reason += " (" + r.Source + ")"
	}
	return Decision{Behavior: b, Rule: r.String(), Source: r.Source, Reason: reason}
}

// checkGuards stops what no mode and no rule can allow.
func (c *call) checkGuards() (Decision, bool) {
	if c.shell == nil {
		return Decision{}, false
	}
	if c.answersQuestions() {
		return Decision{Behavior: Deny, Rule: "answer of an agent", Reason: "only a person answers questions, trusts directories and changes rules; no command of an agent does"}, true
	}
	if reason := c.criticalRemoval(); reason != "" {
		return Decision{Behavior: Ask, Rule: "critical removal", Reason: reason}, true
	}
	if c.shell.Err != nil {
		return Decision{Behavior: Ask, Rule: "unparsable command", Reason: fmt.Sprintf("the command cannot be judged: %v", c.shell.Err)}, true
	}
	return Decision{}, false
}

// answersQuestions reports whether the command would answer a question that is
// put to a person, trust a directory or change rules.
func (c *call) answersQuestions() bool {
	for i := range c.shell.Commands {
		words := c.shell.Commands[i].Words
		if len(words) > 1 && path.Base(shell.WithoutExpansions(words[0].Text)) == "swarm" &&
			(!words[1].Literal || words[1].Text == "trust" || changesRules(words[1:]) || slices.ContainsFunc(words[1:], forPeople)) {
			return true
		}
	}
	return false
}

// changesRules reports whether words, which follow our name, change the rules of settings
// files.
func changesRules(words []shell.Word) bool {
	if words[0].Text != "permissions" || len(words) < 2 || words[1].Literal && (words[1].Text == "list" || words[1].Text == "check") {
		return false
	}
	return slices.ContainsFunc(words[1:], func(w shell.Word) bool {
		return !w.Literal || slices.Contains([]string{"allow", "ask", "deny", "remove"}, w.Text)
	})
}

// forPeople reports a word of a command line of ours that only a person gives.
func forPeople(w shell.Word) bool {
	return w.Text == "approvals" || strings.HasPrefix(w.Text, "--trust-dir")
}

func (c *call) checkMode() (Decision, bool) {
	if c.policy.Mode == Bypass {
		return Decision{Behavior: Allow, Rule: "mode bypassPermissions", Reason: "everything else is allowed"}, true
	}
	if path := c.protectedTarget(); path != "" {
		return Decision{Behavior: Ask, Rule: "protected path", Reason: fmt.Sprintf("%s is protected", path)}, true
	}
	if d, ok := c.harmlessCall(); ok {
		return d, true
	}
	if c.policy.Mode.plans() && !c.isCoordination() {
		reason := "only reading is free while planning"
		if c.effect == readEffect {
			reason += " and only in the working directories" + outside(c, ": ")
		}
		return Decision{Behavior: Ask, Rule: modeRule + string(c.policy.Mode), Reason: reason}, true
	}
	return Decision{}, false
}

// harmlessCall allows what the mode lets through without a rule.
func (c *call) harmlessCall() (Decision, bool) {
	switch c.effect {
	case readEffect:
		return Decision{Behavior: Allow, Rule: "working directory", Reason: "reading inside the working directories"}, c.targetsInWorkingDirs()
	case editEffect:
		return Decision{Behavior: Allow, Rule: onlyEdits, Reason: "editing inside the working directories"}, c.policy.Mode == AcceptEdits && c.targetsInWorkingDirs() && fileRunByOthers(c) == ""
	case runEffect:
		return c.harmlessCommand()
	}
	if c.isCoordination() && !c.policy.judgesTool(c.tool) {
		return Decision{Behavior: Allow, Rule: "coordination", Reason: "the tool acts only inside the swarm"}, true
	}
	return Decision{Behavior: Allow, Rule: "read-only tool", Reason: "the tool changes nothing"}, c.request.ReadOnly && c.effect == otherEffect
}

// isCoordination reports tools that act only on agents, messages and tasks. What the
// agents then do is decided call by call.
func (c *call) isCoordination() bool {
	switch c.tool {
	case "Agent", "SendMessage", "ListAgents", "TaskStop", "TaskOutput", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate",
		"TodoWrite", "ToolSearch", "EnterPlanMode", "ExitPlanMode", "SubagentHandback":
		return true
	}
	return false
}

func (c *call) checkAllowRules() (Decision, bool) {
	if c.effect == runEffect {
		return c.allowedCommand()
	}
	for _, r := range c.policy.Allow {
		if c.allowedBy(r) {
			return c.decideByRule(Allow, "allowed", r), true
		}
	}
	return Decision{}, false
}
