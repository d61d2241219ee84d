package spawn

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/mailbox"
)

// Call is the input of the Agent tool (agent-system spec §2.1).
type Call struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type"`
	Model       string `json:"model"`
	Background  *bool  `json:"run_in_background"`
	Name        string `json:"name"`
	Team        string `json:"team_name"`
	Mode        string `json:"mode"`
	Isolation   string `json:"isolation"`
	MaxTurns    int    `json:"max_turns"`
	Effort      string `json:"effort"`
	Dir         string `json:"cwd"`
	Resume      string `json:"resume"`
	OnParentEnd string `json:"on_parent_end"`

	// Member makes the agent a teammate in a team; nil is a call of an agent.
	Member *agent.Membership `json:"-"`
}

var (
	errNoPrompt   = errors.New("the call has no prompt: say what the agent is to do")
	errForkStarts = errors.New("this agent is a fork and starts no others: do the work here")
)

// UnknownTeamError reports a call for a team of which the caller is no member.
type UnknownTeamError struct {
	Team string
	Own  string // the caller's
}

func (e *UnknownTeamError) Error() string {
	return fmt.Sprintf("there is no team %q that you are in; you are in %q: name that one, or leave team_name out", e.Team, e.Own)
}

// OutsideError reports a call for an agent in a directory where its caller does
// not work.
type OutsideError struct {
	Dir  string
	Dirs []string // where agents may work
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("cwd %s is not a directory in which you work; name one below %s", e.Dir, strings.Join(e.Dirs, " or "))
}

// BadNameError reports a call for an agent under a name that is not valid.
type BadNameError struct {
	Name string
	Why  string
}

func (e *BadNameError) Error() string {
	return fmt.Sprintf("the name %.80q %s", e.Name, e.Why)
}

// LimitError reports a spawn over a limit of the policy.
type LimitError struct {
	What string // depth, agents
	Max  int
}

func (e *LimitError) Error() string {
	if e.What == "depth" {
		return fmt.Sprintf("agents may be nested %d deep and this one is at the limit: do the work here", e.Max)
	}
	return fmt.Sprintf("this session has made %d agents, which is its limit: work with those it has", e.Max)
}

// checkName refuses a name that is not valid. Most agents need no name.
func (c Call) checkName() error {
	if why := mailbox.NameProblem(c.Name); why != "" && c.Name != "" {
		return &BadNameError{Name: c.Name, Why: why}
	}
	return nil
}

// check refuses a call from which no agent can be made.
func (c Call) check(p Policy, parent agent.Spec) error {
	switch {
	case strings.TrimSpace(c.Prompt) == "" && c.Member == nil:
		return errNoPrompt
	case c.Resume != "":
		return fmt.Errorf("resume goes on with an agent as it is: nothing is planned for it")
	case c.Dir != "" && c.Isolation != "":
		return fmt.Errorf("isolation gives the agent a directory of its own: leave out cwd or isolation")
	}
	if err := c.checkName(); err != nil {
		return err
	}
	if _, err := p.calledTeam(c.Team, parent); err != nil {
		return err
	}
	if _, err := permission.ParseMode(c.Mode); err != nil {
		return err
	}
	if n, err := strconv.Atoi(c.Effort); c.Effort != "" && (err != nil || n <= 0) && !slices.Contains(efforts[:], c.Effort) {
		return fmt.Errorf("effort is %q; use %s or a whole number", c.Effort, strings.Join(efforts[:], ", "))
	}
	return nil
}

var efforts = [...]string{"low", "medium", "high", "xhigh", "max"}

// dir returns where the agent is to work: below its parent's directory or one of
// those that the session was given, so that it has no more power than its parent.
func (c Call) dir(parent agent.Spec, more []string) (string, error) {
	if c.Dir == "" {
		return parent.Dir, nil
	}
	dir := filepath.Clean(c.Dir)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(parent.Dir, dir)
	}
	roots := append([]string{parent.Dir}, more...)
	if !slices.ContainsFunc(roots, func(root string) bool { return within(dir, root) }) {
		return "", &OutsideError{Dir: c.Dir, Dirs: roots}
	}
	return dir, nil
}

func within(dir, root string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(rel)
}
