package spawn_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
)

func TestPlan(t *testing.T) {
	set, err := defs.Load(defs.Options{FlagJSON: `{
		"bg":{"description":"d","prompt":"p","background":true},
		"narrow":{"description":"d","prompt":"p","permissionMode":"plan","model":"haiku","maxTurns":7},
		"wide":{"description":"d","prompt":"p","permissionMode":"bypassPermissions"},
		"isolated":{"description":"d","prompt":"p","isolation":"worktree"}}`})
	must(t, err)
	yes, no := true, false
	lead := agent.Spec{ID: "lead", Role: agent.Lead, Model: "claude-opus-4-1", Mode: "acceptEdits"}
	auto := agent.Spec{ID: "a1", Role: agent.Foreground, Depth: 1, Model: "m", Mode: "auto"}
	deep := agent.Spec{ID: "a1", Role: agent.Foreground, Depth: 3, Model: "m", Mode: "default"}
	tools := []string{"Read", "Bash", "Agent", "SendMessage"}
	for name, c := range map[string]struct {
		policy spawn.Policy
		parent agent.Spec
		call   spawn.Call
		role   agent.Role
		model  string
		mode   string
		err    string
	}{
		"plain":               {parent: lead, role: agent.Foreground, model: "claude-opus-4-1", mode: "acceptEdits"},
		"call asks":           {parent: lead, call: spawn.Call{Background: &yes}, role: agent.Background, model: "claude-opus-4-1", mode: "acceptEdits"},
		"definition says":     {parent: lead, call: spawn.Call{Type: "bg"}, role: agent.Background, model: "claude-opus-4-1", mode: "acceptEdits"},
		"policy default":      {policy: spawn.Policy{BackgroundByDefault: true}, parent: lead, role: agent.Background, model: "claude-opus-4-1", mode: "acceptEdits"},
		"call against policy": {policy: spawn.Policy{BackgroundByDefault: true}, parent: lead, call: spawn.Call{Background: &no}, role: agent.Foreground, model: "claude-opus-4-1", mode: "acceptEdits"},
		"background is off":   {policy: spawn.Policy{NoBackground: true}, parent: lead, call: spawn.Call{Background: &yes}, role: agent.Foreground, model: "claude-opus-4-1", mode: "acceptEdits"},
		"named by the lead":   {parent: lead, call: spawn.Call{Name: "ann"}, role: agent.Teammate, model: "claude-opus-4-1", mode: "acceptEdits"},
		"named by a child":    {parent: agent.Spec{ID: "a1", Depth: 1, Role: agent.Foreground, Model: "m", Mode: "default"}, call: spawn.Call{Name: "ann"}, role: agent.Foreground, model: "m", mode: "default"},
		"own model and mode":  {parent: lead, call: spawn.Call{Type: "Narrow"}, role: agent.Foreground, model: "haiku", mode: "plan"},
		"call's model wins":   {parent: lead, call: spawn.Call{Type: "narrow", Model: "opus"}, role: agent.Foreground, model: "claude-opus-4-1", mode: "plan"},
		"auto stays":          {parent: auto, call: spawn.Call{Type: "wide"}, role: agent.Foreground, model: "m", mode: "auto"},
		"auto and a call":     {parent: auto, call: spawn.Call{Mode: "acceptEdits"}, role: agent.Foreground, model: "m", mode: "auto"},
		"auto is narrowed":    {parent: auto, call: spawn.Call{Type: "narrow"}, role: agent.Foreground, model: "haiku", mode: "auto+plan"},
		"auto of a fork":      {parent: auto, call: spawn.Call{Type: "fork", Mode: "default"}, role: agent.Foreground, model: "m", mode: "auto"},
		"auto is not given":   {parent: agent.Spec{ID: "a1", Depth: 1, Role: agent.Foreground, Model: "m", Mode: "default"}, call: spawn.Call{Mode: "auto"}, role: agent.Foreground, model: "m", mode: "auto+default"},
		"never wider":         {parent: lead, call: spawn.Call{Type: "wide"}, role: agent.Foreground, model: "claude-opus-4-1", mode: "acceptEdits"},
		"too deep":            {parent: deep, err: "nested 3 deep"},
		"unknown type":        {parent: lead, call: spawn.Call{Type: "nonesuch"}, err: `no agent type "nonesuch"; the types are: `},
		"isolated":            {parent: lead, call: spawn.Call{Type: "isolated"}, role: agent.Foreground, model: "claude-opus-4-1", mode: "acceptEdits"},
		"cannot be isolated":  {parent: lead, call: spawn.Call{Isolation: "remote"}, err: "was not started"},
		"no prompt":           {parent: lead, call: spawn.Call{Prompt: " "}, err: "no prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.call.Prompt == "" {
				c.call.Prompt = "p"
			}
			plan, err := c.policy.Plan(set, c.call, c.parent, tools)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			must(t, err)
			if s := plan.Spec; s.Role != c.role || s.Model != c.model || s.Mode != c.mode {
				t.Errorf("role %s model %s mode %s, want %s %s %s (%v)", s.Role, s.Model, s.Mode, c.role, c.model, c.mode, plan.Reasons)
			}
		})
	}
}

