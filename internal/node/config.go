package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/defcheck"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/isolation"
	"github.com/actorswarm/swarm/internal/mcpclient"
	"github.com/actorswarm/swarm/internal/mcpconfig"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/provider"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/statefile"
	"github.com/actorswarm/swarm/internal/trust"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
)

// Config holds the settings of a session's agents from options, record and environment.
// It is the same in all processes of the session.
type Config struct {
	Dir                 string // where the agents work; absolute, like all directories here
	StateDir            string // where sessions are kept
	Home                string // of the user; "" is none
	AddDirs, PluginDirs []string

	Getenv func(string) string
	Logger *slog.Logger

	Model, Mode string // of the lead
	MaxTurns    int    // of the lead
	System      string // replaces the lead's system prompt
	Agents      string // the value of --agents
	Settings    string // the value of --settings
	Allow, Deny []string
	MCP         []string // the values of --mcp-config
	StrictMCP   bool     // no other MCP servers

	Budget budget.Limits // of all agents together
	Policy spawn.Policy
	// Window is the size in tokens of the models' context windows; 0 takes it from the
	// table of prices. CompactWindow limits it unless it is 0.
	Window, CompactWindow int
	// FindModel, if set, resolves all model names in place of the providers.
	FindModel func(name string) (m model.Model, id string, err error)
}

// ReadEnvironment sets fields that are empty from the environment. Its errors are
// *session.OptionError.
func (c *Config) ReadEnvironment() error {
	mode, err := permission.ParseMode(cmp.Or(c.Mode, "default"))
	if err != nil {
		return &session.OptionError{Err: err}
	}
	c.Mode = string(mode)
	p := &c.Policy
	p.SubagentModel = cmp.Or(p.SubagentModel, c.Getenv("CLAUDE_CODE_SUBAGENT_MODEL"))
	p.NoBackground = p.NoBackground || c.Getenv("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") == "1"
	p.ForkMode = p.ForkMode || c.Getenv("CLAUDE_CODE_FORK_SUBAGENT") == "1"
	return errors.Join(
		c.readPositive("SWARM_CONTEXT_WINDOW", &c.Window),
		c.readPositive("CLAUDE_CODE_AUTO_COMPACT_WINDOW", &c.CompactWindow),
		c.readPositive("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", &p.MaxConcurrent),
		c.readPositive("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", &p.MaxDepth),
		c.readPositive("SWARM_MAX_AGENTS", &p.MaxAgents),
		c.readPositive("SWARM_MAX_AGENTS_PER_ANSWER", &p.MaxPerAnswer),
		c.readDeadline("SWARM_START_TIMEOUT", &p.Deadlines.Start),
		c.readDeadline("SWARM_GAP_TIMEOUT", &p.Deadlines.Gap),
		c.readDeadline("SWARM_TOOL_TIMEOUT", &p.Deadlines.Tool),
		c.readDeadline("SWARM_RUN_TIMEOUT", &p.Deadlines.Run),
	)
}

// readPositive reads a variable with a positive number unless it is given already.
func (c *Config) readPositive(name string, into *int) error {
	value := c.Getenv(name)
	if value == "" || *into != 0 {
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return &session.OptionError{Err: fmt.Errorf("%s is %q; give a whole number from 1 up, or unset it", name, value)}
	}
	*into = n
	return nil
}

// readDeadline reads a variable with a deadline unless it is given already.
func (c *Config) readDeadline(name string, into *time.Duration) error {
	value := c.Getenv(name)
	if value == "" || *into != 0 {
		return nil
	}
	d, err := agent.ParseDeadline(value)
	if err != nil {
		return &session.OptionError{Err: fmt.Errorf("%s is %w", name, err)}
	}
	*into = d
	return nil
}

// Inherit sets fields that are empty from the record of a session, and records the
// fields that its next start inherits.
func (c *Config) Inherit(i *session.Info) {
	c.Dir = i.Dir
	c.Model, c.Agents, c.System = cmp.Or(c.Model, i.Model), cmp.Or(c.Agents, i.Agents), cmp.Or(c.System, i.System)
	c.Settings = cmp.Or(c.Settings, i.Settings)
	if c.Mode == "default" {
		c.Mode = i.Mode
	}
	c.Allow, c.Deny = slices.Concat(c.Allow, i.Allow), slices.Concat(c.Deny, i.Deny)
	c.AddDirs, c.PluginDirs = slices.Concat(c.AddDirs, i.AddDirs), slices.Concat(c.PluginDirs, i.PluginDirs)
	c.MaxTurns = cmp.Or(c.MaxTurns, i.MaxTurns)
	c.Budget, c.Policy.ChildBudget = c.Budget.Or(i.Budget), c.Policy.ChildBudget.Or(i.PerChild)
	c.Policy.Deadlines = c.Policy.Deadlines.Or(i.Deadlines)
	c.MCP, c.StrictMCP = append(slices.Clip(c.MCP), i.MCP...), c.StrictMCP || i.StrictMCP
	i.Settings, i.MCP, i.StrictMCP = c.Settings, c.MCP, c.StrictMCP
	i.Model, i.Mode, i.MaxTurns, i.Deadlines = c.Model, c.Mode, c.MaxTurns, c.Policy.Deadlines
	i.Budget, i.PerChild = c.Budget, c.Policy.ChildBudget
}

