package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/settings"
)

// grantSource is the source of rules that the user's answers have added, for messages.
const grantSource = "an answer of the user"

// Rules are the permission rules of a session: those that it was started with and those
// that answers have added since. Its methods may be called from any goroutine.
type Rules struct {
	deny, allow []permission.Rule
	settings    settings.Permissions
	flaws       []string // one line each
	record      func(granted []string) error

	mu      sync.Mutex
	granted []permission.Rule // guarded by mu; never changed in place
}

// RulesOptions are the texts of rules, such as "Bash(git diff:*)".
type RulesOptions struct {
	Allow, Deny []string
	Granted     []string // rules that answers have added before
	Settings    settings.Permissions
	// Record records granted rules before they apply. It may be nil.
	Record func(granted []string) error
}

// NewRules parses the rules. The error names a rule that does not parse.
func NewRules(o RulesOptions) (*Rules, error) {
	r := &Rules{record: o.Record, settings: o.Settings}
	for _, part := range []struct {
		texts  []string
		source string
		into   *[]permission.Rule
	}{
		{o.Allow, "--allowedTools", &r.allow},
		{o.Deny, "--disallowedTools", &r.deny},
		{o.Granted, grantSource, &r.granted},
	} {
		rules, err := parseRules(part.texts, part.source)
		if err != nil {
			return nil, err
		}
		*part.into = rules
	}
	r.deny, r.allow = slices.Concat(o.Settings.Deny, r.deny), slices.Concat(o.Settings.Allow, r.allow)
	r.findFlaws()
	return r, nil
}

// findFlaws finds rules that do not do what they seem to.
func (r *Rules) findFlaws() {
	tools := AllToolNames()
	for _, list := range []struct {
		behavior permission.Behavior
		rules    []permission.Rule
	}{{permission.Deny, r.deny}, {permission.Ask, r.settings.Ask}, {permission.Allow, r.allow}} {
		for _, rule := range list.rules {
			if flaw := rule.Flaw(list.behavior, tools); flaw != "" {
				r.flaws = append(r.flaws, rule.Source+": "+flaw)
			}
		}
	}
}

// Listed is a rule in force.
type Listed struct {
	Kind string `json:"kind"` // deny, ask or allow
	Rule string `json:"rule"`
	From string `json:"from"` // file and line, flag, or what else it is of
}

// List returns the rules in force in the order in which they are tried.
func (r *Rules) List() []Listed {
	p := r.Fill(permission.Policy{})
	all := []Listed{}
	for _, list := range []struct {
		kind  permission.Behavior
		rules []permission.Rule
	}{{permission.Deny, p.Deny}, {permission.Ask, p.Ask}, {permission.Allow, p.Allow}} {
		for _, rule := range list.rules {
			all = append(all, Listed{list.kind.String(), rule.String(), rule.Source})
		}
	}
	return all
}

// Settings returns what the settings files say.
func (r *Rules) Settings() settings.Permissions { return r.settings }

// Notes returns what is wrong with the rules, and which of them do not apply, one line
// each.
func (r *Rules) Notes() []string { return slices.Concat(r.settings.Notes, r.flaws) }

// Dirs returns the working directories that the settings add.
func (r *Rules) Dirs() []string {
	var dirs []string
	for _, d := range r.settings.Dirs {
		dirs = append(dirs, d.Value)
	}
	return dirs
}

// CheckMode returns an error if the settings disable a permission mode.
func (r *Rules) CheckMode(mode string) error {
	if mode == string(permission.Bypass) && r.settings.NoBypass != "" {
		return fmt.Errorf("the permission mode %s is disabled by %s (disableBypassPermissionsMode); use another --permission-mode", mode, r.settings.NoBypass)
	}
	return nil
}

func parseRules(texts []string, source string) ([]permission.Rule, error) {
	var rules []permission.Rule
	for _, text := range texts {
		r, err := permission.ParseRule(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		r.Source = source
		rules = append(rules, r)
	}
	return rules, nil
}

// Fill adds the current rules to a policy.
func (r *Rules) Fill(p permission.Policy) permission.Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Allow, p.Ask, p.Deny = slices.Concat(r.allow, r.granted), r.settings.Ask, r.deny
	if r.CheckMode(string(p.Mode)) != nil {
		p.Mode = permission.Default
	}
	return p
}

// Grant records allow rules and adds them.
func (r *Rules) Grant(texts []string) error {
	rules, err := parseRules(texts, grantSource)
	if err != nil {
		return err
	}
	if r.record != nil {
		if err := r.record(texts); err != nil {
			return err
		}
	}
	r.appendRules(rules)
	return nil
}

// Add adds allow rules that another process has recorded.
func (r *Rules) Add(texts []string) error {
	rules, err := parseRules(texts, grantSource)
	r.appendRules(rules)
	return err
}

func (r *Rules) appendRules(rules []permission.Rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.granted = slices.Concat(r.granted, rules)
}

// Denies reports whether a rule denies a tool as a whole. Such a tool is not offered.
func (r *Rules) Denies(tool string) bool {
	return slices.ContainsFunc(r.deny, func(d permission.Rule) bool { return d.Covers(tool) })
}

// AllowedTypes returns the agent types of a set that no rule such as Agent(type)
// denies.
func (r *Rules) AllowedTypes(set *defs.Set) *defs.Set {
	if len(r.deny) == 0 {
		return set
	}
	return set.Without(r.deniesType)
}

// deniesType reports whether the rules deny a call for an agent type.
func (r *Rules) deniesType(name string) bool {
	input, err := json.Marshal(map[string]string{"subagent_type": name, "prompt": "x", "description": "x"})
	if err != nil {
		return true // a name that cannot be encoded cannot be called
	}
	d := permission.Decide(permission.Policy{Mode: permission.Bypass, Deny: r.deny}, permission.Request{Tool: "Agent", Input: input})
	return d.Behavior == permission.Deny
}
