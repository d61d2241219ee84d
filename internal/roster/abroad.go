package roster

import (
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// Sessions leads to the other sessions. Its methods may be called from any
// goroutine.
type Sessions interface {
	// Reach returns the member that stands for the session that an address means:
	// uds:PATH, bridge:SESSION, or the id of a session. What the member gets goes
	// on to there. The error says why the letter cannot.
	Reach(to string, l team.Letter) (*transcript.Transcript, error)
	// Near returns the running sessions of this machine, and those elsewhere that
	// the user lets this one write to, at most most of them.
	Near(most int) []team.Neighbour
}

// mostNeighbours bounds what ListAgents says of other sessions.
const mostNeighbours = 20

// Connect lets letters go to other sessions. It is called before the first Send.
func (r *Roster) Connect(s Sessions) { r.sessions = s }

// isAbroad says whether an address is of another session (agent-system spec §4.2).
func isAbroad(to string) bool {
	return strings.HasPrefix(to, "uds:") || strings.HasPrefix(to, "bridge:")
}

// standsIn says whether an agent is the member for another session.
func standsIn(s agent.Spec) bool {
	_, _, ok := s.ID.Session()
	return ok && s.Role == agent.Outside
}

func (r *Roster) abroad(l team.Letter) (*transcript.Transcript, error) {
	if r.sessions == nil {
		return nil, &team.AbroadError{To: l.To}
	}
	return r.sessions.Reach(l.To, l)
}

// neighbours is what ListAgents says of other sessions.
func (l *listTool) neighbours() string {
	if l.roster.sessions == nil {
		return ""
	}
	var text strings.Builder
	for _, n := range l.roster.sessions.Near(mostNeighbours) {
		if n.Dir == "" {
			fmt.Fprintf(&text, "session %s (%s), a session elsewhere that the user lets you write to\n", n.ID, n.Address)
			continue
		}
		fmt.Fprintf(&text, "session %s (%s), another session of the user in %s: %s\n", n.ID, n.Address, n.Dir, mailbox.FirstLine(n.Prompt, summaryLength))
	}
	return text.String()
}

// reserved says why a program cannot have a name.
func reserved(name string) error {
	switch name {
	case agent.LeadName, string(agent.LeadID), "main", "user", "all":
		return fmt.Errorf("the name %q means somebody already: choose another", name)
	}
	if _, _, ok := mailbox.AgentID(name).Session(); ok {
		return fmt.Errorf("%q is a name for another session: choose another", name)
	}
	return nil
}
