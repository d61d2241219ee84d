package mcpclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/internal/syntaxerr"
)

// Server is the configuration of one server.
type Server struct {
	Name   string `json:"-"`
	Source string `json:"-"` // the file or flag that it is from, for people
	Scope  string `json:"-"` // managed, flag, local, project, user or agent

	Type    string            `json:"type,omitempty"` // stdio, http or sse
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Timeout bounds a call, in milliseconds; 0 is the default.
	Timeout int64 `json:"timeout,omitempty"`
}

// Remote reports a server that is reached by HTTP.
func (s Server) Remote() bool { return s.Type == "http" || s.Type == "sse" }

// Where returns the command or the address of the server, for people.
func (s Server) Where() string {
	if s.Remote() {
		return s.URL
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

// limit returns how long a call may take.
func (s Server) limit(otherwise time.Duration) time.Duration {
	return cmp.Or(time.Duration(s.Timeout)*time.Millisecond, otherwise)
}

// Parse reads the servers in an object of configurations, with the names as keys. A server
// that is not valid is a problem and left out. The variables that texts refer to are those
// of getenv; nil leaves the texts as they are.
func Parse(raw json.RawMessage, source string, getenv func(string) string) (servers []Server, problems []error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, []error{fmt.Errorf("%s: its MCP servers are not an object with their names as keys: %w", source, syntaxerr.Plain(err))}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s, notes, err := parseServer(name, all[name], getenv)
		for _, note := range notes {
			problems = append(problems, fmt.Errorf("%s: the MCP server %.60q %s", source, name, note))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: the MCP server %.60q is left out: %w", source, name, err))
			continue
		}
		s.Source = source
		servers = append(servers, s)
	}
	return servers, problems
}

func parseServer(name string, raw json.RawMessage, getenv func(string) string) (s Server, notes []string, err error) {
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, nil, syntaxerr.Plain(err)
	}
	s.Name = name
	var more map[string]json.RawMessage
	if err := json.Unmarshal(raw, &more); err != nil {
		return s, nil, syntaxerr.Plain(err)
	}
	for _, key := range []string{"headersHelper", "oauth"} {
		if more[key] != nil {
			return s, nil, fmt.Errorf("%s is not supported", key)
		}
	}
	if getenv != nil {
		notes = s.expand(getenv)
	}
	return s, notes, s.Check()
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Check sets the type where it has another name, and returns why the server cannot be
// used, or nil.
func (s *Server) Check() error {
	switch {
	case !validName.MatchString(s.Name) || strings.Contains(s.Name, "__"):
		return errors.New("a name has letters, digits, - and single _, at most 64 of them")
	case s.Type == "" && s.Command == "" && s.URL != "":
		return errors.New("it has a url and no type; set type to http or sse")
	}
	switch s.Type = cmp.Or(s.Type, "stdio"); s.Type {
	case "streamable-http", "http":
		s.Type = "http"
	case "stdio", "sse":
	default:
		return fmt.Errorf("the type %.40q is not supported; use stdio, http or sse", s.Type)
	}
	switch {
	case s.Type == "stdio" && s.Command == "":
		return errors.New("it has no command")
	case s.Remote() && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
		return errors.New("its url does not begin with http:// or https://")
	case s.Timeout != 0 && s.Timeout < 1000:
		return errors.New("timeout is in milliseconds and at least 1000")
	}
	return nil
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expand replaces ${NAME} and ${NAME:-default}. A variable that is not set and has no
// default stays as it is and is noted.
func (s *Server) expand(getenv func(string) string) (notes []string) {
	expand := func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(found string) string {
			m := variable.FindStringSubmatch(found)
			switch value := getenv(m[1]); {
			case value != "":
				return value
			case m[2] != "":
				return m[2][2:]
			}
			notes = append(notes, fmt.Sprintf("refers to the variable %s, which is not set and stays as it is written", m[1]))
			return found
		})
	}
	s.Command, s.URL = expand(s.Command), expand(s.URL)
	for i, arg := range s.Args {
		s.Args[i] = expand(arg)
	}
	for _, texts := range []map[string]string{s.Env, s.Headers} {
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			texts[key] = expand(texts[key])
		}
	}
	return notes
}