// Resume is Inherit for a session that starts again. The mode bypassPermissions is not
// inherited: it is chosen anew. The note says so; it is "" if there is nothing to say.
func (c *Config) Resume(i *session.Info) (note string) {
	dropped := i.Mode == string(permission.Bypass) && c.Mode == string(permission.Default)
	if dropped {
		i.Mode = c.Mode
	}
	c.Inherit(i)
	if !dropped {
		return ""
	}
	c.Mode = ""
	c.ReadMode()
	c.Mode = cmp.Or(c.Mode, string(permission.Default))
	if i.Mode = c.Mode; c.Mode == string(permission.Bypass) {
		return ""
	}
	return fmt.Sprintf("the session goes on in mode %s: bypassPermissions is not restored; give --dangerously-skip-permissions again", c.Mode)
}

// Sources returns where agent definitions and settings come from.
func (c Config) Sources() defs.Options {
	o := c.places()
	o.Check = defcheck.New(AllToolNames, c.ServerNames).Problems
	return o
}

// ServerNames returns the names of the MCP servers that are configured.
func (c Config) ServerNames() (names []string) {
	servers, _ := mcpconfig.Read(c.ServerOptions())
	for _, s := range servers {
		names = append(names, s.Name)
	}
	return names
}

// ServerOptions returns where MCP servers are configured.
func (c Config) ServerOptions() mcpconfig.Options {
	return mcpconfig.Options{Sources: c.places(), StateDir: c.StateDir, Getenv: c.Getenv, Flags: c.MCP, Strict: c.StrictMCP, Trusts: c.trusts}
}

// places is Sources without what checks definitions.
func (c Config) places() defs.Options {
	return defs.Options{
		Cwd: c.Dir, Home: c.Home, AddDirs: c.AddDirs, PluginDirs: c.PluginDirs, FlagJSON: c.Agents, Settings: c.Settings,
		ManagedDir: cmp.Or(c.Getenv("SWARM_MANAGED_DIR"), defs.DefaultManagedDir()),
		Trusted:    defs.TrustedUnlessRefused(c.Home),
	}.WithEnv(c.Getenv)
}

// PolicyOf returns the policy for the agents of a session, with its own team and the
// directories that may be written.
func (c Config) PolicyOf(id string, r *Rules) spawn.Policy {
	p := c.Policy
	p.Team = cmp.Or(p.Team, team.Own(id))
	p.Dirs = slices.Concat(p.Dirs, c.AddDirs, r.Dirs())
	return p
}

// Permissions returns the policy for the calls of an agent that is not isolated.
func (c Config) Permissions(spec agent.Spec, r *Rules, by settings.Sandbox) permission.Policy {
	return r.Fill(permission.Policy{
		Mode: c.boundedMode(spec), Home: c.Home, Resolve: Resolve, ReadDir: ReadDir,
		Unconfined: sandbox.Probe().Enforces(sandbox.Inspect) != nil, Contained: sandbox.Probe().Contains(), NoEdits: noEdits(), Sandbox: by.Rules(), Private: c.private("", []string{spec.Dir}),
		Dirs: slices.Concat([]string{spec.Dir}, c.AddDirs, r.Dirs()), Only: tools.Limits(spec),
	})
}

// boundedMode returns the mode of an agent. One that was started in bypassPermissions has it
// only while the session does.
func (c Config) boundedMode(spec agent.Spec) permission.Mode {
	if mode := permission.Mode(spec.Mode); mode != permission.Bypass || c.Mode == spec.Mode {
		return mode
	}
	return permission.Narrower(permission.Bypass, permission.Mode(c.Mode))
}

// noEdits says why the machine cannot hold commands to changing the working directories,
// or "".
func noEdits() string {
	if err := sandbox.Probe().Enforces(sandbox.Edit); err != nil {
		return err.Error()
	}
	return ""
}

