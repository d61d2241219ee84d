package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/proxy"
	"github.com/actorswarm/swarm/internal/sandbox"
)

// Network is what commands under the profile edit reach of the network.
type Network struct {
	Allowed, Denied []string // hosts, as proxy.ParseHosts reads them
	ProxyPort       int      // of the user's own proxy, which then decides; 0 is none
	Local           bool     // servers of a command are reachable for itself
	Sockets         bool     // Unix sockets, all of them
	OnlyManaged     bool     // what other files and rules allow does not apply
}

// Used reports whether a command needs a network at all.
func (n Network) Used() bool { return len(n.Allowed) > 0 || n.ProxyPort > 0 || n.Local }

// switches are the keys that are true or false, with the value that tightens.
var switches = map[string]bool{
	"enabled": true, "failIfUnavailable": true, "autoAllowBashIfSandboxed": false, "allowUnsandboxedCommands": false,
	"network.allowLocalBinding": false, "network.allowAllUnixSockets": false, "network.allowManagedDomainsOnly": true,
}

// without are the keys that other programs know and that have no effect here, with the
// reason.
var without = map[string]string{
	"ignoreViolations":                     "each denial is reported to the model, in one line",
	"network.allowUnixSockets":             "the kernel cannot distinguish Unix sockets by their path; name the command in excludedCommands, or set allowAllUnixSockets",
	"network.socksProxyPort":               "commands reach the network by an HTTP proxy; set httpProxyPort",
	"network.allowMachLookup":              "it is about macOS",
	"network.tlsTerminate":                 "connections are not decrypted",
	"enableWeakerNestedSandbox":            "no weaker form exists; swarm doctor says what this machine enforces",
	"enableWeakerNetworkIsolation":         "no weaker form exists; swarm doctor says what this machine enforces",
	"enabledPlatforms":                     "the profiles are the same everywhere; swarm doctor says what this machine enforces",
	"bwrapPath":                            "bwrap is taken from where only root can change it",
	"socatPath":                            "no socat is needed",
	"ripgrep":                              "no ripgrep is needed",
	"filesystem.allowManagedReadPathsOnly": "reading is not narrowed that way; use denyRead",
}

// flag takes a key that is true or false.
func (r *sandboxReader) flag(key string, value json.RawMessage, place string) (known bool, err error) {
	if _, known = switches[key]; !known {
		return false, nil
	}
	var on *bool
	if err := json.Unmarshal(value, &on); err != nil || on == nil {
		r.flags[key], r.places[key] = switches[key], place
		return true, fmt.Errorf("%.80s is neither true nor false, and counts as %t", value, switches[key])
	}
	r.flags[key], r.places[key] = *on, place
	return true, nil
}

// network takes a key of the object network.
func (r *sandboxReader) network(key string, value json.RawMessage, place string) (known bool, err error) {
	full := "network." + key
	switch key {
	case "allowedDomains", "deniedDomains":
		texts, wrong := r.texts(key, value, key == "deniedDomains")
		errs := []error{wrong}
		for _, text := range texts {
			if _, err := proxy.ParseHosts([]string{text}, nil); err != nil {
				errs = append(errs, err)
				if key == "deniedDomains" {
					r.refuse(place, fmt.Sprintf("%s: %v", key, err))
				}
				continue
			}
			r.paths[full] = append(r.paths[full], text)
		}
		r.places[full] = place
		return true, errors.Join(errs...)
	case "httpProxyPort":
		var port uint16
		if err := json.Unmarshal(value, &port); err != nil || port == 0 {
			return true, fmt.Errorf("%.80s is no port", value)
		}
		r.port, r.places[full] = int(port), place
		return true, nil
	}
	return r.flag(full, value, place)
}

// excluded takes an entry of excludedCommands.
func (r *sandboxReader) excluded(e defs.SettingsEntry) error {
	text, err := listedText(e)
	if err == nil && strings.TrimSpace(text) == "" {
		err = errors.New("an empty command excludes nothing")
	}
	if err != nil {
		return err
	}
	r.paths[e.Key] = append(r.paths[e.Key], text)
	r.places[e.Key] = r.place(e.Line)
	return nil
}

// addKeys adds what a file says besides paths and limits. A file that may not loosen only
// tightens.
func (s *Sandbox) addKeys(r *sandboxReader, loose bool) {
	for key, tight := range switches {
		on, given := r.flags[key]
		switch {
		case !given:
		case loose || on == tight:
			*s.flag(key) = on
			s.From[key] = r.places[key]
		default:
			s.ignored(r, key)
		}
	}
	if on, given := r.flags["enabled"]; given && loose {
		s.loosely = on
	}
	s.Network.Denied = append(s.Network.Denied, r.paths["network.deniedDomains"]...)
	if !loose {
		for _, key := range []string{"excludedCommands", "network.allowedDomains", "network.httpProxyPort"} {
			if r.places[key] != "" {
				s.ignored(r, key)
			}
		}
		return
	}
	s.Excluded = append(s.Excluded, r.paths["excludedCommands"]...)
	s.Network.Allowed = append(s.Network.Allowed, r.paths["network.allowedDomains"]...)
	if r.file.Source == defs.Managed {
		s.managedHosts = append(s.managedHosts, r.paths["network.allowedDomains"]...)
	}
	if r.port > 0 {
		s.Network.ProxyPort = r.port
	}
	for _, key := range []string{"excludedCommands", "network.allowedDomains", "network.httpProxyPort"} {
		if r.places[key] != "" {
			s.From[key] = r.places[key]
		}
	}
}

