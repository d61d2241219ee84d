package defs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	errTooLong = errors.New("the value is too long to be read as YAML")
	errSplit   = errors.New("the lines are not one field")
)

func errOrSplit(err error) error {
	if err != nil {
		return err
	}
	return errSplit
}

// canonicalField returns the name of a known field for any spelling that
// differs in case and separators, or "".
func canonicalField(key string) string {
	switch fold(key) {
	case "name":
		return "name"
	case "description", "whentouse":
		return "description"
	case "tools":
		return "tools"
	case "disallowedtools":
		return "disallowedTools"
	case "model":
		return "model"
	case "permissionmode":
		return "permissionMode"
	case "maxturns":
		return "maxTurns"
	case "background":
		return "background"
	case "color", "colour":
		return "color"
	case "effort":
		return "effort"
	case "memory":
		return "memory"
	case "isolation":
		return "isolation"
	case "initialprompt":
		return "initialPrompt"
	case "skills":
		return "skills"
	case "omitclaudemd":
		return "omitClaudeMd"
	case "oneshot":
		return "oneShot"
	}
	return keptField(key)
}

// keptField reports fields that readers of Extra use.
func keptField(key string) string {
	switch fold(key) {
	case "hooks":
		return "hooks"
	case "mcpservers":
		return "mcpServers"
	case "requiredmcpservers":
		return "requiredMcpServers"
	case "forkcontext":
		return "forkContext"
	case "criticalsystemreminder", "criticalsystemreminderexperimental":
		return "criticalSystemReminder"
	case "experimental":
		return "experimental"
	case "autocompactwindow":
		return "autoCompactWindow"
	case "observer":
		return "observer"
	}
	return ""
}

// isAlias reports valid spellings that are not canonical.
func isAlias(key string) bool {
	return key == "when-to-use" || key == "whenToUse" || key == "criticalSystemReminder_EXPERIMENTAL"
}

func isList(key string) bool {
	switch canonicalField(key) {
	case "tools", "disallowedTools", "skills", "requiredMcpServers":
		return true
	}
	return false
}

// set stores one field. f.key is canonical.
func (p *parser) set(d *Definition, f field) {
	switch f.key {
	case "name":
		d.Name = p.text(f)
	case "description":
		d.Description = p.prose(f)
	case "tools":
		d.Tools = p.tools(f)
	case "disallowedTools":
		d.DisallowedTools = p.list(f)
	case "skills":
		d.Skills = p.list(f)
	case "maxTurns":
		d.MaxTurns = p.count(f)
	case "background":
		d.Background = p.flag(f)
	case "omitClaudeMd":
		d.OmitClaudeMD = p.flag(f)
	case "initialPrompt":
		d.InitialPrompt = p.prose(f)
	case "oneShot":
		if p.from == BuiltIn {
			d.OneShot = p.flag(f)
			return
		}
		p.keep(d, f)
	case "hooks", "mcpServers", "requiredMcpServers", "forkContext", "criticalSystemReminder":
		p.setMore(d, f)
	default:
		p.setWord(d, f)
	}
}

// setWord stores the fields that take one word.
func (p *parser) setWord(d *Definition, f field) {
	switch f.key {
	case "model":
		d.Model = p.model(f)
	case "permissionMode":
		d.PermissionMode = p.mode(f)
	case "color":
		d.Color = p.choice(f, Colors())
	case "effort":
		d.Effort = p.effort(f)
	case "memory":
		d.Memory = p.choice(f, []string{"user", "project", "local"})
	case "isolation":
		d.Isolation = p.isolation(f)
	default:
		p.keep(d, f)
	}
}

// text reads a scalar as a string. Anything else is fatal for the name, and a warning
// otherwise.
func (p *parser) text(f field) string {
	n := resolve(f.node)
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return strings.TrimSpace(n.Value)
	}
	if n.Kind != yaml.ScalarNode {
		p.warn(f.line, "%s must be text, not %s; it is ignored", f.key, kind(n))
	}
	return ""
}

// prose reads text that YAML may have cut at " #".
func (p *parser) prose(f field) string {
	n := resolve(f.node)
	if n.Style == 0 && n.LineComment != "" && n.Kind == yaml.ScalarNode {
		p.warn(f.line, "everything from %q on is a YAML comment and not part of %s; quote the value to keep it", shorten(n.LineComment, 40), f.key)
	}
	return p.text(f)
}

// tools reads the allow-list: nil is all, empty is none. An invalid list is fatal, since
// ignoring it would grant every tool.
func (p *parser) tools(f field) []string {
	n := resolve(f.node)
	if n.Kind == yaml.ScalarNode && strings.TrimSpace(n.Value) == "" {
		p.warn(f.line, "tools is empty and means all tools; write [] for none")
		return nil
	}
	list := p.list(f)
	if slices.Contains(list, "*") {
		return nil
	}
	return list
}

