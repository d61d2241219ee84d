package spawn

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/permission"
)

// Policy holds the choices about how agents are started. The zero value is the
// documented default.
type Policy struct {
	MaxConcurrent int // turns of children at the same time; 0 = 20
	MaxDepth      int // generations below the lead; 0 = 3
	MaxAgents     int // agents per session; 0 = 1,000, negative = no limit
	MaxPerAnswer  int // agents that one answer of a model starts; 0 = 250, negative = no limit
	// MaxSpawnRate is how many agents may be started by others in a second, on
	// the average; those over it wait, in order. 0 = 250, negative = no limit.
	MaxSpawnRate float64
	// ChildBudget bounds each child together with all below it.
	ChildBudget budget.Limits
	// ModelOrder is whether the model of the environment or of the call wins.
	ModelOrder defs.ModelOrder
	// SubagentModel is the value of CLAUDE_CODE_SUBAGENT_MODEL.
	SubagentModel string
	// BackgroundByDefault makes a child asynchronous unless the call asks otherwise.
	BackgroundByDefault bool
	// NoBackground runs every child in the foreground (CLAUDE_CODE_DISABLE_BACKGROUND_TASKS).
	NoBackground bool
	// NoTeammates makes a named agent an ordinary one.
	NoTeammates bool
	// AutoBackground is how long a foreground agent runs before it goes on in
	// the background; 0 = 120 s, negative = it never does.
	AutoBackground time.Duration
	// Residency is how long the conversation of an idle agent stays in memory;
	// it is read back from the journal, byte by byte the same, when the agent has
	// work. 0 = 2 min, negative = it stays.
	Residency time.Duration
	// Deadlines are for how long an agent's work may stand still.
	Deadlines agent.Deadlines
	// ForkMode makes a call that names no type a fork, and every child
	// asynchronous (CLAUDE_CODE_FORK_SUBAGENT).
	ForkMode bool
	// Attended reports that a person is present to answer questions.
	Attended bool
	// AskTimeout is how long a question to a person waits. 0: as long as it takes
	// in an attended session, and elsewhere it is refused at once; negative: as
	// long as it takes everywhere.
	AskTimeout time.Duration
	// OnParentEnd is what happens to a background agent when the one that it works for
	// is stopped, fails or runs into a limit first; empty is agent.Reparent. A call
	// can choose another.
	OnParentEnd agent.Link
	// Team is the name of the session's team; empty is "session".
	Team string
	// Where is where the hosts of teammates run; empty is in this process.
	Where agent.Place
	// Dirs are the directories, absolute, in which a call may put an agent besides
	// those below its parent's.
	Dirs []string
}

// WithDefaults returns p with the defaults in place of zeros. What has no limit
// stays negative.
func (p Policy) WithDefaults() Policy {
	p.MaxConcurrent = cmp.Or(p.MaxConcurrent, 20)
	p.MaxDepth = cmp.Or(p.MaxDepth, 3)
	p.MaxAgents = cmp.Or(p.MaxAgents, 1000)
	p.MaxPerAnswer = cmp.Or(p.MaxPerAnswer, 250)
	p.MaxSpawnRate = cmp.Or(p.MaxSpawnRate, 250)
	p.AutoBackground = cmp.Or(p.AutoBackground, 120*time.Second)
	if p.NoBackground {
		p.AutoBackground = -1
	}
	p.Residency = cmp.Or(p.Residency, 2*time.Minute)
	p.OnParentEnd = cmp.Or(p.OnParentEnd, agent.Reparent)
	p.Team = cmp.Or(p.Team, "session")
	return p
}

// Asks reports whether a person can be asked.
func (p Policy) Asks() bool { return p.Attended || p.AskTimeout != 0 }

// Plan is the agent that a call makes under a policy, and the reason for each choice, in
// order.
type Plan struct {
	Definition defs.Definition
	Spec       agent.Spec // without id
	Reasons    []string
}

// UnknownTypeError reports a call for an agent type that is not defined.
type UnknownTypeError struct {
	Type  string
	Known []string
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("there is no agent type %q; the types are: %s", e.Type, strings.Join(e.Known, ", "))
}

