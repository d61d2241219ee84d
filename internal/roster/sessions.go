package roster

import (
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// Sessions finds other sessions. Its methods may be called from any goroutine.
type Sessions interface {
	// Reach returns the member that represents the session at an address: uds:PATH,
	// bridge:SESSION, or the id of a session. Messages to that member are relayed to the
	// session. The error is why the message cannot be sent.
	Reach(to string, l team.Message) (*transcript.Transcript, error)
	// Near returns the running sessions of this machine, and those elsewhere to which the
	// user allows messages, at most most of them.
	Near(most int) []team.OtherSession
}

// maxSessions bounds the other sessions that ListAgents shows.
const maxSessions = 20

// ConnectSessions makes other sessions reachable. It is called before the first Send.
func (r *Roster) ConnectSessions(s Sessions) { r.sessions = s }

// isSessionAddress reports whether an address is that of another session (agent-system spec
// §4.2).
func isSessionAddress(to string) bool {
	return strings.HasPrefix(to, "uds:") || strings.HasPrefix(to, "bridge:")
}

// isProxy reports whether an agent is the member for another session.
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

// otherSessions returns the other sessions as ListAgents shows them.
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

// checkNotReserved returns an error if a program cannot have a name.
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
