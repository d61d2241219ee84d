package permissions

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/trust"
)

// selection selects the agent whose permissions are shown.
type selection struct {
	dir, session, agent string
	mode, settings      string
	allow, deny, addDir []string
}

func (s *selection) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&s.dir, "dir", "", "the `directory` of the session (default: the working directory)")
	fs.StringVar(&s.session, "session", "", "a session's `id`: with its flags and the answers given in it")
	fs.StringVar(&s.agent, "agent", "", "the `name` of an agent definition (default: the lead)")
	fs.StringVar(&s.mode, "permission-mode", "", "the `mode` of the session, as for swarm run")
	fs.StringVar(&s.settings, "settings", "", "settings: `JSON`, or the path of a JSON file, as for swarm run")
	fs.StringArrayVar(&s.allow, "allowedTools", nil, "`rules` that allow, as for swarm run")
	fs.StringArrayVar(&s.deny, "disallowedTools", nil, "`rules` that deny, as for swarm run")
	fs.StringArrayVar(&s.addDir, "add-dir", nil, "a further working `directory`, as for swarm run")
}

// subject is an agent with its permissions.
type subject struct {
	spec       agent.Spec
	definition *defs.Definition // nil for the lead
	mode       settings.Placed  // From is how it was chosen
	rules      *node.Rules
	policy     permission.Policy
	tools      []string // of the session
	sources    defs.Options
	store      *trust.Store
	judge      string   // the model for mode auto, if it is chosen
	problems   []string // settings files that cannot be read as a whole
}

// load finds the agent and what applies to it, without starting anything.
func (s *selection) load(console *cli.Console) (*subject, error) {
	config, granted, modeFrom, err := s.config(console)
	if err != nil {
		return nil, err
	}
	parts, err := config.Load(granted, nil)
	if err != nil {
		return nil, err
	}
	out := &subject{rules: parts.Rules, sources: config.Sources(), store: trust.Open(config.StateDir), judge: console.Getenv(node.AutoModelVariable)}
	for _, p := range parts.Definitions.Problems() {
		if p.Fatal && strings.HasSuffix(p.Path, ".json") {
			out.problems = append(out.problems, p.String())
		}
	}
	for _, t := range node.AllToolNames() {
		if !parts.Rules.Denies(t) {
			out.tools = append(out.tools, t)
		}
	}
	out.spec = node.LeadSpec("", config.Mode, config.Dir, 0, out.tools)
	if s.agent != "" && s.agent != agent.LeadName {
		if err := out.plan(s.agent, parts.Definitions.Set(), config.PolicyOf("", parts.Rules)); err != nil {
			return nil, err
		}
		if out.spec.Mode != config.Mode {
			modeFrom = "the definition of " + s.agent
		}
	}
	if err := parts.Rules.CheckMode(out.spec.Mode); err != nil {
		written := parts.Rules.Settings()
		by := written.NoBypass
		if permission.Mode(out.spec.Mode).Judged() {
			by = written.NoAuto
		}
		modeFrom = fmt.Sprintf("%s is disabled by %s", out.spec.Mode, by)
	}
	out.policy = config.Permissions(out.spec, parts.Rules, parts.Sandbox)
	out.mode = settings.Placed{Value: string(out.policy.Mode), From: modeFrom}
	return out, nil
}

// plan makes the subject the agent that a call of the lead for a type makes.
func (o *subject) plan(name string, set *defs.Set, policy spawn.Policy) error {
	d, ok := set.Lookup(name)
	if !ok {
		text := "the agents are listed by: swarm agents list"
		if near := agent.Suggest(name, set.Names()); len(near) > 0 {
			text = "did you mean " + near[0] + "?"
		}
		return cli.Usagef("there is no agent %q; %s", name, text)
	}
	plan, err := policy.Plan(set, spawn.Call{Type: d.Name, Prompt: "x"}, o.spec, o.tools)
	if err != nil {
		return err
	}
	o.spec, o.definition = plan.Spec, &d
	return nil
}

// config returns the configuration of the session, the rules that answers have granted in
// it, and where its mode is from.
func (s *selection) config(console *cli.Console) (c node.Config, granted []string, modeFrom string, err error) {
	state, abs, err := console.Sessions().Directories(s.dir)
	if err != nil {
		return c, nil, "", err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return c, nil, "", fmt.Errorf("find the home directory; set HOME: %w", err)
	}
	c = node.Config{
		Dir: abs, StateDir: state, Home: home, Getenv: console.Getenv, Mode: s.mode, Settings: s.settings,
		Allow: cli.SplitRules(s.allow), Deny: cli.SplitRules(s.deny), AddDirs: absolute(abs, s.addDir),
	}
	if s.session != "" {
		info, err := console.Sessions().Find(s.dir, s.session)
		if err != nil {
			return c, nil, "", err
		}
		c.Mode = cmp.Or(c.Mode, "default")
		c.Inherit(&info)
		return c, info.Granted, "session " + info.ID, c.ReadEnvironment()
	}
	modeFrom = "--permission-mode"
	if c.Mode == "" {
		if written, err := c.ReadPermissions(); err == nil {
			c.Mode, modeFrom = written.Mode.Value, cmp.Or(written.Mode.From, "built in")
		}
	}
	return c, nil, modeFrom, c.ReadEnvironment()
}

// absolute returns directories as a session has them.
func absolute(dir string, names []string) []string {
	var all []string
	for _, name := range names {
		if !strings.HasPrefix(name, "/") {
			name = dir + "/" + name
		}
		all = append(all, name)
	}
	return all
}

// agentNames returns the names of the definitions of the directory.
func (s *selection) agentNames(console *cli.Console) []string {
	config, _, _, err := s.config(console)
	if err != nil {
		return nil
	}
	set, err := defs.Load(config.Sources())
	if err != nil {
		return nil
	}
	return slices.Sorted(slices.Values(set.Names()))
}