// Plan returns the plan for a call of parent. tools are those that a child may have. It
// is pure: the same arguments give the same plan.
func (p Policy) Plan(set *defs.Set, c Call, parent agent.Spec, tools []string) (Plan, error) {
	p = p.WithDefaults()
	plan := Plan{}
	if err := p.admits(c, parent); err != nil {
		return plan, err
	}
	name := p.typeOf(&plan, c)
	if IsFork(name) {
		return p.planFork(plan, c, parent)
	}
	def, ok := set.Lookup(name)
	if !ok {
		return plan, &UnknownTypeError{Type: name, Known: set.Names()}
	}
	if err := plan.isolate(c.Isolation, def.Isolation, def.Name); err != nil {
		return plan, err
	}
	link, err := p.link(c)
	if err != nil {
		return plan, err
	}
	dir, err := c.dir(parent, p.Dirs)
	if err != nil {
		return plan, err
	}
	plan.Definition = def
	plan.Spec = agent.Spec{
		Isolation: plan.Spec.Isolation, Name: c.Name, Type: def.Name, Description: c.Description, Color: def.ShownColor(),
		Parent: parent.ID, Depth: parent.Depth + 1, Dir: dir, OneShot: def.OneShot,
		MaxTurns: cmp.Or(max(c.MaxTurns, 0), def.MaxTurns), Budget: p.ChildBudget, Effort: cmp.Or(c.Effort, def.Effort, parent.Effort),
	}
	p.planRole(&plan, c, parent)
	p.planModel(&plan, c, parent)
	planMode(&plan, c, parent)
	plan.effortFrom(c.Effort, def.Effort)
	plan.turnsFrom(c.MaxTurns, "the definition's")
	plan.link(link, c)
	plan.Spec.Tools, err = defs.ResolveTools(def, tools, defs.ToolOptions{
		Background: plan.Spec.Role == agent.Background,
		DepthLimit: plan.Spec.Depth >= p.MaxDepth,
		Teammate:   plan.Spec.Role == agent.Teammate,
		MCP:        toolsOfServers(def, tools),
	})
	plan.limitTools(def, parent)
	if plan.Spec.Role == agent.Teammate {
		plan.joinTeam(tools)
		plan.planFirst()
		p.planPlace(&plan)
	}
	p.limits(&plan)
	return plan, err
}

// toolsOfServers returns the tools of the servers that a definition names.
func toolsOfServers(def defs.Definition, tools []string) (own []string) {
	for _, t := range tools {
		if slices.ContainsFunc(def.MCPServers, func(s defs.MCPServer) bool { return s.Config == nil && strings.HasPrefix(t, "mcp__"+s.Name+"__") }) {
			own = append(own, t)
		}
	}
	return own
}

// typeOf returns the type of a call, which may name none.
func (p Policy) typeOf(plan *Plan, c Call) string {
	switch {
	case c.Type != "":
		return c.Type
	case p.ForkMode:
		plan.because("fork: the call names no type and fork mode is on")
		return forkType
	}
	plan.because("type general-purpose: the call names none")
	return "general-purpose"
}

// limitTools adds the specifiers in the definition's tools to the limits of the parent.
func (p *Plan) limitTools(def defs.Definition, parent agent.Spec) {
	p.Spec.Only = parent.Only
	if limits := defs.LimitedTools(def.Tools); len(limits) > 0 {
		p.Spec.Only = append(slices.Clip(p.Spec.Only), agent.ToolLimit{From: "the definition of " + def.Name, Tools: limits})
	}
	for _, l := range p.Spec.Only {
		p.because("only %s: %s", strings.Join(l.Tools, ", "), l.From)
	}
}

// isolate plans a directory of the agent's own. An agent that cannot be isolated does not
// start.
func (p *Plan) isolate(call, def, agent string) error {
	kind := cmp.Or(call, def)
	switch {
	case kind == "":
		return nil
	case kind == worktreeIsolation && call != "":
		p.because("isolation worktree: the call asks for it")
	case kind == worktreeIsolation:
		p.because("isolation worktree: the definition says so")
	default:
		return fmt.Errorf("agent %q asks for isolation %q, which this runtime cannot give; it was not started", agent, kind)
	}
	p.Spec.Isolation = kind
	return nil
}

// effortFrom adds to the plan where the effort is from.
func (p *Plan) effortFrom(call, def string) {
	switch {
	case call != "":
		p.because("effort %s: the call's", p.Spec.Effort)
	case def != "":
		p.because("effort %s: the definition's", p.Spec.Effort)
	case p.Spec.Effort != "":
		p.because("effort %s: the parent's", p.Spec.Effort)
	}
}