// list reads "a, b" or a YAML list of such; never nil.
func (p *parser) list(f field) []string {
	n := resolve(f.node)
	switch n.Kind {
	case yaml.ScalarNode:
		return SplitTools(strings.Trim(n.Value, "[]"))
	case yaml.SequenceNode:
		return p.sequence(f, n)
	}
	p.fail(f.line, nil, "%s must be a list or words separated by commas, not %s", f.key, kind(n))
	return []string{}
}

func (p *parser) sequence(f field, n *yaml.Node) []string {
	out := []string{}
	for _, c := range n.Content {
		c = resolve(c)
		if c.Kind != yaml.ScalarNode {
			p.fail(c.Line, nil, "%s holds %s where a name is expected; quote the entry", f.key, kind(c))
			continue
		}
		out = append(out, SplitTools(c.Value)...)
	}
	return out
}

// count reads a positive whole number.
func (p *parser) count(f field) int {
	s := p.text(f)
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		p.warn(f.line, "%s must be a whole number above 0, not %q; no limit is set", f.key, shorten(s, 40))
		return 0
	}
	return n
}

func (p *parser) flag(f field) bool {
	s := p.text(f)
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0":
		return false
	}
	p.warn(f.line, "%s must be true or false, not %q; false is used", f.key, shorten(s, 40))
	return false
}

// choice reads one of some words, in any case.
func (p *parser) choice(f field, words []string) string {
	s := p.text(f)
	for _, w := range words {
		if strings.EqualFold(w, s) {
			return w
		}
	}
	p.warn(f.line, "%s %q is not known and is ignored; it may be %s", f.key, shorten(s, 40), strings.Join(words, ", "))
	return ""
}

// mode falls back to the default mode, never to the parent's.
func (p *parser) mode(f field) string {
	if m := p.choice(f, PermissionModes()); m != "" {
		return m
	}
	p.warn(f.line, "permissionMode default is used instead")
	return "default"
}

func (p *parser) effort(f field) string {
	s := p.text(f)
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return s
	}
	return p.choice(f, []string{"low", "medium", "high", "xhigh", "max"})
}

// isolation treats an unknown value as fatal: an agent that cannot be isolated must not
// start.
func (p *parser) isolation(f field) string {
	if n := resolve(f.node); n.Kind != yaml.ScalarNode {
		p.fail(f.line, nil, "isolation must be worktree or remote, not %s; write one of them, or remove the line", kind(n))
		return ""
	}
	s := strings.ToLower(p.text(f))
	switch s {
	case "worktree":
		return s
	case "remote":
		if p.from == Plugin && (p.plugin == nil || !p.plugin.managed) {
			p.fail(f.line, nil, "isolation remote is not for a plugin's agent; use worktree")
			return ""
		}
		p.warn(f.line, "isolation remote needs a remote node and there is none; the agent is listed, and calls for it are refused")
		return s
	case "", "none":
		return ""
	}
	p.fail(f.line, nil, "isolation %q is not known; use worktree or remote, or remove the line", shorten(s, 40))
	return ""
}

// model accepts an alias in any case, "inherit", or something like a model id.
func (p *parser) model(f field) string {
	s := p.text(f)
	for _, a := range append(ModelAliases(), "inherit") {
		if strings.EqualFold(a, s) {
			return a
		}
	}
	if s == "" || len(s) <= 200 && !strings.ContainsFunc(s, notModelRune) {
		return s
	}
	p.warn(f.line, "model %q is not the id of a model and is ignored; use an alias (%s), a full id or inherit", shorten(s, 60), strings.Join(ModelAliases(), ", "))
	return ""
}

func notModelRune(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._:/@[]", r))
}

// keep stores a field in Extra and reports its effect.
func (p *parser) keep(d *Definition, f field) {
	raw, err := toJSON(f.node)
	if err != nil {
		p.warn(f.line, "%s is ignored: %v", shorten(f.key, 60), err)
		return
	}
	if d.Extra == nil {
		d.Extra = make(map[string]rawJSON)
	}
	d.Extra[f.key] = raw
	switch {
	case keptField(f.key) != "":
		// warnNotInEffect warns about these.
	case fold(f.key) == "allowedtools":
		p.warn(f.line, "unknown field %q is ignored; the list of an agent is called tools", f.key)
	default:
		p.warn(f.line, "unknown field %q is ignored", shorten(f.key, 60))
	}
}

// resolve follows an alias. The YAML parser refuses cycles of aliases alone.
func resolve(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.AliasNode && n.Alias != nil && i < 8; i++ {
		n = n.Alias
	}
	return n
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return fmt.Sprintf("%q", shorten(n.Value, 40))
	}
	return "an alias"
}
