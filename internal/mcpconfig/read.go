package mcpconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/mcpclient"
	"github.com/actorswarm/swarm/internal/trust"
)

// Scopes of servers: where they are configured.
const (
	Managed = "managed"
	Flag    = "flag"
	Local   = "local" // the user's own, for one directory
	Project = "project"
	User    = "user"
	Agent   = "agent" // an agent's definition
)

// ProjectFile is the name of the file with the servers of a directory.
const ProjectFile = ".mcp.json"

// stateFile is the name of the user's file in the state directory.
const stateFile = "mcp.json"

const (
	key     = "mcpServers"
	maxFile = 16 << 20
)

// Options say where servers may be configured.
type Options struct {
	Sources  defs.Options // the directory, the home and the settings files
	StateDir string
	Getenv   func(string) string
	Flags    []string              // the values of --mcp-config: JSON texts or paths of files
	Strict   bool                  // only the servers of Flags
	Trusts   func(trust.Item) bool // nil trusts none
}

// file is what the files hold.
type file struct {
	Servers  json.RawMessage            `json:"mcpServers"`
	Projects map[string]json.RawMessage `json:"projects"`
}

// reader collects the servers, the strongest first.
type reader struct {
	Options
	servers []mcpclient.Server
	notes   []string
}

// Read returns the servers of a session in the order of their names, and a note for each
// mistake and each server that is not started.
func Read(o Options) (servers []mcpclient.Server, notes []string) {
	r := &reader{Options: o}
	if path, managed := r.managed(); managed {
		r.add(Managed, path, r.readFile(path).Servers, o.Getenv)
	} else {
		for _, value := range o.Flags {
			r.addFlag(value)
		}
		if !o.Strict {
			r.addOwn(func(f file) json.RawMessage { return f.project(o.Sources.Cwd) }, Local)
			r.addProjects()
			r.addOwn(func(f file) json.RawMessage { return f.Servers }, User)
		}
	}
	r.restrict()
	slices.SortFunc(r.servers, func(a, b mcpclient.Server) int { return strings.Compare(a.Name, b.Name) })
	return r.servers, r.notes
}

// managed returns the file of the system, if there is one.
func (r *reader) managed() (path string, found bool) {
	if r.Sources.ManagedDir == "" {
		return "", false
	}
	path = filepath.Join(r.Sources.ManagedDir, "managed-mcp.json")
	_, err := os.Lstat(path)
	return path, !errors.Is(err, fs.ErrNotExist)
}

// addFlag adds the servers of a value of --mcp-config.
func (r *reader) addFlag(value string) {
	source, raw := "--mcp-config", []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		var err error
		if raw, err = read(value); err != nil {
			r.notef("the MCP servers of --mcp-config %s are left out: %v", value, err)
			return
		}
		source = value
	}
	f, err := parse(raw)
	if err != nil {
		r.notef("%s is not JSON: %v", source, err)
		return
	}
	if f.Servers == nil {
		f.Servers = raw
	}
	r.add(Flag, source, f.Servers, r.Getenv)
}

// addOwn adds the servers in the files of the user.
func (r *reader) addOwn(pick func(file) json.RawMessage, scope string) {
	for _, path := range r.own() {
		r.add(scope, path, pick(r.readFile(path)), r.Getenv)
	}
}

// own returns the files of the user, the strongest first.
func (o Options) own() []string {
	paths := []string{filepath.Join(o.StateDir, stateFile)}
	switch s := o.Sources; {
	case s.Simple:
	case s.ConfigDir != "":
		paths = append(paths, filepath.Join(s.ConfigDir, ".claude.json"))
	case s.Home != "":
		paths = append(paths, filepath.Join(s.Home, ".claude.json"))
	}
	return paths
}

// project returns the servers for one directory.
func (f file) project(dir string) json.RawMessage {
	var of file
	if json.Unmarshal(f.Projects[dir], &of) != nil {
		return nil
	}
	return of.Servers
}

// addProjects adds the servers of the directory and of those above it.
func (r *reader) addProjects() {
	for _, path := range projectFiles(r.Sources) {
		raw := r.readFile(path).Servers
		if raw == nil {
			continue
		}
		if r.Trusts == nil || !r.Trusts(itemOf(path, raw)) {
			r.notef("%s: its MCP servers are not started, as the directory is not trusted: %s; see them with: swarm trust", path, names(raw))
			continue
		}
		r.add(Project, path, raw, r.withoutKeys)
	}
}

// projectFiles returns the files of the directory and of those above it in its repository,
// the nearest first.
func projectFiles(o defs.Options) (paths []string) {
	top, err := o.Repository()
	if err != nil || o.Simple || o.Cwd == "" {
		return nil
	}
	for dir := o.Cwd; ; dir = filepath.Dir(dir) {
		paths = append(paths, filepath.Join(dir, ProjectFile))
		if dir == top || dir == filepath.Dir(dir) {
			return paths
		}
	}
}

// Items returns what files of the directory would start.
func Items(o defs.Options) (all []trust.Item) {
	for _, path := range projectFiles(o) {
		raw, err := read(path)
		if err != nil {
			continue // not there, or a note of Read
		}
		if f, err := parse(raw); err == nil && f.Servers != nil {
			all = append(all, itemOf(path, f.Servers))
		}
	}
	return all
}

// IsItem reports an item of Items.
func IsItem(i trust.Item) bool { return i.Name == itemName }

const itemName = ProjectFile + " " + key

func itemOf(path string, raw json.RawMessage) trust.Item {
	var text bytes.Buffer
	if json.Compact(&text, raw) != nil {
		return trust.Item{Dir: filepath.Dir(path), Name: itemName, Text: string(raw)}
	}
	return trust.Item{Dir: filepath.Dir(path), Name: itemName, Text: text.String()}
}

// names lists the servers of an object.
func names(raw json.RawMessage) string {
	servers, _ := mcpclient.Parse(raw, "", nil)
	var all []string
	for _, s := range servers {
		all = append(all, s.Name)
	}
	return strings.Join(all, ", ")
}

// keys are the variables with which swarm itself shows who it is.
var keys = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY"}

// withoutKeys is Getenv for texts that others have written.
func (r *reader) withoutKeys(name string) string {
	if slices.Contains(keys, name) {
		return ""
	}
	return r.Getenv(name)
}

// add adds servers that no stronger place has.
func (r *reader) add(scope, source string, raw json.RawMessage, getenv func(string) string) {
	if raw == nil {
		return
	}
	found, problems := mcpclient.Parse(raw, source, getenv)
	for _, p := range problems {
		r.notef("%v", p)
	}
	for _, s := range found {
		s.Scope = scope
		if !slices.ContainsFunc(r.servers, func(known mcpclient.Server) bool { return known.Name == s.Name }) {
			r.servers = append(r.servers, s)
		}
	}
}

func (r *reader) notef(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// readFile reads a file, which need not exist.
func (r *reader) readFile(path string) file {
	raw, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file{}
	}
	if err != nil {
		r.notef("its MCP servers are left out: %v", err)
		return file{}
	}
	f, err := parse(raw)
	if err != nil {
		r.notef("%s: its MCP servers are left out, as it is not valid: %v", path, err)
	}
	return f
}

// read reads a regular file of limited size.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is no file of at most %d MiB", path, maxFile>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile))
	return raw, errors.Join(err, f.Close())
}

func parse(raw []byte) (f file, err error) {
	err = json.Unmarshal(raw, &f)
	return f, err
}