// turnsFrom adds to the plan where the limit of turns is from.
func (p *Plan) turnsFrom(call int, otherwise string) {
	switch {
	case p.Spec.MaxTurns == 0:
	case call > 0:
		p.because("turns %d: the call's", p.Spec.MaxTurns)
	default:
		p.because("turns %d: %s", p.Spec.MaxTurns, otherwise)
	}
}

const worktreeIsolation = "worktree"

// joinTeam gives a teammate what it needs to be one, whatever its definition
// lists (agent-system spec §3.9).
func (p *Plan) joinTeam(tools []string) {
	for _, name := range []string{"SendMessage", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"} {
		if slices.Contains(tools, name) && !slices.Contains(p.Spec.Tools, name) {
			p.Spec.Tools = append(p.Spec.Tools, name)
			p.because("%s: a teammate always has it", name)
		}
	}
}

// planPlace plans where a teammate runs.
func (p Policy) planPlace(plan *Plan) {
	if p.Where != "" {
		plan.Spec.Where = p.Where
		plan.because("in a process of its own (%s): the session's teammate mode", p.Where)
	}
}

func (p *Plan) because(format string, args ...any) {
	p.Reasons = append(p.Reasons, fmt.Sprintf(format, args...))
}

// forkType is the type whose agents begin with their parent's conversation. It
// is a path, not a definition.
const forkType = "fork"

// IsFork reports whether a type that a call names is not that of a definition
// but a fork.
func IsFork(name string) bool { return strings.EqualFold(name, forkType) }

// planFork plans a copy of the parent, with its system, tools and model, whatever the call
// asks for.
func (p Policy) planFork(plan Plan, c Call, parent agent.Spec) (Plan, error) {
	if err := plan.isolate(c.Isolation, "", forkType); err != nil {
		return plan, err
	}
	if c.Dir != "" {
		return plan, fmt.Errorf("a fork works where its parent does: leave out cwd")
	}
	plan.Definition = defs.Definition{Name: forkType}
	plan.Spec = agent.Spec{
		Isolation: plan.Spec.Isolation,
		Name:      c.Name, Type: forkType, Description: c.Description, Parent: parent.ID, Depth: parent.Depth + 1, Fork: true,
		Dir: parent.Dir, Model: parent.Model, Mode: parent.Mode, Effort: parent.Effort, Tools: parent.Tools, Only: parent.Only,
		MaxTurns: cmp.Or(max(c.MaxTurns, 0), forkMaxTurns), Budget: p.ChildBudget,
	}
	plan.because("model %s and tools: the parent's, since it is a fork", parent.Model)
	planMode(&plan, c, parent)
	noTeam := p
	noTeam.NoTeammates = true // a fork answers once
	noTeam.planRole(&plan, c, parent)
	plan.turnsFrom(c.MaxTurns, "a fork's")
	link, err := p.link(c)
	plan.link(link, c)
	p.limits(&plan)
	return plan, err
}

// limits adds the limits of the agent to the plan.
func (p Policy) limits(plan *Plan) {
	if p.ChildBudget != (budget.Limits{}) {
		plan.because("budget %v: the policy's, for each child and all below it", p.ChildBudget)
	}
	all := "any number"
	if n := p.MaxAgents; n > 0 {
		all = strconv.Itoa(n)
	}
	plan.because("limits: depth %d of %d, %d at work at once, %s in all", plan.Spec.Depth, p.MaxDepth, p.MaxConcurrent, all)
}

// forkMaxTurns bounds a fork for which the call names no limit.
const forkMaxTurns = 200

func (p Policy) admits(c Call, parent agent.Spec) error {
	switch {
	case parent.Fork:
		return errForkStarts
	case parent.Depth >= p.MaxDepth:
		return &LimitError{What: "depth", Max: p.MaxDepth}
	}
	return c.check(p, parent)
}

