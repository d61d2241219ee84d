package mcpconfig

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/mcpclient"
)

// pattern is an entry of allowedMcpServers or deniedMcpServers.
type pattern struct {
	Name    string   `json:"serverName"`
	Command []string `json:"serverCommand"`
	URL     string   `json:"serverUrl"`
}

// matches reports whether the entry means a server.
func (p pattern) matches(s mcpclient.Server) bool {
	switch {
	case p.Name != "":
		return p.Name == s.Name
	case p.Command != nil:
		return !s.Remote() && slices.Equal(p.Command, append([]string{s.Command}, s.Args...))
	case p.URL != "":
		return s.Remote() && matchURL(p.URL, s.URL)
	}
	return false
}

// matchURL matches an address with a pattern in which * stands for any text.
func matchURL(pattern, url string) bool {
	hide := strings.NewReplacer("/", "\x01", "?", "\x02", "[", "\x03", "\\", "\x04")
	ok, err := path.Match(hide.Replace(pattern), hide.Replace(url))
	return err == nil && ok
}

// restrict takes the servers away that settings files do not allow. A file that is not
// trusted counts too: it can only restrict.
func (r *reader) restrict() {
	files, _, err := defs.ReadSettings(r.Sources)
	if err != nil {
		return // reported where the definitions are read
	}
	for _, f := range files {
		var disabled []string
		var allowed, denied []pattern
		restricts := r.value(f, "allowedMcpServers", &allowed)
		r.value(f, "deniedMcpServers", &denied)
		r.value(f, "disabledMcpjsonServers", &disabled)
		r.servers = slices.DeleteFunc(r.servers, func(s mcpclient.Server) bool {
			matches := func(p pattern) bool { return p.matches(s) }
			var by string
			switch {
			case slices.ContainsFunc(denied, matches):
				by = "deniedMcpServers"
			case restricts && !slices.ContainsFunc(allowed, matches):
				by = "allowedMcpServers"
			case s.Scope == Project && slices.Contains(disabled, s.Name):
				by = "disabledMcpjsonServers"
			default:
				return false
			}
			r.notef("the MCP server %s of %s is not started: %s of %s", s.Name, s.Source, by, f.Path)
			return true
		})
	}
}

// value reads a key of a settings file, if the file has it. What cannot be read restricts
// to nothing.
func (r *reader) value(f defs.SettingsFile, key string, into any) bool {
	raw, err := f.Value(key)
	if err == nil && raw == nil {
		return false
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		r.notef("%s: %s cannot be read: %v", f.Path, key, err)
	}
	return true
}