// SandboxNotes returns what is wrong with the key sandbox of the settings, and what the
// machine cannot enforce and the lead's mode relies on.
func (c Config) SandboxNotes() []string {
	written, err := settings.ReadSandbox(c.Sources())
	if err != nil {
		return nil // the session does not start
	}
	if why := noEdits(); why != "" && c.Mode == string(permission.AcceptEdits) {
		return append(written.Notes, "mode acceptEdits asks about commands that change files: "+why)
	}
	return written.Notes
}

// TaskList returns the name of the task list that the agents of a session share: the
// session's id, or the value of CLAUDE_CODE_TASK_LIST_ID.
func (c Config) TaskList(id string) string {
	return cmp.Or(c.Getenv("CLAUDE_CODE_TASK_LIST_ID"), id)
}

// Parts are the files that a Config names, loaded.
type Parts struct {
	Rules       *Rules
	Definitions *Definitions
	Models      *provider.Models
	Prices      *price.Table
	Sandbox     settings.Sandbox
	Servers     []mcpclient.Server
	ServerNotes []string // about the servers, for the user
}

// Load reads the rules, the definitions and the table of prices. It starts nothing. A
// mistake of the user's is a *session.OptionError.
func (c Config) Load(granted []string, keep func(granted []string) error) (p Parts, err error) {
	files, err := settings.Follow(c.Sources(), c.StateDir, c.trustState)
	if err != nil {
		return p, &session.OptionError{Err: err}
	}
	p.Rules, err = NewRules(RulesOptions{Allow: c.Allow, Deny: c.Deny, Granted: granted, Files: files, Record: keep, Save: c.saveRule})
	if err != nil {
		return p, &session.OptionError{Err: err}
	}
	if p.Sandbox, err = settings.ReadSandbox(c.Sources()); err != nil {
		return p, &session.OptionError{Err: err}
	}
	p.Definitions, err = LoadDefinitions(DefinitionsOptions{
		Sources: c.Sources(), Rules: p.Rules, LeadPrompt: c.System, Shell: c.Getenv("SHELL"), Trusts: c.trusts,
		NoInstructions: c.Getenv("CLAUDE_CODE_DISABLE_CLAUDE_MDS") == "1",
	})
	if err != nil {
		return p, &session.OptionError{Err: err}
	}
	p.Servers, p.ServerNotes = mcpconfig.Read(c.ServerOptions())
	p.Models = provider.New(provider.Options{Getenv: c.Getenv, Find: c.FindModel})
	p.Prices, err = ReadPrices(c.StateDir)
	return p, err
}

// saveRule adds an allow rule to the settings file of a scope, for a person.
func (c Config) saveRule(scope settings.Scope, rule permission.Rule) (place string, err error) {
	return settings.Save(c.Sources(), trust.Open(c.StateDir), scope, "allow", rule)
}

// pricesFile is the user's table of prices and windows, in the state directory.
const pricesFile = "models.yaml"

// ReadPrices reads the table of prices. A wrong entry is a *session.OptionError.
func ReadPrices(stateDir string) (*price.Table, error) {
	t, err := price.Load(filepath.Join(stateDir, pricesFile))
	switch {
	case errors.As(err, new(*fs.PathError)):
		return nil, statefile.Error(stateDir, err)
	case err != nil:
		return nil, &session.OptionError{Err: err}
	}
	return t, nil
}

// Hooks returns the hooks in the settings files of the user and of directories that the
// user trusts. HookProblems reports mistakes in these files.
func (c Config) Hooks() *hook.Set {
	set, _ := settings.Hooks(c.Sources(), c.trustState)
	return set
}

// HookProblems returns what is wrong with the hooks in the settings files, one line
// each, and which of them do not run.
func (c Config) HookProblems() (all []string) {
	_, problems := settings.Hooks(c.Sources(), c.trustState)
	for _, p := range problems {
		all = append(all, p.Error())
	}
	return all
}

// trusts reports whether the user trusts what a directory would run.
func (c Config) trusts(i trust.Item) bool { return trust.Open(c.StateDir).Trusts(i) }

// trustState returns what the user has said of it.
func (c Config) trustState(i trust.Item) trust.State { return trust.Open(c.StateDir).State(i) }

// Isolation returns the directories of the isolated agents of a session. root is the
// directory of the session, path that of this process. Commands run in the environment
// of this configuration.
func (c Config) Isolation(id, root, path string, agents isolation.Agents) *isolation.Directories {
	return isolation.New(isolation.Options{
		Place:   c.HookPlace(path),
		Session: id, Root: root, Dir: c.Dir, Agents: agents, Transcripts: filepath.Join(path, "transcripts"),
		Hooks: c.Hooks, Getenv: c.Getenv, Logger: c.Logger,
	})
}