func (p Policy) planRole(plan *Plan, c Call, parent agent.Spec) {
	asks := c.Background != nil && *c.Background
	switch {
	case c.Member != nil:
		plan.Spec.Role, plan.Spec.Teams = agent.Teammate, []agent.Membership{*c.Member}
		plan.because("teammate: a member of the team %s", c.Member.Name)
	case c.Name != "" && parent.Role == agent.Lead && !p.NoTeammates:
		plan.Spec.Role = agent.Teammate
		if team, err := p.calledTeam(c.Team, parent); err == nil && team != p.SessionTeam() {
			plan.Spec.Teams = []agent.Membership{team}
		}
		plan.because("teammate: the lead named it %q", c.Name)
	case c.Name != "" && parent.Role == agent.Teammate && !p.NoTeammates:
		team, _ := p.calledTeam(c.Team, parent) // checked
		plan.Spec.Role, plan.Spec.Teams = agent.Teammate, []agent.Membership{team}
		plan.because("teammate in the team of %s: a teammate named it %q", agent.DisplayName(parent), c.Name)
	case p.NoBackground:
		plan.Spec.Role = agent.Foreground
		plan.because("foreground: background tasks are switched off")
	case asks:
		plan.Spec.Role = agent.Background
		plan.because("background: the call asks for it")
	case plan.Definition.Background:
		plan.Spec.Role = agent.Background
		plan.because("background: the definition says so")
	case p.ForkMode:
		plan.Spec.Role = agent.Background
		plan.because("background: fork mode is on")
	case p.BackgroundByDefault && c.Background == nil:
		plan.Spec.Role = agent.Background
		plan.because("background: the policy's default")
	default:
		plan.Spec.Role = agent.Foreground
		plan.because("foreground: nothing asks for background")
	}
}

// link returns what the end of its parent means for an agent.
func (p Policy) link(c Call) (agent.Link, error) {
	switch l := agent.Link(cmp.Or(c.OnParentEnd, string(p.OnParentEnd))); l {
	case agent.Reparent, agent.Continue, agent.StopWith:
		return l, nil
	default:
		return "", fmt.Errorf("on_parent_end is %q; use %s, %s or %s", l, agent.Reparent, agent.Continue, agent.StopWith)
	}
}

// link gives the agent its link. A teammate has none: it answers to its lead.
func (p *Plan) link(l agent.Link, c Call) {
	if p.Spec.Role == agent.Teammate {
		return
	}
	p.Spec.Link = l
	if c.OnParentEnd != "" {
		p.because("link %s: the call asks for it", l)
		return
	}
	p.because("link %s: the policy's", l)
}

func (p Policy) planModel(plan *Plan, c Call, parent agent.Spec) {
	id, from := p.ModelOrder.Resolve(c.Model, plan.Definition.Model, p.SubagentModel, parent.Model)
	plan.Spec.Model = id
	plan.because("model %s: from the %s", id, from)
}

// planMode takes the narrowest of the parent's mode, the definition's and the
// call's: a child never has more power than its parent. Where a model judges the parent's
// calls, it judges those of the child too: only modes in which nothing is asked narrow.
func planMode(plan *Plan, c Call, parent agent.Spec) {
	plan.Spec.Mode = parent.Mode
	for _, m := range []struct{ of, mode string }{{"definition's", plan.Definition.PermissionMode}, {"call's", c.Mode}} {
		if m.mode == "" {
			continue
		}
		was := plan.Spec.Mode
		if was == string(permission.Auto) && countsForNothing(m.mode) {
			plan.because("mode auto: the parent's, in which the %s (%s) does not count", m.of, m.mode)
			continue
		}
		plan.Spec.Mode = string(permission.Narrower(permission.Mode(was), permission.Mode(m.mode)))
		plan.because("mode %s: the narrower of the parent's (%s) and the %s (%s)", plan.Spec.Mode, was, m.of, m.mode)
	}
	if plan.Definition.PermissionMode == "" && c.Mode == "" {
		plan.because("mode %s: the parent's", parent.Mode)
	}
}

// countsForNothing reports a mode that does not narrow mode auto.
func countsForNothing(mode string) bool {
	m := permission.Narrower(permission.Mode(mode), permission.AcceptEdits)
	return m == permission.Default || m == permission.AcceptEdits
}

// planFirst makes a teammate plan that may do nothing but read: it shows its plan
// to the lead and has the lead's mode when that is approved.
func (p *Plan) planFirst() {
	if !Planning(p.Spec.Mode) {
		return
	}
	p.Spec.PlanRequired = true
	p.because("plans first: its mode is %s; it shows its plan to the lead with %s", p.Spec.Mode, ExitPlanMode)
}

// ExitPlanMode is the tool with which an agent shows its plan.
const ExitPlanMode = "ExitPlanMode"

// Planning reports a mode in which nothing but reading is free.
func Planning(mode string) bool {
	return permission.Narrower(permission.Mode(mode), permission.Plan) == permission.Mode(mode)
}