func (s *Sandbox) ignored(r *sandboxReader, key string) {
	s.Notes = append(s.Notes, fmt.Sprintf("%s: sandbox.%s is not in force: it counts in your own settings only", r.places[key], key))
}

// flag returns where the value of a switch is kept.
func (s *Sandbox) flag(key string) *bool {
	return map[string]*bool{
		"enabled": &s.Enabled, "failIfUnavailable": &s.FailIfUnavailable, "autoAllowBashIfSandboxed": &s.AutoAllow,
		"allowUnsandboxedCommands": &s.Unsandboxed, "network.allowLocalBinding": &s.Network.Local,
		"network.allowAllUnixSockets": &s.Network.Sockets, "network.allowManagedDomainsOnly": &s.Network.OnlyManaged,
	}[key]
}

// finish decides what follows from all files together on a machine.
func (s *Sandbox) finish(unenforced error) error {
	if s.Network.OnlyManaged {
		s.Network.Allowed = s.managedHosts
	}
	if !s.Enabled {
		s.AutoAllow = false
		return nil
	}
	if s.AutoAllow && !s.loosely {
		s.AutoAllow = false
		s.Notes = append(s.Notes, s.From["enabled"]+": sandbox.enabled lets no command run without a question: a directory's file only tightens")
	}
	if unenforced == nil {
		return nil
	}
	if s.FailIfUnavailable {
		return fmt.Errorf("%s: sandbox.enabled: %w; set sandbox.failIfUnavailable to false in your own settings to work without", s.From["enabled"], unenforced)
	}
	s.Enabled, s.AutoAllow = false, false
	s.Notes = append(s.Notes, fmt.Sprintf("%s: sandbox.enabled is not in force: %v", s.From["enabled"], unenforced))
	return nil
}

// Rules returns what the settings mean for decisions about commands.
func (s Sandbox) Rules() permission.Sandbox {
	return permission.Sandbox{Enabled: s.Enabled, AutoAllow: s.AutoAllow, Excluded: s.Excluded, Unsandboxed: s.Unsandboxed}
}

// Hosts returns the hosts of the settings with those of the rules for WebFetch. A rule that
// has a person asked denies.
func (s Sandbox) Hosts(p permission.Policy) (allowed, denied []string) {
	allowed, denied = slices.Clone(s.Network.Allowed), slices.Clone(s.Network.Denied)
	if !s.Network.OnlyManaged {
		allowed = append(allowed, fetched(p.Allow)...)
	}
	return allowed, append(denied, fetched(slices.Concat(p.Deny, p.Ask))...)
}

// fetched returns the hosts that rules for WebFetch name.
func fetched(rules []permission.Rule) (hosts []string) {
	for _, r := range rules {
		if host, ok := strings.CutPrefix(r.Specifier, "domain:"); ok && r.Tool == "WebFetch" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Outlet reports whether commands under the profile edit have a network on a machine.
func (s Sandbox) Outlet(m sandbox.Machine) bool {
	return (s.Enabled || s.Network.Used()) && m.Networks() == nil
}

// Lines says what of the keys is in force, and from which file, one line each.
func (s Sandbox) Lines(m sandbox.Machine) (lines []string) {
	add := func(key, text string) {
		if s.From[key] != "" {
			lines = append(lines, text+" (sandbox."+key+", "+s.From[key]+")")
		}
	}
	if s.Enabled {
		add("enabled", "each command runs under the profile edit at most")
		if s.AutoAllow {
			lines = append(lines, "commands that no rule is about run without a question")
		} else {
			add("autoAllowBashIfSandboxed", "commands that no rule is about are asked about")
		}
		add("excludedCommands", "but for those with a rule or an answer: "+strings.Join(s.Excluded, ", "))
		if s.Unsandboxed {
			lines = append(lines, "the model can have a person asked about a command without it (dangerouslyDisableSandbox)")
		} else {
			add("allowUnsandboxedCommands", "the model cannot have a person asked about a command without it")
		}
	}
	add("network.allowedDomains", "under edit commands reach "+strings.Join(s.Network.Allowed, ", "))
	if len(s.Network.Denied) > 0 {
		lines = append(lines, "and not "+strings.Join(s.Network.Denied, ", ")+" (sandbox.network.deniedDomains)")
	}
	if s.Network.ProxyPort > 0 {
		add("network.httpProxyPort", fmt.Sprintf("under edit the proxy at port %d decides about hosts", s.Network.ProxyPort))
	}
	if s.Network.Local {
		add("network.allowLocalBinding", "under edit commands reach servers that they start")
	}
	if s.Network.Sockets {
		add("network.allowAllUnixSockets", "under edit commands reach all Unix sockets")
	}
	if err := m.Networks(); s.Network.Used() && err != nil {
		lines = append(lines, "none of the network is in force on this machine: "+err.Error())
	}
	return lines
}