func TestATeammateCanAlwaysWriteToOthers(t *testing.T) {
	set, err := defs.Load(defs.Options{FlagJSON: `{"reader":{"description":"d","prompt":"p","tools":"Read","disallowedTools":"SendMessage"}}`})
	must(t, err)
	lead := agent.Spec{ID: "lead", Role: agent.Lead, Model: "m", Mode: "default"}
	for name, want := range map[string][]string{"ann": {"Read", "SendMessage"}, "": {"Read"}} {
		plan, err := spawn.Policy{}.Plan(set, spawn.Call{Prompt: "p", Type: "reader", Name: name}, lead, []string{"Read", "Bash", "SendMessage"})
		must(t, err)
		if !slices.Equal(plan.Spec.Tools, want) {
			t.Errorf("named %q: tools %v, want %v", name, plan.Spec.Tools, want)
		}
	}
}

func TestPlanChecksModeTeamEffortAndDirectory(t *testing.T) {
	set, err := defs.Load(defs.Options{FlagJSON: `{"narrow":{"description":"d","prompt":"p","permissionMode":"plan"}}`})
	must(t, err)
	lead := agent.Spec{ID: "lead", Role: agent.Lead, Model: "m", Mode: "acceptEdits", Dir: "/home/p"}
	p := spawn.Policy{Team: "blue", Dirs: []string{"/more"}}
	for name, c := range map[string]struct {
		call           spawn.Call
		mode, dir, err string
	}{
		"narrower mode":    {call: spawn.Call{Mode: "default"}, mode: "default", dir: "/home/p"},
		"wider mode":       {call: spawn.Call{Mode: "bypassPermissions"}, mode: "acceptEdits", dir: "/home/p"},
		"of three":         {call: spawn.Call{Mode: "default", Type: "NARROW"}, mode: "plan", dir: "/home/p"},
		"of a fork":        {call: spawn.Call{Mode: "plan", Type: "Fork"}, mode: "plan", dir: "/home/p"},
		"unknown mode":     {call: spawn.Call{Mode: "yolo"}, err: "unknown permission mode"},
		"own team":         {call: spawn.Call{Team: "Blue"}, mode: "acceptEdits", dir: "/home/p"},
		"other team":       {call: spawn.Call{Team: "red"}, err: `there is no team "red"`},
		"effort":           {call: spawn.Call{Effort: "12"}, mode: "acceptEdits", dir: "/home/p"},
		"unknown effort":   {call: spawn.Call{Effort: "huge"}, err: "effort is"},
		"directory below":  {call: spawn.Call{Dir: "sub/x"}, mode: "acceptEdits", dir: "/home/p/sub/x"},
		"directory added":  {call: spawn.Call{Dir: "/more/x"}, mode: "acceptEdits", dir: "/more/x"},
		"directory beside": {call: spawn.Call{Dir: "/home/pp"}, err: "not a directory in which you work"},
		"directory above":  {call: spawn.Call{Dir: "sub/../.."}, err: "not a directory in which you work"},
		"two directories":  {call: spawn.Call{Dir: "sub", Isolation: "worktree"}, err: "leave out cwd or isolation"},
		"unknown link":     {call: spawn.Call{OnParentEnd: "cry"}, err: "on_parent_end"},
	} {
		t.Run(name, func(t *testing.T) {
			c.call.Prompt = "p"
			plan, err := p.Plan(set, c.call, lead, []string{"Read"})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("the error is %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || plan.Spec.Mode != c.mode || plan.Spec.Dir != c.dir {
				t.Errorf("mode %s, directory %s, %v; want %s, %s", plan.Spec.Mode, plan.Spec.Dir, err, c.mode, c.dir)
			}
		})
	}
}

func TestPlanIsPure(t *testing.T) {
	set, err := defs.Load(defs.Options{FlagJSON: `{"wide":{"description":"d","prompt":"p","permissionMode":"bypassPermissions","tools":["Read","Agent"]}}`})
	must(t, err)
	lead := agent.Spec{ID: "lead", Role: agent.Lead, Model: "m", Mode: "acceptEdits", Dir: "/home/p", Tools: []string{"Read", "Agent"}}
	tools := []string{"Read", "Bash", "Agent", "SendMessage"}
	for _, call := range []spawn.Call{
		{Prompt: "p", Type: "wide"}, {Prompt: "p", Type: "fork"}, {Prompt: "p", Name: "ann", Mode: "plan", Effort: "high", MaxTurns: 3},
	} {
		one, err := spawn.Policy{Team: "blue"}.Plan(set, call, lead, tools)
		must(t, err)
		two, err := spawn.Policy{Team: "blue"}.WithDefaults().Plan(set, call, lead, slices.Clone(tools))
		must(t, err)
		if !reflect.DeepEqual(one, two) {
			t.Errorf("two plans of %+v:\n%+v\n%+v", call, one, two)
		}
		if want := []string{"Read", "Bash", "Agent", "SendMessage"}; !slices.Equal(tools, want) || !slices.Equal(lead.Tools, []string{"Read", "Agent"}) {
			t.Errorf("the plan of %+v changed its arguments: %v, %v", call, tools, lead.Tools)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
