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
	// on to there. The error says why the message cannot.
	Reach(to string, l team.Message) (*transcript.Transcript, error)
	// Near returns the running sessions of this machine, and those elsewhere that
	// the user lets this one write to, at most most of them.
	Near(most int) []team.OtherSession
}

// maxSessions bounds what ListAgents says of other sessions.
const maxSessions = 20

// ConnectSessions lets messages go to other sessions. It is called before the first Send.
func (r *Roster) ConnectSessions(s Sessions) { r.sessions = s }

// isSessionAddress says whether an address is of another session (agent-system spec §4.2).
func isSessionAddress(to string) bool {
	return strings.HasPrefix(to, "uds:") || strings.HasPrefix(to, "bridge:")
}

// isProxy says whether an agent is the member for another session.
func isProxy(s agent.Spec) bool {
	_, _, ok := s.ID.Peer()
	return ok && s.Role == agent.Program
}

func (r *Roster) toSession(l team.Message) (*transcript.Transcript, error) {
	if r.sessions == nil {
		return nil, &team.UnreachableSessionError{To: l.To}
	}
	return r.sessions.Reach(l.To, l)
}

// otherSessions is what ListAgents says of other sessions.
func (l *listTool) otherSessions() string {
	if l.roster.sessions == nil {
		return ""
	}
	var text strings.Builder
	for _, n := range l.roster.sessions.Near(maxSessions) {
		if n.Dir == "" {
			fmt.Fprintf(&text, "session %s (%s), a session elsewhere that the user lets you write to\n", n.ID, n.Address)
			continue
		}
		fmt.Fprintf(&text, "session %s (%s), another session of the user in %s: %s\n", n.ID, n.Address, n.Dir, mailbox.FirstLine(n.Prompt, summaryLength))
	}
	return text.String()
}

// checkNotReserved says why a program cannot have a name.
func checkNotReserved(name string) error {
	switch name {
	case agent.LeadName, string(agent.LeadID), "main", "user", "all":
		return fmt.Errorf("the name %q means somebody already: choose another", name)
	}
	if _, _, ok := mailbox.AgentID(name).Peer(); ok {
		return fmt.Errorf("%q is a name for another session: choose another", name)
	}
	return nil
}
