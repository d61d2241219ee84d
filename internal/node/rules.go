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
	deny, allow []permission.Rule  // of flags
	files       *settings.Follower // nil if there are none
	record      func(granted []string) error
	save        func(settings.Scope, permission.Rule) (place string, err error)

	mu      sync.Mutex
	granted []permission.Rule // guarded by mu; never changed in place
	held    settings.Held     // of the owner of this process; guarded by mu
	version int               // counts readings of the settings; guarded by mu
	warn    func(text string) // may be nil; guarded by mu
	warned  map[string]bool   // the notes that were given; guarded by mu
}

// RulesOptions are the texts of rules, such as "Bash(git diff:*)".
type RulesOptions struct {
	Allow, Deny []string
	Granted     []string // rules that answers have added before
	// Files are the settings files, whose rules apply as they are at each decision. It
	// may be nil.
	Files *settings.Follower
	// Record records granted rules before they apply. It may be nil.
	Record func(granted []string) error
	// Save adds an allow rule to the settings file of a scope and returns its place. It
	// may be nil.
	Save func(settings.Scope, permission.Rule) (place string, err error)
}

// NewRules parses the rules. The error names a rule that does not parse.
func NewRules(o RulesOptions) (*Rules, error) {
	r := &Rules{record: o.Record, files: o.Files, save: o.Save}
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
	return r, nil
}

// Warn calls warn from now on with what comes to be wrong with the rules in the settings
// files, and when they change.
func (r *Rules) Warn(warn func(text string)) {
	known := r.Notes()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warn, r.warned = warn, map[string]bool{}
	for _, note := range known {
		r.warned[note] = true
	}
}

// Settings returns what the settings files say now. What is new in them is a warning.
func (r *Rules) Settings() settings.Permissions {
	if r.files == nil {
		return settings.Permissions{}
	}
	now, again := r.files.Permissions()
	if again {
		r.announce(now)
	}
	return now
}

// announce gives the warnings about settings that were read again.
func (r *Rules) announce(now settings.Permissions) {
	r.mu.Lock()
	r.version++
	warn := r.warn
	var fresh []string
	for _, note := range notes(now, r.deny, r.allow) {
		if !r.warned[note] && warn != nil {
			r.warned[note] = true
			fresh = append(fresh, note)
		}
	}
	r.mu.Unlock()
	for _, note := range fresh {
		warn(note)
	}
}

// Hold adds the rules that the owner of this process holds although they were removed
// from their files.
func (r *Rules) Hold(held settings.Held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(held.Deny) != len(r.held.Deny) || len(held.Ask) != len(r.held.Ask) {
		r.version++
	}
	r.held = held
}

// Version returns a number that changes with the rules of the settings files.
func (r *Rules) Version() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version
}

// notes returns what is wrong with rules, one line each.
func notes(written settings.Permissions, deny, allow []permission.Rule) []string {
	return slices.Concat(written.Notes, flaws(slices.Concat(written.Deny, deny), written.Ask, slices.Concat(written.Allow, allow)))
}

// flaws finds rules that do not do what they seem to.
func flaws(deny, ask, allow []permission.Rule) (all []string) {
	tools := AllToolNames()
	for _, list := range []struct {
		behavior permission.Behavior
		rules    []permission.Rule
	}{{permission.Deny, deny}, {permission.Ask, ask}, {permission.Allow, allow}} {
		for _, rule := range list.rules {
			if flaw := rule.Flaw(list.behavior, tools); flaw != "" {
				all = append(all, rule.Source+": "+flaw)
			}
		}
	}
	return all
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

// Notes returns what is wrong with the rules, and which of them do not apply, one line
// each.
func (r *Rules) Notes() []string { return notes(r.Settings(), r.deny, r.allow) }

// Dirs returns the working directories that the settings add.
func (r *Rules) Dirs() []string {
	var dirs []string
	for _, d := range r.Settings().Dirs {
		dirs = append(dirs, d.Value)
	}
	return dirs
}

// CheckMode returns an error if the settings disable a permission mode.
func (r *Rules) CheckMode(mode string) error {
	written, by, key := r.Settings(), "", ""
	switch {
	case mode == string(permission.Bypass):
		by, key = written.NoBypass, "disableBypassPermissionsMode"
	case permission.Mode(mode).Judged():
		by, key = written.NoAuto, "disableAutoMode"
	}
	if by != "" {
		return fmt.Errorf("the permission mode %s is disabled by %s (%s); use another --permission-mode", mode, by, key)
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
	written := r.Settings()
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Allow, p.Ask, p.Deny = slices.Concat(written.Allow, r.allow, r.granted), slices.Concat(written.Ask, r.held.Ask), slices.Concat(written.Deny, r.deny, r.held.Deny)
	if p.Mode == permission.Bypass && written.NoBypass != "" {
		p.Mode = permission.Default
	}
	if written.NoAuto != "" {
		p.Mode = p.Mode.WithoutAuto()
	}
	return p
}

// Allow adds allow rules to the settings file of a scope, or to the session if scope is
// "". Those that do not apply there, as the file needs trust, are added to the session too.
func (r *Rules) Allow(texts []string, scope string) error {
	if scope == "" || r.save == nil {
		return r.Grant(texts)
	}
	rules, err := parseRules(texts, grantSource)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if _, err := r.save(settings.Scope(scope), rule); err != nil {
			return err
		}
	}
	inForce := r.Settings().Allow
	var missing []string
	for _, rule := range rules {
		if !slices.ContainsFunc(inForce, func(f permission.Rule) bool { return f.String() == rule.String() }) {
			missing = append(missing, rule.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return r.Grant(missing)
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

// AddGranted adds allow rules that the owner of this process has granted. Those of a scope
// are read from its file.
func (r *Rules) AddGranted(texts []string, scope string) error {
	if scope != "" {
		return nil
	}
	return r.Add(texts)
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
	return slices.ContainsFunc(r.denied(), func(d permission.Rule) bool { return d.Covers(tool) })
}

// denied returns the rules that deny.
func (r *Rules) denied() []permission.Rule { return slices.Concat(r.Settings().Deny, r.deny) }

// AllowedTypes returns the agent types of a set that no rule such as Agent(type)
// denies.
func (r *Rules) AllowedTypes(set *defs.Set) *defs.Set {
	deny := r.denied()
	if len(deny) == 0 {
		return set
	}
	return set.Without(func(name string) bool { return deniesType(deny, name) })
}

// deniesType reports whether rules deny a call for an agent type.
func deniesType(deny []permission.Rule, name string) bool {
	input, err := json.Marshal(map[string]string{"subagent_type": name, "prompt": "x", "description": "x"})
	if err != nil {
		return true // a name that cannot be encoded cannot be called
	}
	d := permission.Decide(permission.Policy{Mode: permission.Bypass, Deny: deny}, permission.Request{Tool: "Agent", Input: input})
	return d.Behavior == permission.Deny
}
